"""The lines that close a case in the log: `performance` and `verification`, as MIOpenDriver prints them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_miopen_perf.records.run_records import Performance, Verification
from pytest_miopen_perf.statistics import driver_average_ms

if TYPE_CHECKING:
    from pytest_miopen_perf.records import LogRecord
    from pytest_miopen_perf.results import Result


def closing_records(result: Result) -> list[LogRecord]:
    """The figures of the timed run, where there was one, and the verdict on the numbers."""
    records: list[LogRecord] = []
    if result.sample is not None:
        records.append(_performance(result, driver_average_ms(second * 1e3 for second in result.sample.seconds)))
    records.append(_verification(result))
    return records


def _performance(result: Result, average_time_ms: float | None) -> Performance:
    assert average_time_ms is not None, "a sample has valid times"
    problem = result.problem
    return Performance.measured(
        problem,
        algorithm=result.algorithm,
        solution=f"{result.solver_id}/{result.solver}",
        db_key=problem.find_db_key(),
        perf_db_key=problem.perf_db_key(),
        average_time_ms=average_time_ms,
    )


def _verification(result: Result) -> Verification:
    check = result.check
    return Verification.of(
        result.problem.direction,
        passed=check.passed,
        reference="CPU",
        error=math.inf if check.rms_error is None else check.rms_error,
        tolerance=check.rms_tolerance,
    )
