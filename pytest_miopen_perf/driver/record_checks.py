"""What one item of a log says that the schema cannot judge: its reading, its figures, its kernels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_miopen_perf.driver.dialects import NOT_MEASURED
from pytest_miopen_perf.driver.directions import DIRECTION_OF, kernel_direction, solver_direction
from pytest_miopen_perf.driver.figures import Agreement, dominating_time, is_measured, judge_figures
from pytest_miopen_perf.driver.finding import Finding
from pytest_miopen_perf.driver.log_item import ItemKind
from pytest_miopen_perf.records import ErrorLine, SolutionRecord, Verification
from pytest_miopen_perf.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_miopen_perf.driver.log_item import LogItem
    from pytest_miopen_perf.records import ConfigRecord, KernelRecord

NO_RESULT = 1.7e308
"""MIOpen's error figure of a run that failed is the largest double, printed as 1.79769e+308."""

_NAIVE_KERNEL = "naive_conv"
_UNKNOWN_SOLVERS = ("UNKNOWN", "INVALID_SOLVER_ID")
_PHASE_DOUBTS = ("no-phase", "unknown-phase")
_DOUBT_SEVERITY = {"non-finite": Severity.WARNING, "negative": Severity.WARNING}


def check_item(item: LogItem) -> Iterator[Finding]:
    """The findings of one item by itself."""
    yield from _check_reading(item)
    record = item.record
    if isinstance(record, SolutionRecord):
        yield from _check_solution(item, record)
    elif isinstance(record, Verification):
        yield from _check_verification(item, record)
    elif isinstance(record, ErrorLine):
        yield finding(item, "error-line", Severity.ERROR, f"the driver reports: {record.error}")


def finding(item: LogItem, code: str, severity: Severity, message: str) -> Finding:
    """A finding of an item."""
    return Finding(code=code, severity=severity, message=message, line_number=item.line_number, source=item.source)


def _check_reading(item: LogItem) -> Iterator[Finding]:
    if item.reason is not None:
        severity = Severity.INFO if item.reason.code == "foreign" else Severity.ERROR
        yield finding(item, item.reason.code, severity, f"not read: {item.reason.message}")
    if item.kind is not ItemKind.NOISE:
        for note in item.repairs:
            yield finding(item, note.code, Severity.INFO, note.message)
        for note in item.doubts:
            yield finding(item, note.code, _DOUBT_SEVERITY.get(note.code, Severity.INFO), note.message)


# --- Solution records -------------------------------------------------------------------------------------------------


def _check_solution(item: LogItem, record: SolutionRecord) -> Iterator[Finding]:
    if record.solution.startswith(_UNKNOWN_SOLVERS) or record.solver_id == 0:
        words = f"the solver is {record.solution} with id {record.solver_id}, which names none"
        yield finding(item, "unknown-solver", Severity.WARNING, words)
    if record.phase.value == "unknown" and not any(note.code in _PHASE_DOUBTS for note in item.doubts):
        has_text = any(config.config_descriptor for config in record.performance_configs)
        work = "a search" if has_text else "a comparison by Find"
        words = f"the phase is unknown, as before MIOpen pull request #11166; taken as {work}"
        yield finding(item, "phase-unknown", Severity.INFO, words)
    unmeasured = sum(not config.time_executions_ms for config in record.performance_configs)
    if unmeasured:
        words = f"{unmeasured} of {len(record.performance_configs)} configs of {record.solution} have no times: "
        yield finding(item, "not-measured", Severity.INFO, words + "they failed or were skipped, and are not 0 ms fast")
    if len({config.kernels is None for config in record.performance_configs}) > 1:
        words = f"some configs of {record.solution} list kernels and some do not, which no level does"
        yield finding(item, "mixed-levels", Severity.WARNING, words)
    for config in record.performance_configs:
        yield from _check_config(item, record.solution, config)
        if config.kernels:
            yield from _check_kernels(item, record.solution, config, config.kernels)


def _name(config: ConfigRecord) -> str:
    return config.config_descriptor or config.config_name


