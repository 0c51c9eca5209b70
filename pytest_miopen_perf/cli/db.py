"""`miopen-perf db`: the tools for MIOpen's data bases."""

from __future__ import annotations

from pytest_miopen_perf.cli import db_coverage, db_diff, db_lint, db_merge
from pytest_miopen_perf.cli.subcommand import Group

SUBCOMMAND = Group(
    name="db",
    summary="lint, merge, diff and coverage of MIOpen's data bases",
    description="Works on find-dbs (v1 and v2, also packed with bzip2), text perf-dbs, and SQLite perf-dbs, which are "
    "never written. A file's kind is told by its content, or by MIOpen's names for its files.",
    subcommands=(db_lint.SUBCOMMAND, db_merge.SUBCOMMAND, db_diff.SUBCOMMAND, db_coverage.SUBCOMMAND),
)
