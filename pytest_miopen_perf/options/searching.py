"""How the best config is searched for, and where it is kept."""

from __future__ import annotations

from pytest_miopen_perf.options.option import Option
from pytest_miopen_perf.options.values import one_of, parse_count, parse_duration, parse_folder, parse_tune

OPTIONS: tuple[Option, ...] = (
    Option(
        "tune",
        "tune",
        "WHEN",
        parse_tune,
        "search the configs of tunable solvers: off, missing (where none is known) or force (default: off)",
    ),
    Option("db", "db_dir", "DIR", parse_folder, "keep tuned configs and Find results there (default: for the session)"),
    Option("tune-budget", "tune_budget_seconds", "TIME", parse_duration, "time for one search (default: 60s)"),
    Option("tune-configs", "tune_max_configs", "N", parse_count, "most configs of one search (default: 50)"),
    Option("tune-patience", "tune_patience", "N", parse_count, "end a search after N configs without improvement"),
    Option(
        "tune-strategy",
        "tune_strategy",
        "WHAT",
        one_of("neighbours", "random"),
        "what a search tries next: neighbours of the best so far, or random (default: neighbours)",
    ),
)
