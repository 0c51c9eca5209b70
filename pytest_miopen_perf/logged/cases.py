"""What a performance log says was run, as cases: for the same tables, files and verdicts as our own sessions.

A log of MIOpenDriver has one process a command; what it does not say stays empty: no device beyond the GPU's name, no
worst element, and no origin of a config that was not searched for in the same run. A log of this project's is one
process, since its commands are cases of one session.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_miopen_perf.cases import Case
from pytest_miopen_perf.checking.check import Check, Reason
from pytest_miopen_perf.driver.directions import DIRECTION_OF
from pytest_miopen_perf.driver.pairing import RunSplitter, pair_run
from pytest_miopen_perf.errors import DatabaseKeyError, DriverLineError, ProblemError
from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.logged.trials import LoggedTrials
from pytest_miopen_perf.measuring.circumstances import Circumstances
from pytest_miopen_perf.problems.db_key import parse_find_db_key
from pytest_miopen_perf.problems.driver_line import parse_command
from pytest_miopen_perf.records import ErrorLine, FindTime, PrngSeed, SystemInfo, Verification
from pytest_miopen_perf.records.run_records import NO_ERROR_FIGURE, OWN_SOLVER_IDS
from pytest_miopen_perf.results import KernelTimes, Result, Sample
from pytest_miopen_perf.statistics import measured_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_miopen_perf.driver.log_item import LogItem
    from pytest_miopen_perf.driver.pairing import Pair, Run
    from pytest_miopen_perf.problem import ConvProblem, Direction
    from pytest_miopen_perf.records import ConfigRecord
    from pytest_miopen_perf.results import Tuning

_WARMUPS = 2
_LARGEST_ERROR = 0.999 * NO_ERROR_FIGURE
_GPU_COUNT = " x "

NOT_TOLD: Final = Circumstances(launch_mode=None)
"""Of the circumstances of its times no log tells anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedSession:
    """The cases of a log.

    Attributes:
        processes: The cases of each process, in order of the log.
        environment: The variables that the log states, of its last Find call.
        versions: Versions that the log states: of MIOpen, ROCm and the GPU's driver.
        unnamed: Results of which the log does not say the problem; they are in no case.
    """

    processes: tuple[tuple[Case, ...], ...]
    environment: tuple[tuple[str, str], ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    unnamed: int = 0

    @property
    def cases(self) -> tuple[Case, ...]:
        """All cases, in order of the log."""
        return tuple(case for process in self.processes for case in process)


class LoggedCase(NamedTuple):
    """A case of a log, and the lines of stdout that tell of it: the figures first."""

    case: Case
    line_numbers: tuple[int, ...]


class CaseReader:
    """Makes cases of the items of a log, run by run."""

    def __init__(self) -> None:
        self._splitter = RunSplitter()
        self._notes = _Notes()

    @property
    def environment(self) -> tuple[tuple[str, str], ...]:
        """The variables that the log states so far, of its last Find call."""
        return self._notes.environment

    @property
    def versions(self) -> tuple[tuple[str, str], ...]:
        """The versions that the log states so far."""
        return self._notes.versions

    def add(self, item: LogItem) -> tuple[LoggedCase, ...]:
        """The cases of the run that ends where this item begins another one; most often none."""
        ended = self._splitter.add(item)
        cases = () if ended is None else tuple(_cases(ended, self._notes))
        if ended is not None:
            self._notes.begin_run()
        if item.record is not None:
            self._notes.add(item)
        return cases

    def end(self) -> tuple[LoggedCase, ...]:
        """The cases of the last run."""
        last = self._splitter.end()
        return () if last is None else tuple(_cases(last, self._notes))


def logged_session(items: Iterable[LogItem]) -> LoggedSession:
    """The cases of a log.

    Args:
        items: What `read_log` gives; of streams kept apart those of stdout first.
    """
    reader = CaseReader()
    runs = [run for item in items if (run := reader.add(item))]
    runs.append(reader.end())
    return session_of_runs(runs, reader)


def session_of_runs(runs: Iterable[Sequence[LoggedCase]], reader: CaseReader) -> LoggedSession:
    """The cases of the runs that a reader gave, put together to processes."""
    return LoggedSession(
        processes=tuple(_processes([tuple(logged.case for logged in run) for run in runs if run])),
        environment=reader.environment,
        versions=reader.versions,
    )


@dataclass(slots=True)
class _Notes:
    """What stands beside the figures; the machine and the environment stay from run to run."""

    verifications: dict[Direction, tuple[int, Verification]] = field(default_factory=dict)
    errors: list[tuple[int, str]] = field(default_factory=list)
    seed: int | None = None
    gpu: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def begin_run(self) -> None:
        self.verifications = {}
        self.errors = []
        self.seed = None

    def add(self, item: LogItem) -> None:
        record = item.record
        if isinstance(record, Verification):
            if record.direction in DIRECTION_OF:
                self.verifications[DIRECTION_OF[record.direction]] = item.line_number, record
        elif isinstance(record, ErrorLine):
            self.errors.append((item.line_number, " ".join(record.error.split())))
        elif isinstance(record, PrngSeed):
            self.seed = record.prng_seed
        elif isinstance(record, SystemInfo):
            # The host's name stays behind: it is personal data.
            self.gpu = record.gpu_model.rpartition(_GPU_COUNT)[2]
            named = {"MIOpen": record.miopen_version, "ROCm": record.rocm, "amdgpu": record.amdgpu_driver}
            self.versions = tuple((name, version) for name, version in named.items() if version)
        elif isinstance(record, FindTime):
            self.environment = tuple((name, str(value)) for name, value in record.environment_variables)


def _processes(runs: Sequence[tuple[Case, ...]]) -> Iterator[tuple[Case, ...]]:
    own = [all(_is_own(case) for case in run) for run in runs]
    together = tuple(case for run, is_own in zip(runs, own, strict=True) if is_own for case in run)
    if together:
        yield together
    yield from (run for run, is_own in zip(runs, own, strict=True) if not is_own)


def _is_own(case: Case) -> bool:
    return case.result is not None and case.result.solver_id >= OWN_SOLVER_IDS


def _cases(run: Run, notes: _Notes) -> Iterator[LoggedCase]:
    asked = _asked(run)
    trials = LoggedTrials(run, len(asked))
    nodeid = f"{run.source or 'log'}:{max(1, run.line_number)}"
    error_lines = tuple(line_number for line_number, _ in notes.errors)
    for pair in pair_run(run):
        direction = DIRECTION_OF[pair.performance.record.direction]
        problem = _problem(pair, asked, direction)
        if problem is None:
            key = pair.performance.record.db_key
            case = Case(nodeid=nodeid, problem=key, outcome="error", message=f"the key {key!r} names no problem")
        else:
            case = _case(nodeid, problem, pair, notes, trials)
        verified = notes.verifications.get(direction)
        yield LoggedCase(case, (pair.performance.line_number, *(verified[:1] if verified else ()), *error_lines))
    if not run.performances and (asked or notes.errors):
        name = str(asked[0]) if asked else run.command
        message = notes.errors[0][1] if notes.errors else "the run left no performance line"
        case = Case(nodeid=nodeid, problem=name, outcome="error", message=message)
        verified_lines = (line_number for line_number, _ in notes.verifications.values())
        yield LoggedCase(case, (max(1, run.line_number), *verified_lines, *error_lines))


def _asked(run: Run) -> tuple[ConvProblem, ...]:
    try:
        return parse_command(run.command).problems if run.command else ()
    except DriverLineError:
        return ()


def _problem(pair: Pair, asked: Sequence[ConvProblem], direction: Direction) -> ConvProblem | None:
    """The problem of the command that has the line's key; else the one that the key names, else by direction."""
    key = pair.performance.record.db_key
    for problem in asked:
        if _find_db_key(problem) == key:
            return problem
    try:
        return parse_find_db_key(key)
    except DatabaseKeyError:
        return next((problem for problem in asked if problem.direction is direction), None)


def _find_db_key(problem: ConvProblem) -> str:
    try:
        return problem.find_db_key()
    except ProblemError:
        return ""


def _case(nodeid: str, problem: ConvProblem, pair: Pair, notes: _Notes, trials: LoggedTrials) -> Case:
    verified = notes.verifications.get(DIRECTION_OF[pair.performance.record.direction])
    check = _verdict(None if verified is None else verified[1])
    sample = _sample(pair)
    message = "; ".join(words for _, words in notes.errors)
    if sample is None or message:
        reason = message or "the log has no valid time of it"
        return Case(nodeid=nodeid, problem=str(problem), outcome="error", message=reason)
    result = _result(problem, pair, notes, check=check, sample=sample, trials=trials)
    return Case(
        nodeid=nodeid,
        problem=str(problem),
        outcome="passed" if check.passed else "failed",
        message="" if check.passed else check.sentence,
        result=result,
        process=nodeid.rpartition(":")[0] if result.solver_id >= OWN_SOLVER_IDS else nodeid,
    )


def _result(
    problem: ConvProblem, pair: Pair, notes: _Notes, *, check: Check, sample: Sample, trials: LoggedTrials
) -> Result:
    line = pair.performance.record
    config = None if pair.execution is None else pair.execution.config
    number = line.solution.partition("/")[0]
    solver_id = int(number) if number.isdecimal() else 0
    descriptor = config.config_descriptor if config else ""
    tuning = trials.searched(DIRECTION_OF[line.direction])
    return Result(
        problem=problem,
        device=reported_device(notes.gpu),
        solver=pair.performance.solver or "UNKNOWN",
        solver_id=solver_id,
        algorithm=line.algorithm,
        config=descriptor,
        config_origin=_origin(solver_id, pair, descriptor, tuning),
        workspace_bytes=None,
        check=check,
        sample=sample,
        kernels=() if config is None else _kernels(config, sample.warmups),
        tuning=tuning,
        find=trials.compared(DIRECTION_OF[line.direction]),
        compile_seconds=None,
        first_launch_seconds=None,
        seed=notes.seed,
        data=None,
        cache_mode=None,
        circumstances=NOT_TOLD,
        tune=None,
    )


def _origin(solver_id: int, pair: Pair, descriptor: str, tuning: Sequence[Tuning]) -> str:
    """How the config was found, as far as the log tells: solvers of this project name theirs wherever they have one."""
    if pair.execution is not None and any(
        trial.config == descriptor and trial.solver == pair.execution.solution
        for search in tuning
        for trial in search.trials
    ):
        return "tuned"
    return "default" if solver_id >= OWN_SOLVER_IDS and pair.execution and not descriptor else "logged"


def _kernels(config: ConfigRecord, warmups: int) -> tuple[KernelTimes, ...]:
    return tuple(
        KernelTimes(
            name=kernel.kernel_name,
            seconds=tuple(time / 1e3 for time in measured_ms(_counted(kernel.time_executions_ms, config, warmups))),
            is_transformation=kernel.is_transformation,
        )
        for kernel in config.kernels or ()
    )


def _counted(launches_ms: Sequence[float], config: ConfigRecord, warmups: int) -> Sequence[float]:
    """The launches of a kernel without those of the warm-ups, where each execution has the same number of them."""
    each, rest = divmod(len(launches_ms), len(config.time_executions_ms) or 1)
    return launches_ms if rest else launches_ms[each * warmups :]


def _sample(pair: Pair) -> Sample | None:
    """Every valid time of the timed run, MIOpen's two warm-ups marked; the driver's average where there is no more."""
    stated = [] if pair.execution is None else pair.execution.config.time_executions_ms
    times = measured_ms(stated) or measured_ms([pair.performance.record.average_time_ms])
    if not times:
        return None
    return Sample(
        seconds=tuple(float(f"{time / 1e3:.6g}") for time in times),
        warmups=_WARMUPS if len(times) > _WARMUPS else 0,
        invalid=max(0, len(stated) - len(times)),
    )


def _verdict(line: Verification | None) -> Check:
    if line is None:
        return reported_check(passed=None, error=None, tolerance=None)
    return reported_check(
        passed=line.status == "OK", error=line.error, tolerance=line.tolerance, reference=line.reference
    )


def reported_check(*, passed: bool | None, error: float | None, tolerance: float | None, reference: str = "") -> Check:
    """What a program said of its numbers, as a check.

    Args:
        passed: Its verdict; None when it gave none.
        error: Its figure; None or not finite where there is none, the largest double where the run failed.
        tolerance: The greatest error that it takes for right.
        reference: Where its reference was computed.
    """
    if passed is None:
        return _check(Reason.UNCHECKED, None, 0.0, "the log does not say whether the numbers are right")
    figure = error if error is not None and math.isfinite(error) and error < _LARGEST_ERROR else None
    limit = tolerance if tolerance is not None and math.isfinite(tolerance) else 0.0
    words = f"MIOpenDriver against its {reference or 'own'} reference: error {error}, tolerance {tolerance}"
    if passed:
        return _check(Reason.RIGHT, figure, limit, words)
    if error is not None and math.isfinite(error) and figure is None:
        return _check(Reason.UNWRITTEN, None, limit, "MIOpenDriver had nothing to verify: the run failed")
    return _check(Reason.RMS if figure is not None else Reason.NOT_FINITE, figure, limit, words)


def _check(reason: Reason, error: float | None, tolerance: float, sentence: str) -> Check:
    return Check(
        reason=reason,
        rms_error=error,
        rms_tolerance=tolerance,
        worst=(),
        got=None,
        want=None,
        bound=None,
        sentence=sentence,
    )


def reported_device(name: str) -> DeviceInfo:
    """A device of which a log tells nothing but, at best, the name."""
    return DeviceInfo(
        backend="log",
        name=name or "a device that the log does not name",
        arch="",
        compute_units=0,
        wavefront=0,
        lds_bytes=0,
        memory_bytes=0,
        max_block=0,
        max_grid=(0, 0, 0),
    )
