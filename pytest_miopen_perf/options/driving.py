"""The MIOpenDriver that is run."""

from __future__ import annotations

from pytest_miopen_perf.options.option import Option
from pytest_miopen_perf.options.values import one_of, parse_duration, parse_program

OPTIONS: tuple[Option, ...] = (
    Option(
        "driver",
        "driver_path",
        "PATH",
        parse_program,
        "the MIOpenDriver of the fixture miopen_driver (default: on PATH)",
    ),
    Option(
        "driver-timeout",
        "driver_timeout_seconds",
        "TIME",
        parse_duration,
        "stop a MIOpenDriver after it (default: 10m)",
    ),
    Option(
        "run-by",
        "run_by",
        "WHO",
        one_of("solvers", "driver"),
        "who runs workload files: our solvers, or MIOpenDriver (default: solvers)",
    ),
)
