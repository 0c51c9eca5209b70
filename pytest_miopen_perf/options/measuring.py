"""How a case is measured and checked."""

from __future__ import annotations

from pytest_miopen_perf.options.option import Option
from pytest_miopen_perf.options.values import (
    one_of,
    parse_count,
    parse_duration,
    parse_factor,
    parse_fraction,
    parse_seed,
)

OPTIONS: tuple[Option, ...] = (
    Option(
        "iter", "iterations", "N", parse_count, "a fixed count of timed runs, as MIOpenDriver's -i (default: by noise)"
    ),
    Option("case-budget", "case_budget_seconds", "TIME", parse_duration, "device time for one timed run (default: 1s)"),
    Option("noise", "target_noise", "SHARE", parse_fraction, "stop at this noise of the median (default: 0.5%%)"),
    Option(
        "cache-state",
        "cache_state",
        "STATE",
        one_of("warm", "rotating", "cold"),
        "caches when a timed execution begins: warm, rotating (copies of the buffers take turns) or cold (flushed "
        "before each) (default: warm)",
    ),
    Option(
        "launch",
        "launch_mode",
        "MODE",
        one_of("isolated", "back-to-back"),
        "one time around each launch: isolated; or one around a batch of executions: back-to-back (default: isolated)",
    ),
    Option("seed", "seed", "N", parse_seed, "seed of data and search (default: 12345678, as MIOpenDriver)"),
    Option("data", "data", "KIND", one_of("miopen", "integers"), "data: miopen or integers (default: miopen)"),
    Option("tolerance", "tolerance", "FACTOR", parse_factor, "factor on the tolerances of the check (default: 1)"),
)
