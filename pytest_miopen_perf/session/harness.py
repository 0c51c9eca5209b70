"""What a test holds in its hand: run a problem, get a checked and timed result, or a failure that says why."""

from __future__ import annotations

import contextlib
import os
import shlex
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miopen_perf.cases import Case, Outcome
from pytest_miopen_perf.errors import (
    DeviceUnavailableError,
    NotApplicableError,
    PerfError,
    SettingsError,
    WrongResultError,
)
from pytest_miopen_perf.options import OPTIONS
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.perflog.sinks import FileSink
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.settings import TunePolicy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_miopen_perf.ab.part import Part
    from pytest_miopen_perf.gate.blocks import PairedTimes
    from pytest_miopen_perf.gate.phases import CaseRule
    from pytest_miopen_perf.gate.verdict import VerdictRow
    from pytest_miopen_perf.results import Result
    from pytest_miopen_perf.session import PerfSession
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.solvers import Solver

_PARSERS = {option.field: option.parse for option in OPTIONS}
_MARKER_SETTINGS = {
    "tolerance": "tolerance",
    "iterations": "iterations",
    "tune": "tune",
    "margin": "margin",
    "gate": "gate",
    "cache_state": "cache_state",
    "launch": "launch_mode",
}
_MARKER_NAMES = ("problems", "solvers", *_MARKER_SETTINGS)


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


def marker_arguments(node: pytest.Item | pytest.Collector | Any) -> dict[str, Any]:
    """The arguments of the closest `miopen_perf` marker, names checked; {} without one.

    Raises:
        SettingsError: an unknown name, a positional argument, or a text where a list belongs.
    """
    marker = next(node.iter_markers("miopen_perf"), None)
    if marker is None:
        return {}
    unknown = [name for name in marker.kwargs if name not in _MARKER_NAMES]
    if unknown or marker.args:
        what = f"has no argument {unknown[0]!r}" if unknown else "takes named arguments only"
        raise SettingsError(f"the marker miopen_perf of {node.name} {what}; it knows {', '.join(_MARKER_NAMES)}")
    for name in ("problems", "solvers"):
        texts = marker.kwargs.get(name, [])
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str | ConvProblem) for text in texts):
            raise SettingsError(f"the marker miopen_perf of {node.name}: {name} is {texts!r}; give a list of texts")
    return dict(marker.kwargs)


def settings_with(settings: Settings, arguments: Mapping[str, Any], where: str) -> Settings:
    """Session settings with the marker's arguments; what the command line or ini file says of all tests gives way.

    Raises:
        SettingsError: a value is wrong.
    """
    changed = {}
    for name, field in _MARKER_SETTINGS.items():
        if name in arguments:
            try:
                changed[field] = _PARSERS[field](str(arguments[name]))
            except ValueError as error:
                raise SettingsError(
                    f"the marker miopen_perf of {where}: {name} is {arguments[name]!r}: {error}"
                ) from error
    return replace(settings, **changed)


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
    part = session.part
    log: list[str] = []
    logger = PerformanceLogger(settings.level, log.append)

    def keep(outcome: Outcome, message: str, result: Result | None = None, **found: Any) -> None:
        session.keep(
            Case(
                nodeid=node.nodeid,
                problem=str(problem),
                outcome=outcome,
                message=message,
                result=result,
                log=tuple(log),
                rule=None if part is None else case_rule(session, node),
                **found,
            )
        )

    paired = None
    verdict = None
    try:
        if part is not None and part.levels is not None:
            result, paired = _run_levels(session, part, problem, solvers, settings)
        elif part is not None and part.arms is not None:
            pairing = part.pairing(problem)
            result, paired = session.runner().run_paired(
                problem, solvers=solvers, settings=settings, logger=logger, pairing=pairing
            )
        else:
            result = session.runner().run(problem, solvers=solvers, settings=settings, logger=logger)
            verdict = _verdict(session, node, result, settings, logger)
    except NotApplicableError:
        raise
    except PerfError as error:
        keep("error", str(error))
        # Its words say all there is to say; the way through the harness would only hide the test's own line.
        raise error.with_traceback(None) from None
    except BaseException as error:
        keep("error", str(error) or _without_words(error))
        raise
    wrong = _complaint(result) or (f"arm A: {_complaint(paired.base)}" if paired and _complaint(paired.base) else "")
    keep("failed" if wrong else "passed", wrong, result, verdict=verdict, paired=paired)
    record_properties(node, result)
    session.config.hook.pytest_miopen_perf_result(item=node, result=result)
    if wrong:
        raise WrongResultError(f"{wrong}\n{reproducer(node.nodeid, result, settings)}")
    return result


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
    session: PerfSession, node: pytest.Item, result: Result, settings: Settings, logger: PerformanceLogger
) -> VerdictRow | None:
    """What the gate says of the time of a right result; what looks slower runs again in memory of its own."""
    gate = session.gate
    if gate is None or _complaint(result):
        return None

    def case_of(measured: Result) -> Case:
        return Case(nodeid=node.nodeid, problem=str(measured.problem), result=measured)

    def measure_again() -> Case:
        fresh = replace(settings, config=result.config or None, tune=TunePolicy.OFF)
        solvers = [session.solver_named(result.solver)]
        again = session.runner().run(result.problem, solvers=solvers, settings=fresh, logger=logger)
        return case_of(replace(result, check=again.check, sample=again.sample, kernels=again.kernels))

    row = gate.judge(
        case_of(result),
        asked=case_rule(session, node),
        suite_size=len(node.session.items),
        measure_again=measure_again,
    )
    if row is None:
        return None
    return row.with_reproducer(shlex.join(_gate_command(node.nodeid, result, settings)))


