"""`python -m lab`, from the repository's root."""

import sys

from lab.cli import main

sys.exit(main())
