"""Which problems are swept: two lists in full, and of the others a seeded sample in which no kind is missing."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING

from pytest_miopen_perf.problems.workload import bundled, bundled_path, distinct, read_workload

from .kinds import stratum_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pytest_miopen_perf.problem import ConvProblem

    from .kinds import Stratum

IN_FULL = ("smoke", "edge_shapes")
"""Bundled lists of which no line is left out."""


def problems_of(lists: Iterable[str]) -> tuple[ConvProblem, ...]:
    """What bundled lists ask for, each problem once; empty convolutions have nothing to compute."""
    return _problems(bundled_path(name) for name in lists)


def swept_problems(files: Sequence[Path], count: int, seed: int) -> tuple[ConvProblem, ...]:
    """The lists in full and a sample of at least `count` problems of all other bundled lists and of `files`."""
    whole = problems_of(IN_FULL)
    others = (bundled_path(name) for name in bundled() if name not in IN_FULL)
    rest = [problem for problem in _problems((*others, *files)) if problem not in set(whole)]
    return (*whole, *stratified(rest, count, seed))


def stratified(problems: Iterable[ConvProblem], count: int, seed: int) -> tuple[ConvProblem, ...]:
    """At least `count` problems: one of each stratum, then one more of each that has more, and so on.

    Strata and the problems of each come in an order that only the seed decides: a sweep that is ended early has seen
    something of every kind.
    """
    strata: dict[Stratum, list[ConvProblem]] = defaultdict(list)
    for problem in problems:
        strata[stratum_of(problem)].append(problem)
    drawn = [_shuffled(strata[stratum], seed) for stratum in random.Random(seed).sample(sorted(strata), len(strata))]
    chosen: list[ConvProblem] = []
    for turn in range(max(map(len, drawn), default=0)):
        if turn and len(chosen) >= count:
            break
        chosen += [several[turn] for several in drawn if turn < len(several)][: count - len(chosen) if turn else None]
    return tuple(chosen)


def _shuffled(problems: list[ConvProblem], seed: int) -> list[ConvProblem]:
    ordered = sorted(problems, key=str)
    random.Random(seed).shuffle(ordered)
    return ordered


def _problems(paths: Iterable[Path]) -> tuple[ConvProblem, ...]:
    several = distinct(problem for path in paths for problem in read_workload(path).problems)
    return tuple(problem for problem in several if not problem.is_empty)
