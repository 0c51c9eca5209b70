"""`python -m pytest_miopen_perf` is the `miopen-perf` command."""

import sys

from pytest_miopen_perf.cli import main

if __name__ == "__main__":
    sys.exit(main())
