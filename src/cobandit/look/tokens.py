"""The tokens of the style sheet, for what cannot read it: pictures that are drawn beforehand, once for each theme."""

import re
from functools import cache

from cobandit.look import style_sheet


@cache
def colours(*, dark: bool) -> dict[str, str]:
    """Return the colours of a theme by their names, such as `ink`, `card` and `series-1`.

    >>> sorted(colours(dark=False)) == sorted(colours(dark=True))
    True
    """
    light, _, rest = style_sheet().partition("@media")
    block = rest.split(':root[data-theme="dark"]', 1)[1].split("}", 1)[0] if dark else light
    return dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", block))
