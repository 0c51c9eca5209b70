"""The parameters `conv_problem` and `conv_solver`: from the command line, else from the test's marker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_miopen_perf.errors import PerfError
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.problems import workload
from pytest_miopen_perf.session.harness import marker_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pytest_miopen_perf.problems.workload import Workload
    from pytest_miopen_perf.session import PerfSession


def parametrize(metafunc: pytest.Metafunc, session: PerfSession) -> None:
    """Parametrise one test; without problems its fixtures say what is missing.

    Raises:
        pytest.Collector.CollectError: the marker or a list of problems is wrong.
    """
    try:
        arguments = marker_arguments(metafunc.definition)
        what = session.settings.problems or arguments.get("problems", ())
        problems = named_problems(what, metafunc.definition.path, session.note_skipped)
        solvers = session.solvers_of(arguments.get("solvers", ()))
    except PerfError as error:
        raise pytest.Collector.CollectError(str(error)) from error
    wanted = [name for name in ("conv_problem", "conv_solver") if name in metafunc.fixturenames]
    if wanted == ["conv_solver"]:
        names = [solver.name for solver in solvers]
        metafunc.parametrize("conv_solver", names, ids=names, indirect=True)
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
        metafunc.parametrize("conv_problem,conv_solver", pairs, ids=ids, indirect=True)


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
        elif _is_command(text):
            problems = ConvProblem.from_driver(text)
        else:
            found_list = workload.read_workload(_workload_path(text, test_file))
            note(found_list)
            problems = found_list.problems
        found |= dict.fromkeys(problems)
    return list(found)


def _is_command(text: str) -> bool:
    """A MIOpenDriver line has flags; the name of a list or the path of a file has none."""
    return " -" in text


def _workload_path(text: str, test_file: Path) -> Path:
    for path in (test_file.parent / text, Path(text).expanduser()):
        if path.is_file():
            return path
    return workload.bundled_path(text)
