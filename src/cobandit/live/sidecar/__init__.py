"""A member behind an HTTP API, for programs in any language. This needs the extra `serve`.

The entry points are `create_app`, an application for any ASGI server, and `run_sidecar`, which runs it with its own
member until the process is told to stop. This package knows no pages: a caller that has one adds its routes.
"""

from cobandit.values.extras import needed_by

with needed_by("serving"):
    from cobandit.live.sidecar.app import Extras, create_app
    from cobandit.live.sidecar.running import Sidecar, run_sidecar
    from cobandit.live.sidecar.tokens import Token, check_token, find_token

__all__ = ["Extras", "Sidecar", "Token", "check_token", "create_app", "find_token", "run_sidecar"]
