"""This project's solvers, for records of data bases that they stand in beside MIOpen's."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import ConfigError, DatabaseKeyError
from pytest_miopen_perf.problems.db_key import parse_find_db_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_miopen_perf.solvers import Solver


def own_solver(name: str) -> Solver | None:
    """The built-in solver of that name, if there is one."""
    return _by_name().get(name)


@functools.cache
def _by_name() -> Mapping[str, Solver]:
    from pytest_miopen_perf.solvers import builtin_solvers

    return {solver.name: solver for solver in builtin_solvers()}


def own_config_fault(solver: Solver, config: str) -> str:
    """Why a text is no config of a solver, in words; "" when it is one."""
    try:
        solver.parse_config(config)
    except ConfigError as error:
        return str(error)
    return ""


def own_workspace_bytes(name: str, find_key: str) -> tuple[int, ...]:
    """The workspace of a built-in solver for the problem of a key; empty for other solvers and other texts."""
    solver = own_solver(name)
    if solver is None:
        return ()
    try:
        problem = parse_find_db_key(find_key)
    except DatabaseKeyError:
        return ()
    return () if problem.is_empty else (solver.workspace_bytes(problem.canonical()),)
