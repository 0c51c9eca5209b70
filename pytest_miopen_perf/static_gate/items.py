"""A test a kernel, config and target: it compiles, and fails for what it takes."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pytest_miopen_perf.errors import PerfError, VerdictError
from pytest_miopen_perf.items.own_errors import OwnItem
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.session.harness import skip_unavailable
from pytest_miopen_perf.session.marker import marker_arguments
from pytest_miopen_perf.static_gate.plugin import MARK, static_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pytest_miopen_perf.codeobject.cases import StaticCase
    from pytest_miopen_perf.solvers import Solver
    from pytest_miopen_perf.static_gate.planning import PlannedKernel
    from pytest_miopen_perf.static_gate.plugin import StaticPlugin

_OF_THE_RUN = ("skipif", "xfail", "usefixtures", "parametrize")
"""Marks of a test function that speak of executing it; the others select, and hold for its kernels too."""


class StaticItem(OwnItem):
    """One kernel of a case, with one config, for one target."""

    def __init__(
        self,
        *,
        name: str,
        parent: pytest.Collector,
        case: StaticCase,
        where: tuple[os.PathLike[str] | str, int | None],
        marks: Iterable[pytest.Mark] = (),
    ) -> None:
        # From its text, as `--lf` reads it from the cache: newer versions of pytest take an id apart at its bracket.
        super().__init__(name, parent, nodeid=f"{parent.nodeid}::{name}")
        self.case = case
        self._where = where
        self.own_markers += [mark for mark in marks if mark.name not in _OF_THE_RUN]
        self.add_marker(MARK)

    def runtest(self) -> None:
        """Compile, read and judge; nothing is executed.

        Raises:
            VerdictError: the kernel is worse than its baseline, or faulty.
        """
        __tracebackhide__ = True
        static = static_of(self.config).session
        with skip_unavailable():
            judgement = static.judge_item(self)
        static.keep(self.nodeid, judgement)
        if judgement.now is not None:
            self.user_properties += [
                (f"miopen_perf_static_{name}", value) for name, value in asdict(judgement.now).items()
            ]
        try:
            static.check()
        except VerdictError as error:
            raise VerdictError(f"{error}\nreproduce: {self._command()}") from None

    def _command(self) -> str:
        settings = static_of(self.config).session.perf.settings
        options = {
            "static": self.case.target,
            "static-compare": settings.static_compare,
            "static-limits": settings.static_limits,
            "static-configs": settings.static_configs if settings.static_configs != "known" else None,
            "config": settings.config,
            "db": settings.db_dir,
            "kernels": settings.kernels_dir,
        }
        words = [f"--miopen-perf-{name}={value}" for name, value in options.items() if value is not None]
        return shlex.join(["pytest", self.nodeid, *words])

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Where the case stands that it belongs to."""
        return *self._where, self.name


def items_of_functions(plugin: StaticPlugin, functions: Iterable[pytest.Function]) -> Iterator[StaticItem]:
    """The kernels of test functions with the parameter `conv_problem`, each kernel once.

    They stand beside the function's other variants, as `test_conv[static-gfx942-...]`.
    """
    seen: set[str] = set()
    for function in functions:
        parameters = function.callspec.params if hasattr(function, "callspec") else {}
        problem, parent = parameters.get("conv_problem"), function.parent
        if not isinstance(problem, ConvProblem) or parent is None:
            continue
        for words, case in _planned(plugin, problem, partial(_solvers_of, plugin, function, parameters)):
            name = f"{function.originalname}[static-{case.target}-{problem}-{words}]"
            if name not in seen:
                seen.add(name)
                where = function.reportinfo()[:2]
                yield StaticItem.from_parent(parent, name=name, case=case, where=where, marks=function.own_markers)


def _planned(
    plugin: StaticPlugin, problem: ConvProblem, solvers: Callable[[], Iterable[Solver]]
) -> list[PlannedKernel]:
    """The kernels of a case; a wrong solver or an unreadable data base is an error of the file's collection."""
    try:
        return list(plugin.session.planned(problem, solvers()))
    except PerfError as error:
        raise pytest.Collector.CollectError(str(error)) from error


def _solvers_of(
    plugin: StaticPlugin, function: pytest.Function, parameters: Mapping[str, object]
) -> tuple[Solver, ...]:
    perf, named = plugin.session.perf, parameters.get("conv_solver")
    if named is not None:
        return (perf.solver_named(str(named)),)
    return perf.solvers_of(marker_arguments(function).get("solvers", ()))


def items_of_line(
    plugin: StaticPlugin, file: pytest.File, name: str, problem: ConvProblem, line_number: int
) -> Iterator[StaticItem]:
    """The kernels of a problem of a workload file, as `fp32-F-...[static-gfx942-...]`."""
    for words, case in _planned(plugin, problem, plugin.session.perf.solvers):
        yield StaticItem.from_parent(
            file,
            name=f"{name}[static-{case.target}-{words}]",
            case=case,
            where=(file.path, line_number - 1),
        )
