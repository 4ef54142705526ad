"""`python -m fluidio` is the `fluidio` command."""

import sys

from fluidio.cli import main

if __name__ == "__main__":
    sys.exit(main())
