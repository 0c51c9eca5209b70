"""Choosing solvers by name, as a user writes it: exact names or shell patterns."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_miopen_perf.solvers import Solver


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
