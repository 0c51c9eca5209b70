"""Hooks that this plugin offers to conftest files and other plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_miopen_perf.results import Result
    from pytest_miopen_perf.solvers import Solver


@pytest.hookspec
def pytest_miopen_perf_solvers(config: pytest.Config) -> Sequence[Solver] | None:
    """Offer own solvers beside the built-in ones.

    A solver satisfies `pytest_miopen_perf.solvers.Solver`; its kernels may be named by absolute path. Names
    and ids must be unique, and ids should be 20000 and up.
    """


@pytest.hookspec
def pytest_miopen_perf_result(item: pytest.Item, result: Result) -> None:
    """Observe a result as soon as it is complete, in the process that measured it."""
