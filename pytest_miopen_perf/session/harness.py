"""What a test holds in its hand: run a problem, get a checked and timed result, or a failure that says why."""

from __future__ import annotations

import contextlib
import shlex
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_miopen_perf.cases import Case, Outcome
from pytest_miopen_perf.errors import (
    DeviceUnavailableError,
    NotApplicableError,
    PerfError,
    PerfWarning,
    SettingsError,
    WrongResultError,
)
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.perflog.sinks import FileSink
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.session.marker import case_rule, marker_arguments, settings_with
from pytest_miopen_perf.session.reproducing import gate_command, reproducer
from pytest_miopen_perf.settings import TunePolicy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_miopen_perf.ab.part import Part
    from pytest_miopen_perf.gate.blocks import PairedTimes
    from pytest_miopen_perf.gate.verdict import VerdictRow
    from pytest_miopen_perf.results import Result
    from pytest_miopen_perf.session import PerfSession
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.solvers import Solver
    from pytest_miopen_perf.solvers.planned import PlannedSolver


@contextlib.contextmanager
def skip_unavailable() -> Iterator[None]:
    """Turn "no device" and "does not fit" into a skip with the reason."""
    try:
        yield
    except (DeviceUnavailableError, NotApplicableError) as error:
        pytest.skip(str(error))


@contextlib.contextmanager
def told_in_one_sentence() -> Iterator[None]:
    """Turn a wrong marker or device, found while a test is set up, into a failure without our frames."""
    try:
        yield
    except SettingsError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def run_case(
    session: PerfSession, node: pytest.Item, problem: ConvProblem, solvers: Sequence[Solver], settings: Settings
) -> Result:
    """Run one problem for a test, keep the case for the report, and fail the test when the numbers are wrong.

    Raises:
        NotApplicableError: no solver can, or memory is short.
        DeviceError: a kernel did not compile or run.
        WrongResultError: the numbers are wrong.
    """
    __tracebackhide__ = True
    log: list[str] = []

    def keep(outcome: Outcome, message: str, result: Result | None = None, **found: Any) -> None:
        session.keep(
            Case(
                nodeid=node.nodeid,
                problem=str(problem),
                outcome=outcome,
                message=message,
                result=result,
                log=tuple(log),
                rule=None if session.part is None else case_rule(session, node),
                **found,
            )
        )

    result: Result | None = None
    try:
        result, paired = _measured(session, problem, solvers, settings, log)
        verdict = _verdict(session, node, result, settings, log)
    except NotApplicableError:
        raise
    except PerfError as error:
        keep("error", str(error), result)
        # Its words say all there is to say; the way through the harness would only hide the test's own line.
        raise error.with_traceback(None) from None
    except BaseException as error:
        keep("error", str(error) or _without_words(error), result)
        raise
    wrong = _complaint(result) or (f"arm A: {_complaint(paired.base)}" if paired and _complaint(paired.base) else "")
    keep("failed" if wrong else "passed", wrong, result, verdict=verdict, paired=paired)
    record_properties(node, result)
    session.config.hook.pytest_miopen_perf_result(item=node, result=result)
    if wrong:
        raise WrongResultError(f"{wrong}\n{reproducer(node.nodeid, result, settings)}")
    return result


class _Measured(NamedTuple):
    """What a run came to: with the other arm, where it was a part of a paired comparison."""

    result: Result
    paired: PairedTimes | None = None


def _measured(
    session: PerfSession, problem: ConvProblem, solvers: Sequence[Solver], settings: Settings, log: list[str]
) -> _Measured:
    __tracebackhide__ = True
    part, logger = session.part, PerformanceLogger(settings.level, log.append)
    if part is not None and part.levels is not None:
        return _Measured(*_run_levels(session, part, problem, solvers, settings))
    runner = session.runner()
    if part is not None and part.arms is not None:
        pairing = part.pairing(problem)
        return _Measured(
            *runner.run_paired(problem, solvers=solvers, settings=settings, logger=logger, pairing=pairing)
        )
    return _Measured(runner.run(problem, solvers=solvers, settings=settings, logger=logger))


def _without_words(error: BaseException) -> str:
    return "interrupted" if isinstance(error, KeyboardInterrupt) else type(error).__name__


def _run_levels(
    session: PerfSession, part: Part, problem: ConvProblem, solvers: Sequence[Solver], settings: Settings
) -> tuple[Result, PairedTimes]:
    """Time a problem at two levels of the log, whose lines are written to a file and thrown away with it."""
    with tempfile.TemporaryDirectory(prefix="miopen-perf-") as folder, FileSink(Path(folder) / "log.jsonl") as sink:
        levels = part.levels_of(problem, sink)
        return session.runner().run_levels(problem, solvers=solvers, settings=settings, levels=levels)


def _verdict(
    session: PerfSession, node: pytest.Item, result: Result, settings: Settings, log: list[str]
) -> VerdictRow | None:
    """What the gate says of the time of a right result; what looks slower runs again in a process of its own."""
    gate = session.gate
    if gate is None or _complaint(result):
        return None

    def case_of(measured: Result) -> Case:
        return Case(nodeid=node.nodeid, problem=str(measured.problem), result=measured)

    if settings.ab is not None:
        _warn_of_one_text_for_both(session, result)
    row = gate.judge(
        case_of(result),
        asked=case_rule(session, node),
        suite_size=len(node.session.items),
        measure_again=lambda: case_of(_measured_again(session, result, settings, log)),
    )
    if row is None:
        return None
    asked = replace(settings, kernels_dir=session.asked_kernels_dir)  # an arm's folder is gone by then
    return row.with_reproducer(shlex.join(gate_command(node.nodeid, result, asked)))


