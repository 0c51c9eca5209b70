"""The pytest plugin: hooks, fixtures and the session that they share.

Every hook begins with the cheapest test for "not my business", and whatever it needs is imported behind that test:
a run that does not use the plugin pays for this file and the option table alone.
"""

from __future__ import annotations

import fnmatch
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.items.driver import MiopenDriver
    from pytest_miopen_perf.perflog import PerformanceLogger
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.session import PerfSession
    from pytest_miopen_perf.session.harness import MiopenPerf
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.static_gate.fixture import CodeObjects

_SESSION = pytest.StashKey["PerfSession"]()

MARKER = (
    "miopen_perf(problems=[...], solvers=[...], tolerance=1.0, iterations=10, tune='off|missing|force', margin='1%', "
    "gate='time,workspace', cache_state='warm|rotating|cold', launch='isolated|back-to-back'): convolution problems "
    "(workload files, bundled lists or MIOpenDriver lines) and how to run them"
)

STATIC_MARKER = "miopen_perf_static: a kernel as its compiler sees it, with no GPU; made by --miopen-perf-static"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, their ini twins, and the patterns of workload files."""
    from pytest_miopen_perf.options import add_options

    add_options(parser)
    parser.addini(
        "miopen_perf_files",
        type="args",
        default=["*.miopen.txt"],
        help="globs of the workload files (MIOpenDriver lines) that are collected as tests",
    )
    parser.addini(
        "miopen_perf_logs",
        type="args",
        default=["*.miopen.jsonl", "*.miopen.log"],
        help="globs of the logs of MIOpenDriver that are collected as tests, beside *.log and *.jsonl that are named",
    )


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Offer the hooks of `hookspec`."""
    from pytest_miopen_perf import hookspec

    pluginmanager.add_hookspecs(hookspec)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; tell at once what is wrong with an option, an ini value or the level variable.

    A session is made here only where the command line or the variable asks for one, or where processes measure before
    the first test: otherwise an ini file speaks to all runs, also to those that have no test of ours.
    """
    config.addinivalue_line("markers", MARKER)
    config.addinivalue_line("markers", STATIC_MARKER)
    if not hasattr(config, "workerinput"):
        from pytest_miopen_perf.controller import Controller

        config.pluginmanager.register(Controller(config), "miopen-perf-controller")
    from pytest_miopen_perf.options import are_ini_values_given, are_options_given
    from pytest_miopen_perf.options.running import LEVEL_VARIABLE

    if are_options_given(config) or LEVEL_VARIABLE in os.environ or config.getini("miopen_perf_static"):
        settings = session_of(config).settings
        if settings.is_static:
            from pytest_miopen_perf.static_gate.plugin import static_of

            static_of(config)
    elif are_ini_values_given(config) and _settings_of_ini(config).is_led:
        session_of(config)


def _settings_of_ini(config: pytest.Config) -> Settings:
    from pytest_miopen_perf.errors import SettingsError
    from pytest_miopen_perf.options import read_settings

    try:
        return read_settings(config, {})
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from error


def session_of(config: pytest.Config) -> PerfSession:
    """The session's state; made at first use.

    Raises:
        pytest.UsageError: an option, ini value or variable is wrong.
    """
    if _SESSION not in config.stash:
        from pytest_miopen_perf.errors import BaselineError, SettingsError
        from pytest_miopen_perf.options import read_settings
        from pytest_miopen_perf.session import PerfSession

        try:
            session = PerfSession(config, read_settings(config, dict(os.environ)))
            session.open_gate()
            session.read_part()
            _follow_controller(config, session)
            _end_orderly(config)
            config.stash[_SESSION] = session
        except (SettingsError, BaselineError) as error:
            raise pytest.UsageError(str(error)) from error
    return config.stash[_SESSION]


def session_so_far(config: pytest.Config) -> PerfSession | None:
    """The session's state, when something has asked for it already."""
    return config.stash.get(_SESSION, None)


def _session_of_test(config: pytest.Config) -> PerfSession:
    """The session, first asked for by a test that runs: what is wrong with it is wrong for every other test too.

    Raises:
        pytest.exit.Exception: an ini value asks for what is not there; with the exit code of wrong usage.
        pytest.fail.Exception: the same on a worker of pytest-xdist, whose exit would be taken for a crash.
    """
    try:
        return session_of(config)
    except pytest.UsageError as error:
        if hasattr(config, "workerinput"):
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        raise pytest.exit.Exception(str(error), returncode=pytest.ExitCode.USAGE_ERROR) from None


def _session_of_collection(config: pytest.Config) -> PerfSession:
    """The session, first asked for by a test that is collected.

    Raises:
        pytest.Collector.CollectError: an ini value asks for what is not there; pytest shows its sentence alone.
    """
    try:
        return session_of(config)
    except pytest.UsageError as error:
        raise pytest.Collector.CollectError(str(error)) from None


def _end_orderly(config: pytest.Config) -> None:
    """Take SIGTERM, with which CI cancels, as Ctrl-C: what was measured is kept, files and summary are written."""
    is_free = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if is_free and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)

        def restore() -> None:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

        config.add_cleanup(restore)


