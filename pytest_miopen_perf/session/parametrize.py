"""The parameters `conv_problem` and `conv_solver`: from the command line, else from the test's marker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_miopen_perf.errors import PerfError
from pytest_miopen_perf.home_folder import without_tilde
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.problems import workload
from pytest_miopen_perf.session.marker import marker_arguments, settings_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from pytest_miopen_perf.problems.workload import Workload
    from pytest_miopen_perf.session import PerfSession
    from pytest_miopen_perf.solvers import Solver


def parametrize(metafunc: pytest.Metafunc, session: PerfSession) -> None:
    """Parametrise one test; without problems its fixtures say what is missing.

    Raises:
        pytest.Collector.CollectError: the marker or a list of problems is wrong.
    """
    try:
        arguments = checked_marker(metafunc.definition, session)
        what = session.settings.problems or arguments.get("problems", ())
        problems = named_problems(what, metafunc.definition.path, session.note_skipped)
        solvers = session.solvers_of(arguments.get("solvers", ()))
    except PerfError as error:
        raise pytest.Collector.CollectError(str(error)) from error
    wanted = [name for name in ("conv_problem", "conv_solver") if name in metafunc.fixturenames]
    if wanted == ["conv_solver"]:
        names = [solver.name for solver in solvers]
        _parametrize_solvers(metafunc, "conv_solver", names, names, solvers)
    elif problems and wanted == ["conv_problem"]:
        metafunc.parametrize("conv_problem", problems, ids=str, indirect=True)
    elif problems:
        pairs = [
            (problem, solver.name)
            for problem in problems
            for solver in solvers
            if problem.canonical().direction in solver.directions
        ]
        ids = [f"{problem}-{name}" for problem, name in pairs]
        _parametrize_solvers(metafunc, "conv_problem,conv_solver", pairs, ids, solvers)


def _parametrize_solvers(
    metafunc: pytest.Metafunc, names: str, values: Sequence[object], ids: Sequence[str], solvers: Sequence[Solver]
) -> None:
    """Parametrise; where nothing is left, the test is skipped with our reason in place of pytest's."""
    if values:
        metafunc.parametrize(names, values, ids=ids, indirect=True)
    else:
        reason = (
            f"{', '.join(solver.name for solver in solvers)}: none computes the direction of a problem of this test"
            if solvers
            else "--miopen-perf-solver leaves none of the solvers that the marker of this test names"
        )
        nothing = pytest.param(*[None] * len(names.split(",")), id="no-solver", marks=pytest.mark.skip(reason=reason))
        metafunc.parametrize(names, [nothing], indirect=True)


def checked_marker(definition: pytest.Item, session: PerfSession) -> dict[str, Any]:
    """The arguments of a test's marker, names and values checked.

    Raises:
        SettingsError: one is wrong.
    """
    arguments = marker_arguments(definition)
    settings_with(session.settings, arguments, definition.nodeid)
    return arguments


def named_problems(
    what: Iterable[str | ConvProblem], test_file: Path, note: Callable[[Workload], None]
) -> list[ConvProblem]:
    """Problems by name, each once: ConvProblem objects, MIOpenDriver lines, bundled lists, and workload files.

    Args:
        what: The names. A relative path is looked up beside the test file first, then in the current folder.
        test_file: The test file.
        note: Is told of each list that is read, which may have lines that cannot be run.

    Raises:
        WorkloadError: no such list or file, or it holds no convolution.
        DriverLineError: a line is wrong.
    """
    found: dict[ConvProblem, None] = {}
    for text in what:
        if isinstance(text, ConvProblem):
            problems: Iterable[ConvProblem] = (text,)
        elif workload.is_command(text):
            problems = ConvProblem.from_driver(text)
        else:
            found_list = workload.read_workload(_workload_path(text, test_file))
            note(found_list)
            problems = found_list.problems
        found |= dict.fromkeys(problems)
    return list(found)


def _workload_path(text: str, test_file: Path) -> Path:
    for path in (test_file.parent / text, without_tilde(text)):
        if path.is_file():
            return path
    return workload.bundled_path(text)
