"""What tells rows of one problem apart that look alike: the same solver with the same config, measured otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.results import Result


def row_labels(cases: Sequence[Case]) -> list[str]:
    """For each case what others that look like it do not have; "" where none looks like it.

    Args:
        cases: Of one problem.
    """
    looks = [_look(case) for case in cases]
    return [
        _label(case, [other for other, its in zip(cases, looks, strict=True) if its == look])
        for case, look in zip(cases, looks, strict=True)
    ]


def _look(case: Case) -> tuple[str, ...]:
    result = case.result
    return (case.message,) if result is None else (result.solver, result.config, result.config_origin)


def _label(case: Case, alike: Sequence[Case]) -> str:
    """How it was measured, where that differs; where that is not enough, also the test, or the line of the log."""
    shared = [_measured(other) for other in alike]
    own = _measured(case)
    words = [word for index, word in enumerate(own) if any(other[index] != word for other in shared)]
    if shared.count(own) > 1 and any(other.nodeid != case.nodeid for other in alike):
        words.append(f"from {case.nodeid}")
    return "; ".join(words)


def _measured(case: Case) -> list[str]:
    return [] if case.result is None else [tell(case.result) for tell in _TRAITS]


def _caches(result: Result) -> str:
    return f"caches {result.cache_mode or 'not known'}"


def _launches(result: Result) -> str:
    return f"launches {result.circumstances.launch_mode or 'not known'}"


def _data(result: Result) -> str:
    known = [result.data or "", "" if result.seed is None else f"seed {result.seed}"]
    return f"data {', '.join(filter(None, known)) or 'not known'}"


def _device(result: Result) -> str:
    return f"device {' '.join(filter(None, (result.device.name, result.device.uid)))}"


_TRAITS: tuple[Callable[[Result], str], ...] = (_caches, _launches, _data, _device)
