"""Choosing solvers by name, as a user writes it: exact names or shell patterns; and which configs are theirs."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, cast

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.solvers import Solver

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import PerformanceConfig

_HOOK = "pytest_miopen_perf_solvers"


def with_offered(builtin: Sequence[Solver], answers: Iterable[object]) -> tuple[Solver, ...]:
    """The built-in solvers, and those that implementations of the hook `pytest_miopen_perf_solvers` offer.

    Args:
        builtin: The built-in ones.
        answers: What each implementation gave.

    Raises:
        SettingsError: an answer is no list of solvers, or two solvers have one name or one number.
    """
    known = [*builtin, *(solver for answer in answers for solver in _offered(answer))]
    for i, solver in enumerate(known):
        for other in known[:i]:
            if solver.name == other.name:
                raise SettingsError(f"two solvers are called {solver.name}; rename the one of {_HOOK}")
            if solver.solver_id == other.solver_id:
                names = f"{other.name} and {solver.name}"
                raise SettingsError(f"{names} have one solver_id, {solver.solver_id}; change that of {_HOOK}")
    return tuple(known)


def _offered(answer: object) -> tuple[Solver, ...]:
    members: list[object]
    try:
        members = list(answer)  # type: ignore[call-overload]  # what is no sequence is refused
    except TypeError:
        raise SettingsError(f"{_HOOK} must give a list of solvers, not {answer!r:.80}") from None
    return tuple(_one_offered(member) for member in members)


def _one_offered(member: object) -> Solver:
    missing = [name for name in vars(Solver) if not (name.startswith("_") or hasattr(member, name))]
    if missing or isinstance(member, type):
        lacks = "it is a class" if isinstance(member, type) else f"it has no {', no '.join(missing)}"
        raise SettingsError(f"{_HOOK} must give a list of solvers, and {member!r:.80} is none: {lacks}")
    solver = cast("Solver", member)
    if type(solver).__hash__ is None:
        raise SettingsError(f"{solver.name} of {_HOOK} cannot be hashed; make its class a frozen dataclass")
    return solver


def select(globs: Iterable[str], solvers: Sequence[Solver]) -> tuple[Solver, ...]:
    """The solvers that some pattern names, in the order of `solvers`; no pattern selects all.

    Raises:
        SettingsError: a pattern names no solver; the message lists what there is.
    """
    patterns = tuple(globs)
    for pattern in patterns:
        if not any(fnmatchcase(solver.name, pattern) for solver in solvers):
            names = ", ".join(solver.name for solver in solvers)
            raise SettingsError(f"no solver is called {pattern!r}; there are: {names}")
    if not patterns:
        return tuple(solvers)
    return tuple(solver for solver in solvers if any(fnmatchcase(solver.name, pattern) for pattern in patterns))


def is_valid_config(solver: Solver, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> bool:
    """Whether a solver computes a canonical problem with a config.

    The default is always valid, also where a solver has nothing to search.
    """
    return config == solver.default_config(problem, info) or config in solver.configs(problem, info)
