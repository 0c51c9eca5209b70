"""What tells rows of one problem apart that look alike: the same solver with the same config, measured otherwise."""

from __future__ import annotations

from collections import defaultdict
from itertools import compress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.results import Result


def row_labels(cases: Sequence[Case]) -> list[str]:
    """For each case what others that look like it do not have; "" where none looks like it.

    Args:
        cases: Of one problem.
    """
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, case in enumerate(cases):
        alike[_look(case)].append(index)
    labels = [""] * len(cases)
    for indices in alike.values():
        for index, label in zip(indices, _labels([cases[index] for index in indices]), strict=True):
            labels[index] = label
    return labels


def _look(case: Case) -> tuple[str, ...]:
    result = case.result
    return (case.message,) if result is None else (result.solver, result.config, result.config_origin)


def _labels(alike: Sequence[Case]) -> Iterator[str]:
    """How each was measured, where that differs; where that is not enough, also the test, or the line of the log."""
    measured = [_measured(case) for case in alike]
    differs = [len(set(words)) > 1 for words in zip(*measured, strict=True)]
    places: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for case, words in zip(alike, measured, strict=True):
        places[words].add(case.nodeid)
    for case, words in zip(alike, measured, strict=True):
        place = [f"from {case.nodeid}"] if len(places[words]) > 1 else []
        yield "; ".join([*compress(words, differs), *place])


def _measured(case: Case) -> tuple[str, ...]:
    return () if case.result is None else tuple(tell(case.result) for tell in _TRAITS)


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
