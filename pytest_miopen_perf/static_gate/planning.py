"""Which kernels of a problem are looked at: every solver that applies, with the configs that the options choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.codeobject.architectures import planned_device
from pytest_miopen_perf.codeobject.cases import StaticCase, planned_cases
from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.solvers.selection import is_valid_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import TypeAlias

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.solvers import PerformanceConfig, Solver

    Known: TypeAlias = Callable[[str, str, ConvProblem], str | None]
    """The tuned config of a target, a solver's name and a problem; None where none is known."""


class PlannedKernel(NamedTuple):
    """A kernel, and what tells it from the others of its problem in the id of a test."""

    words: str
    case: StaticCase


def planned_kernels(
    problem: ConvProblem, solvers: Iterable[Solver], targets: Iterable[str], settings: Settings, known: Known
) -> Iterator[PlannedKernel]:
    """The kernels that the solvers would launch on each target; none of a problem that is empty.

    A solver that refuses the problem on a target, or that a given config does not suit, has no kernel there.

    Args:
        problem: Of a case.
        solvers: Who may compute it.
        targets: Target IDs of tabled architectures.
        settings: A given config, which configs otherwise, and the folder of kernel texts.
        known: Tells tuned configs.
    """
    if problem.empty_reason:
        return
    listed = list(solvers)
    for target in targets:
        for solver in listed:
            yield from _of_solver(solver, problem, target, settings, known)


def _of_solver(
    solver: Solver, problem: ConvProblem, target: str, settings: Settings, known: Known
) -> Iterator[PlannedKernel]:
    plain, info = problem.canonical(), planned_device(target)
    if plain.direction not in solver.directions or solver.refusal(plain, info) is not None:
        return
    for word, config in _configs(solver, plain, info, settings, known):
        for case in planned_cases(solver, problem, [target], config, settings.kernels_dir):
            yield PlannedKernel("-".join(filter(None, (solver.name, word, case.name))), case)


def _configs(
    solver: Solver, plain: ConvProblem, info: DeviceInfo, settings: Settings, known: Known
) -> Iterator[tuple[str, PerformanceConfig]]:
    """Configs, each with the word for it in an id."""
    default = solver.default_config(plain, info)
    if not default.serialize():
        yield "", default
    elif settings.config is not None:
        yield from (("given", config) for config in _given(solver, plain, info, settings.config))
    elif settings.static_configs == "all":
        yield from ((config.serialize(), config) for config in solver.configs(plain, info))
    else:
        yield "default", default
        tuned = known(info.arch, solver.name, plain)
        if tuned not in (None, default.serialize()):
            yield "tuned", solver.parse_config(tuned)


def _given(solver: Solver, plain: ConvProblem, info: DeviceInfo, text: str) -> list[PerformanceConfig]:
    try:
        config = solver.parse_config(text)
    except ConfigError:  # it is meant for another of the solvers
        return []
    return [config] if is_valid_config(solver, plain, info, config) else []


def nothing_known(target: str, solver: str, problem: ConvProblem) -> None:
    """There is no data base of tuned configs."""


def known_in(folder: Path, solvers: Iterable[Solver]) -> Known:
    """What a data base of tuned configs knows; each target has files of its own there."""
    from pytest_miopen_perf.database.store import TunedStore, config_validator

    listed = list(solvers)
    stores: dict[str, TunedStore] = {}

    def tuned(target: str, solver: str, problem: ConvProblem) -> str | None:
        if target not in stores:
            info = planned_device(target)
            stores[target] = TunedStore(folder, info, validate=config_validator(listed, info))
        return stores[target].config(solver, problem)

    return tuned
