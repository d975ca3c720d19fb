"""`python -m perfscope`: the same as the command."""

import sys

from perfscope.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