def _gate_command(nodeid: str, result: Result, settings: Settings) -> list[str]:
    """The test against the same baseline or arm; a named solver or config would be another case."""
    others = {
        f"--miopen-perf-compare={settings.compare}": settings.compare is not None,
        f"--miopen-perf-ab={','.join(settings.ab or ())}": settings.ab is not None,
        "--miopen-perf-log-overhead": settings.log_overhead,
    }
    words = ["pytest", nodeid, f"--miopen-perf-seed={result.seed}", *(word for word, is_on in others.items() if is_on)]
    words += _measuring_words(settings)
    return words if settings.tune is TunePolicy.OFF else [*words, f"--miopen-perf-tune={settings.tune.value}"]


def _measuring_words(settings: Settings) -> list[str]:
    """What is declared of caches and launches, where it is not the usual."""
    words = []
    if settings.cache_state != "warm":
        words.append(f"--miopen-perf-cache-state={settings.cache_state}")
    if settings.launch_mode != "isolated":
        words.append(f"--miopen-perf-launch={settings.launch_mode}")
    return words


def case_rule(session: PerfSession, node: pytest.Item | pytest.File) -> CaseRule:
    """What the marker asks of the gate, else the test's file; a margin of None is that of the session."""
    from pytest_miopen_perf.gate.phases import TIME_ALONE, CaseRule

    arguments = marker_arguments(node)
    settings = settings_with(session.settings, arguments, node.nodeid)
    path = os.path.relpath(node.path, session.config.rootpath)
    margin = settings.margin if "margin" in arguments else session.settings.margin_of_file(Path(path).as_posix())
    return CaseRule(margin=margin, phases=settings.gate or TIME_ALONE)


def _complaint(result: Result) -> str:
    """What is wrong with the executed solver, or with one that says it applies and does not compile, run or compute."""
    if not result.check.passed:
        return f"{result.solver} on {result.problem}: {result.check.sentence}"
    failed = [trial for trial in result.find if trial.is_failed]
    return "; ".join(f"{trial.solver} on {result.problem}: {trial.reason}" for trial in failed)


def reproducer(nodeid: str, result: Result, settings: Settings) -> str:
    """One line that runs the case again, and behind it the MIOpenDriver line of the problem."""
    words = ["pytest", nodeid, f"--miopen-perf-solver={result.solver}", f"--miopen-perf-seed={result.seed}"]
    if settings.data != "miopen":
        words.append(f"--miopen-perf-data={settings.data}")
    if settings.kernels_dir is not None:
        words.append(f"--miopen-perf-kernels={settings.kernels_dir}")
    if settings.backend != "auto":
        words.append(f"--miopen-perf-backend={settings.backend}")
    if result.config:
        words.append(f"--miopen-perf-config={result.config}")
    words += _measuring_words(settings)
    return f"reproduce: {shlex.join(words)}  # {result.problem.to_driver()}"


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
