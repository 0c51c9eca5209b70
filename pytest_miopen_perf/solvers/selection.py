"""Choosing solvers by name, as a user writes it: exact names or shell patterns; and which configs are theirs."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import PerformanceConfig, Solver


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
