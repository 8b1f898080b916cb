"""`python -m cobandit`, for those without the script on their path."""

import sys

from cobandit.cli import console

sys.exit(console())
