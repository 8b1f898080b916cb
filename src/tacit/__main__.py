"""`python -m tacit`, for those without the script on their path."""

import sys

from tacit.cli import console

sys.exit(console())