def _follow_controller(config: pytest.Config, session: PerfSession) -> None:
    path = getattr(config, "workerinput", {}).get("miopen_perf_lead")
    if path:
        from pytest_miopen_perf.ab.leading import Lead

        session.follow(Lead.read(Path(path)))


def pytest_report_header(config: pytest.Config) -> str | None:
    """One line on level and back-end, when the plugin is in use."""
    session = session_so_far(config)
    return None if session is None else session.header()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A workload file is a test file, one item a line and direction; so is a log, one item a record or run."""
    if file_path.suffix == ".py":
        return None
    file: pytest.Collector
    if _matches(file_path, parent.config.getini("miopen_perf_files")):
        from pytest_miopen_perf.items.workload import WorkloadFile

        file = WorkloadFile.from_parent(parent, path=file_path)
        return file
    is_named = file_path.suffix in (".log", ".jsonl") and parent.session.isinitpath(file_path)
    if is_named or _matches(file_path, parent.config.getini("miopen_perf_logs")):
        from pytest_miopen_perf.items.log import LogFile

        file = LogFile.from_parent(parent, path=file_path)
        return file
    return None


def _matches(path: Path, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In one process of a paired comparison: run the tests that it is to run, in the order that it is to run them."""
    session = session_so_far(config)
    if session is not None and session.part is not None:
        chosen = session.part.arranged(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Check the marker, and parametrise `conv_problem` and `conv_solver` from options and marker."""
    is_marked = metafunc.definition.get_closest_marker("miopen_perf") is not None
    if is_marked or "conv_problem" in metafunc.fixturenames or "conv_solver" in metafunc.fixturenames:
        from pytest_miopen_perf.session.parametrize import parametrize

        parametrize(metafunc, _session_of_collection(metafunc.config))


@pytest.fixture(scope="session")
def miopen_perf_device(request: pytest.FixtureRequest) -> Device:
    """The opened device; a back-end that is not available is a skip with its reason."""
    from pytest_miopen_perf.session.harness import skip_unavailable, told_in_one_sentence

    with skip_unavailable(), told_in_one_sentence():
        return _session_of_test(request.config).device()


@pytest.fixture
def miopen_perf(request: pytest.FixtureRequest, miopen_perf_device: Device) -> MiopenPerf:  # noqa: ARG001 - opened first
    """The harness of this test: call it with a problem, get a checked and timed `Result`."""
    from pytest_miopen_perf.session.harness import MiopenPerf, told_in_one_sentence

    with told_in_one_sentence():
        return MiopenPerf.for_test(session_of(request.config), request.node)


@pytest.fixture
def miopen_driver(request: pytest.FixtureRequest) -> MiopenDriver:
    """The real MIOpenDriver: call it with a problem, get its `Result`; without one the test is skipped."""
    from pytest_miopen_perf.items.driver import MiopenDriver

    return MiopenDriver.for_test(_session_of_test(request.config), request.node)


@pytest.fixture
def miopen_perf_code_object(request: pytest.FixtureRequest) -> CodeObjects:
    """What a kernel takes on AMD targets, with no GPU: call it with HIP text and an entry, get figures and verdicts."""
    from pytest_miopen_perf.static_gate.fixture import CodeObjects

    return CodeObjects.for_test(request.config, request.node)


@pytest.fixture
def performance_logger(request: pytest.FixtureRequest) -> Generator[PerformanceLogger]:
    """A logger at the session's level whose lines go where the session's log goes."""
    from pytest_miopen_perf.session.harness import test_logger

    with test_logger(_session_of_test(request.config), request.node) as logger:
        yield logger


def _given(request: pytest.FixtureRequest, what: str) -> object:
    if not hasattr(request, "param"):
        raise pytest.fail.Exception(
            f"{request.node.nodeid} asks for {what} but no problems are named; "
            "give the marker miopen_perf(problems=[...]) or the option --miopen-perf-problems",
            pytrace=False,
        )
    return request.param


@pytest.fixture
def conv_problem(request: pytest.FixtureRequest) -> ConvProblem:
    """One problem of the marker or of `--miopen-perf-problems`."""
    return _given(request, "conv_problem")  # type: ignore[return-value]


@pytest.fixture
def conv_solver(request: pytest.FixtureRequest) -> str:
    """The name of one solver that serves the direction of `conv_problem`."""
    return _given(request, "conv_solver")  # type: ignore[return-value]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail the test for the time of its cases, once it has come to its end."""
    __tracebackhide__ = True
    yield
    session = session_so_far(item.config)
    if session is not None:
        session.check_verdicts()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what a test measured on its teardown report, as builtins; let the summary's line begin with our sentence."""
    report = yield
    if report.failed and call.excinfo is not None:
        _tell_sentence(report, call.excinfo.value)
    session = session_so_far(item.config)
    if call.when == "teardown" and session is not None:
        if cases := session.take_cases():
            report.__dict__["miopen_perf"] = cases
        if skipped := session.take_skipped():
            report.__dict__["miopen_perf_skipped"] = skipped
    return report


def _tell_sentence(report: pytest.TestReport, error: BaseException) -> None:
    """A line of the summary has room for the error's class or for what it says."""
    from pytest_miopen_perf.errors import PerfError

    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and isinstance(error, PerfError):
        crash.message = str(error)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the device."""
    session = session_so_far(config)
    if session is not None:
        session.close()