def _check_config(item: LogItem, solution: str, config: ConfigRecord) -> Iterator[Finding]:
    times = config.time_executions_ms
    if not times:
        return
    name = f"{solution}, config {_name(config)}"
    if not is_measured(times):
        wrong = ", ".join(f"{time:.6g}" for time in times if not is_measured([time]))
        words = f"{name}: {wrong} ms is no measurement, so that none of its figures is one"
        yield finding(item, "no-measurement", Severity.WARNING, words)
        return
    if config.exec_number == NOT_MEASURED:
        words = f"{name}: has times, but exec_number says that it was not measured"
        yield finding(item, "exec-number", Severity.WARNING, words)
    if not math.isnan(config.time_ms) and config.time_ms <= 0:
        words = f"{name}: time_ms is {config.time_ms:.6g}, which would win every comparison"
        yield finding(item, "time-not-positive", Severity.WARNING, words)
        return
    if not any(note.code == "non-finite" for note in item.doubts):
        yield from _check_figures(item, name, config)
    if len(times) == 2 and config.config_descriptor:
        words = f"{name}: was given up after one probe; its mean of {config.time_ms:.6g} ms holds the cold run"
        yield finding(item, "cold-run", Severity.INFO, f"{words}, the warm time is {times[1]:.6g} ms")
    elif (time := dominating_time(config)) is not None:
        words = f"{name}: the mean of {config.time_ms:.6g} ms is carried by a time of {time:.6g} ms"
        yield finding(item, "mean-dominated", Severity.WARNING, f"{words}; look at the median")


def _check_figures(item: LogItem, name: str, config: ConfigRecord) -> Iterator[Finding]:
    agreement, contradiction = judge_figures(config)
    if agreement is Agreement.DISAGREE:
        yield finding(item, "figures-disagree", Severity.ERROR, f"{name}: {contradiction}")
    if agreement is Agreement.NOT_REPRODUCIBLE:
        words = f"{name}: {contradiction}; the rounding of the printed times explains that"
        yield finding(item, "figures-not-reproducible", Severity.INFO, words)


# --- Kernels ----------------------------------------------------------------------------------------------------------


def _check_kernels(
    item: LogItem, solution: str, config: ConfigRecord, kernels: Sequence[KernelRecord]
) -> Iterator[Finding]:
    name = f"{solution}, config {_name(config)}"
    flagged = len({kernel.kernel_name for kernel in kernels if kernel.is_transformation})
    if flagged != config.number_of_transformations:
        words = f"{name}: number_of_transformations is {config.number_of_transformations}, its kernels have {flagged}"
        yield finding(item, "transformation-count", Severity.WARNING, words)
    if len({kernel.kernel_name for kernel in kernels}) < len(kernels):
        words = f"{name}: a kernel is listed twice, which MIOpen's grouping by name cannot give"
        yield finding(item, "kernel-twice", Severity.WARNING, words)
    foreign = [kernel.kernel_name for kernel in kernels if _is_foreign(kernel, solution)]
    if foreign:
        also = " and config_name" if config.config_name in foreign else ""
        words = f"{name}: {', '.join(foreign)} belong to other work, as of a timed run and its check before; "
        yield finding(item, "foreign-kernels", Severity.WARNING, f"{words}kernels{also} are unreliable, times are fine")
    samples = len(config.time_executions_ms)
    for kernel in kernels:
        launches = len(kernel.time_executions_ms)
        if kernel.kernel_name not in foreign and not _fits(launches, samples):
            words = f"{name}: {kernel.kernel_name} was launched {launches} times in {samples} executions"
            yield finding(item, "kernel-count", Severity.WARNING, words)


def _is_foreign(kernel: KernelRecord, solution: str) -> bool:
    if kernel.kernel_name.startswith(_NAIVE_KERNEL):
        return "naive" not in solution.lower()
    solver, launched = solver_direction(solution), kernel_direction(kernel.kernel_name)
    return solver is not None and launched is not None and solver is not launched


def _fits(launches: int, samples: int) -> bool:
    """Whether each execution launches the kernel equally often; Find does one execution more than it stores."""
    return samples == 0 or (launches >= samples and (launches % samples == 0 or launches % (samples + 1) == 0))


# --- Verification -----------------------------------------------------------------------------------------------------


def _check_verification(item: LogItem, record: Verification) -> Iterator[Finding]:
    direction = record.direction if record.direction not in DIRECTION_OF else DIRECTION_OF[record.direction].value
    if record.error >= NO_RESULT:
        words = f"direction {direction}: the run itself failed, its error of {record.error:.6g} is not a measured one"
        yield finding(item, "run-failed", Severity.ERROR, words)
    elif record.status == "FAILED":
        words = f"direction {direction}: wrong numbers, error {record.error:.6g} against {record.tolerance:.6g}"
        yield finding(item, "verification-failed", Severity.ERROR, words)
    elif not record.error <= record.tolerance:
        words = f"direction {direction}: OK is stated with error {record.error:.6g} against {record.tolerance:.6g}"
        yield finding(item, "verdict-mismatch", Severity.ERROR, words)
    if record.status == "FAILED" and record.error <= record.tolerance:
        words = f"direction {direction}: FAILED is stated though {record.error:.6g} is within {record.tolerance:.6g}"
        yield finding(item, "verdict-mismatch", Severity.WARNING, words)
