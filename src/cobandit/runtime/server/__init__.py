"""A member behind an HTTP API, for programs in any language. Needs the extra `serve`.

The door is `create_app`, an application that any ASGI server can run, and `run_sidecar`, which runs it with a member of
its own until the process is told to stop. This room knows nothing of pages: whoever has one adds its routes.
"""

from cobandit.values.errors import LocalError

try:
    import starlette as _starlette
    import uvicorn as _uvicorn
except ImportError as missing:
    raise LocalError("serving needs the packages starlette and uvicorn: pip install cobandit[serve]") from missing

from cobandit.runtime.server.app import Extras, create_app
from cobandit.runtime.server.running import Sidecar, run_sidecar
from cobandit.runtime.server.tokens import Token, check_token, find_token

__all__ = ["Extras", "Sidecar", "Token", "check_token", "create_app", "find_token", "run_sidecar"]

del _starlette, _uvicorn
