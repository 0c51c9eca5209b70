"""Run every benchmark and print one table; the exit code is 1 when a figure is over its limit."""

from __future__ import annotations

import argparse
import importlib
import sys

from rich.console import Console
from rich.table import Table

from bench.rows import Row

BENCHES = ("perflog", "startup", "naive", "solvers", "search", "gate")


def main() -> int:
    """Parse the names of the benchmarks, run them, print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*BENCHES, []], help=f"which: {', '.join(BENCHES)} (default: all)")
    names = parser.parse_args().names or BENCHES
    rows = [Row(*row) for name in names for row in importlib.import_module(f"bench.bench_{name}").run()]
    table = Table("what", "measured", "limit", "", box=None)
    for row in rows:
        verdict = "ok" if row.is_within else "[red]over[/red]"
        table.add_row(row.name, f"{row.measured:.3g} {row.unit}", f"{row.limit:g} {row.unit}", verdict)
    Console().print(table)
    return 0 if all(row.is_within for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
