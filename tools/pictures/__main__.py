"""Write the pictures, or say which are stale."""

import sys
from pathlib import Path

from tools.pictures import PICTURES

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def main() -> int:
    """Write them, or check them."""
    stale = []
    for name, made in PICTURES.items():
        path, text = DOCS / name, made()
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv[1:]:
        print(f"stale: {', '.join(stale)}. Run python -m tools.pictures")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
