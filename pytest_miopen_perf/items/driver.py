"""Problems that the real MIOpenDriver runs, for the fixture `miopen_driver` and for workload files."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_miopen_perf.cases import Case
from pytest_miopen_perf.driver.program import FOLDERS, DriverProgram, find_driver
from pytest_miopen_perf.environment import performance_variables
from pytest_miopen_perf.errors import DriverRunError, NotApplicableError, PerfError, PerfWarning, WrongResultError
from pytest_miopen_perf.measuring.lease import timed_section
from pytest_miopen_perf.report.progress import live_lines
from pytest_miopen_perf.session.harness import one_problem, record_properties, skip_unavailable
from pytest_miopen_perf.session.marker import case_rule, marker_arguments, settings_with

if TYPE_CHECKING:
    from pytest_miopen_perf.driver.run_report import RunReport
    from pytest_miopen_perf.gate.verdict import VerdictRow
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.results import Result
    from pytest_miopen_perf.session import PerfSession
    from pytest_miopen_perf.settings import Settings

_PROGRAM = pytest.StashKey[DriverProgram]()
_MAIN = "main"
"""Whose folder it is where there are no workers."""


def driver_program(session: PerfSession) -> DriverProgram:
    """The MIOpenDriver of this process, with a folder of its own; made at first use.

    Raises:
        DeviceUnavailableError: there is none.
    """
    config = session.config
    if _PROGRAM not in config.stash:
        path = find_driver(session.settings.driver_path, os.environ.get("PATH"))
        config.stash[_PROGRAM] = DriverProgram(path=path, folder=_folder(session), variables=dict(os.environ))
    return config.stash[_PROGRAM]


def _folder(session: PerfSession) -> Path:
    """Below `--miopen-perf-db` where there is one, else until the session ends; never that of another worker."""
    worker: str = getattr(session.config, "workerinput", {}).get("workerid", _MAIN)
    if session.settings.db_dir is not None:
        return session.settings.db_dir / "miopendriver" / worker
    folder = Path(tempfile.mkdtemp(prefix="miopen-perf-"))
    session.config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    return folder


class MiopenDriver:
    """What the fixture `miopen_driver` gives: call it with a problem, get the `Result` of the real MIOpenDriver."""

    def __init__(self, session: PerfSession, node: pytest.Item, settings: Settings) -> None:
        self._session = session
        self._node = node
        self._settings = settings

    @staticmethod
    def for_test(session: PerfSession, node: pytest.Item) -> MiopenDriver:
        """The driver with what the test's marker says; without a driver the test is skipped.

        Raises:
            SettingsError: the marker is wrong.
        """
        with skip_unavailable():
            driver_program(session)
        return MiopenDriver(session, node, settings_with(session.settings, marker_arguments(node), node.nodeid))

    def __call__(self, problem: ConvProblem | str) -> Result:
        """Run a problem; at level 1 and up its times are kept, as with our own solvers.

        Args:
            problem: A problem, or a MIOpenDriver line of one direction.

        Raises:
            WrongResultError: its verification failed, whatever its exit status.
            DriverRunError: it crashed, hung, reported an error, or gave no figures.
        """
        __tracebackhide__ = True
        with skip_unavailable():
            return run_by_driver(self._session, self._node, one_problem(problem), self._settings)


def run_by_driver(session: PerfSession, node: pytest.Item, problem: ConvProblem, settings: Settings) -> Result:
    """Run one problem for a test, keep the case for the report, and fail the test for what is wrong with it.

    Raises:
        DeviceUnavailableError: there is no MIOpenDriver.
        NotApplicableError: the problem computes nothing.
        WrongResultError: its verification failed.
        DriverRunError: there are no figures that count.
    """
    __tracebackhide__ = True
    if problem.empty_reason:
        raise NotApplicableError(f"{problem} computes nothing: {problem.empty_reason}")
    program = driver_program(session)
    try:
        report = _run(program, problem, settings, session)
        verdict = _verdict(session, node, program, settings, report)
    except BaseException as error:
        words = str(error) or type(error).__name__
        session.keep(Case(nodeid=node.nodeid, problem=str(problem), outcome="error", message=words))
        if isinstance(error, PerfError):
            raise error.with_traceback(None) from None
        raise
    session.keep(
        Case(
            nodeid=node.nodeid,
            problem=str(problem),
            outcome=report.outcome,
            message=report.message,
            result=report.result,
            log=report.log,
            verdict=verdict,
            process=node.nodeid,
        )
    )
    node.user_properties += _properties(program, problem, settings)
    for doubt in report.doubts:
        warnings.warn(PerfWarning(f"MIOpenDriver, {problem}: {doubt}"), stacklevel=2)
    return _answer(session, node, report, f"reproduce: {program.shell_line(problem, settings)}")


def _run(program: DriverProgram, problem: ConvProblem, settings: Settings, session: PerfSession) -> RunReport:
    """One run at a time on a device: the driver cannot be told to compile first and to wait before it measures."""
    with timed_section(program.device, live_lines(session.config)):
        return program.run(problem, settings)


def _answer(session: PerfSession, node: pytest.Item, report: RunReport, reproducer: str) -> Result:
    __tracebackhide__ = True
    result = report.result
    if result is None:
        raise DriverRunError(f"{report.message}\n{reproducer}")
    record_properties(node, result)
    session.config.hook.pytest_miopen_perf_result(item=node, result=result)
    if report.outcome != "passed":
        raise WrongResultError(f"{result.solver} on {result.problem}: {report.message}\n{reproducer}")
    return result


def _properties(program: DriverProgram, problem: ConvProblem, settings: Settings) -> list[tuple[str, object]]:
    """What was run, and in which environment; of this machine's paths only that of the program."""
    variables = performance_variables({**program.variables, **program.changes(settings)})
    kept = {name: value for name, value in variables.items() if name not in FOLDERS}
    return [
        ("miopen_perf_command", shlex.join(program.command(problem, settings))),
        ("miopen_perf_environment", " ".join(f"{name}={value}" for name, value in kept.items())),
    ]


def _verdict(
    session: PerfSession, node: pytest.Item, program: DriverProgram, settings: Settings, report: RunReport
) -> VerdictRow | None:
    """What the gate says of the time of a right result; what looks slower runs again in a process of its own."""
    gate, result = session.gate, report.result
    if gate is None or result is None or report.outcome != "passed":
        return None

    def case_of(measured: Result | None) -> Case:
        return Case(nodeid=node.nodeid, problem=str(result.problem), result=measured)

    def measure_again() -> Case:
        fresh = _run(program, result.problem, settings, session)
        if fresh.outcome != "passed":
            raise DriverRunError(f"when it was measured again, {fresh.message}")
        return case_of(fresh.result)

    row = gate.judge(
        case_of(result),
        asked=case_rule(session, node),
        suite_size=len(node.session.items),
        measure_again=measure_again,
    )
    return row and row.with_reproducer(shlex.join(["pytest", node.nodeid, f"--miopen-perf-compare={settings.compare}"]))