def _planned(session: PerfSession, result: Result) -> PlannedSolver:
    from pytest_miopen_perf.solvers.planned import PlannedSolver

    solver = session.solver_named(result.solver)
    return PlannedSolver.of(solver, result.problem.canonical(), result.device, result.config)


def _warn_of_one_text_for_both(session: PerfSession, result: Result) -> None:
    """Arms are folders of kernels; one that is named by its absolute path lies in neither."""
    launches = _planned(session, result).planned.launches
    fixed = next((launch.kernel.file for launch in launches if Path(launch.kernel.file).is_absolute()), None)
    if fixed is not None:
        warnings.warn(
            f"both arms run the same {fixed} of {result.solver}, which is named by its absolute path; name it relative "
            "to a folder of kernels, and the folder by --miopen-perf-kernels",
            PerfWarning,
            stacklevel=2,
        )


def _measured_again(session: PerfSession, result: Result, settings: Settings, log: list[str]) -> Result:
    """The result with fresh times; those of a scripted device are this process's own, as its clock is.

    Raises:
        DeviceError: there are none.
    """
    from pytest_miopen_perf.session.fresh_process import Question, ask_fresh_process

    planned = _planned(session, result)
    backend, cache_dir = result.device.backend, session.device_settings.cache_dir
    fresh = replace(settings, config=None, tune=TunePolicy.OFF, backend=backend, cache_dir=cache_dir)
    if backend == "scripted":
        logger = PerformanceLogger(settings.level, log.append)
        again = session.runner().run(result.problem, solvers=[planned], settings=fresh, logger=logger)
    else:
        household = session.household.with_one_more()
        answer = ask_fresh_process(
            Question(problem=result.problem, solver=planned, settings=fresh, household=household)
        )
        log.extend(answer.log)
        again = answer.result
    return replace(
        result, check=again.check, sample=again.sample, kernels=again.kernels, circumstances=again.circumstances
    )


def _complaint(result: Result) -> str:
    """What is wrong with the executed solver, or with one that says it applies and does not compile, run or compute."""
    if not result.check.passed:
        return f"{result.solver} on {result.problem}: {result.check.sentence}"
    failed = [trial for trial in result.find if trial.is_failed]
    return "; ".join(f"{trial.solver} on {result.problem}: {trial.reason}" for trial in failed)


def record_properties(node: pytest.Item, result: Result) -> None:
    """Tell what ran and how fast in the report, for JUnit files."""
    node.user_properties.append(("miopen_perf_solver", result.solver))
    if result.config:
        node.user_properties.append(("miopen_perf_config", result.config))
    if result.sample is not None:
        node.user_properties.append(("miopen_perf_median_ms", result.sample.median_seconds * 1e3))


class MiopenPerf:
    """The harness of one test."""

    def __init__(self, session: PerfSession, node: pytest.Item, settings: Settings, solvers: Sequence[Solver]) -> None:
        self._session = session
        self._node = node
        self._settings = settings
        self._solvers = solvers

    @staticmethod
    def for_test(session: PerfSession, node: pytest.Item) -> MiopenPerf:
        """The harness with what the test's marker says.

        Raises:
            SettingsError: the marker is wrong.
        """
        arguments = marker_arguments(node)
        settings = settings_with(session.settings, arguments, node.nodeid)
        return MiopenPerf(session, node, settings, session.solvers_of(arguments.get("solvers", ())))

    def __call__(self, problem: ConvProblem | str, solver: str | None = None) -> Result:
        """Check a problem, and at level 1 and up time it.

        Args:
            problem: A problem, or a MIOpenDriver line of one direction.
            solver: The name of a solver; None compares all that apply and takes the fastest.

        Raises:
            WrongResultError: the numbers are wrong; the message says where and how to reproduce it.
            DeviceError: a kernel did not compile or run.
            SettingsError: no solver has that name, or the line holds several directions.
        """
        __tracebackhide__ = True
        try:
            chosen = self._solvers if solver is None else [self._session.solver_named(solver)]
            asked = one_problem(problem)
        except PerfError as error:
            # It is the call that is wrong: the way through the harness would only hide the test's own line.
            raise error.with_traceback(None) from None
        with skip_unavailable():
            return run_case(self._session, self._node, asked, chosen, self._settings)


def one_problem(problem: ConvProblem | str) -> ConvProblem:
    """The problem itself, or that of a MIOpenDriver line.

    Raises:
        SettingsError: the line holds several directions.
        DriverLineError: it is none.
    """
    if isinstance(problem, ConvProblem):
        return problem
    problems = ConvProblem.from_driver(problem)
    if len(problems) != 1:
        raise SettingsError(
            f"{problem!r} holds {len(problems)} directions; name one with -F 1, 2 or 4, "
            "or loop over ConvProblem.from_driver"
        )
    return problems[0]


@contextlib.contextmanager
def test_logger(session: PerfSession, node: pytest.Item) -> Iterator[PerformanceLogger]:
    """A logger for a test's own records; its lines travel with the test's report."""
    log: list[str] = []
    logger = PerformanceLogger(session.settings.level, log.append)
    try:
        yield logger
    finally:
        logger.flush()
        if log:
            session.keep(Case(nodeid=node.nodeid, log=tuple(log)))
