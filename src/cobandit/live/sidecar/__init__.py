"""A member behind an HTTP API, for programs in any language. Needs the extra `serve`.

The door is `create_app`, an application that any ASGI server can run, and `run_sidecar`, which runs it with a member of
its own until the process is told to stop. This room knows nothing of pages: a caller that has one adds its routes.
"""

from cobandit.values.extras import needed_by

with needed_by("serving"):
    from cobandit.live.sidecar.app import Extras, create_app
    from cobandit.live.sidecar.running import Sidecar, run_sidecar
    from cobandit.live.sidecar.tokens import Token, check_token, find_token

__all__ = ["Extras", "Sidecar", "Token", "check_token", "create_app", "find_token", "run_sidecar"]
