"""What a search tries, and where it starts: a grid of configs, of which a predicate says what suits a problem."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.solvers.limits import most_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_miopen_perf.launch import DeviceInfo

Config = TypeVar("Config", bound=PerformanceConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSpace(Generic[Config]):
    """Every combination of some values of a config's fields.

    An invalidity is a function from a config to why it does not suit, in words; None when it does.

    Attributes:
        kind: The class of the configs.
        axes: The values of each field, in field order.
        defaults: Configs of the space, the best guess first; the last one is the one that suits most problems.
    """

    kind: type[Config]
    axes: tuple[tuple[int, ...], ...]
    defaults: tuple[Config, ...]

    def __iter__(self) -> Iterator[Config]:
        return itertools.starmap(self.kind, itertools.product(*self.axes))

    def valid(self, invalidity: Callable[[Config], str | None]) -> Iterator[Config]:
        """The configs that suit."""
        return (config for config in self if invalidity(config) is None)

    def default(self, invalidity: Callable[[Config], str | None]) -> Config:
        """The first default that suits, or else the last config that does; the last default when none does."""
        for config in (*self.defaults, *reversed(list(self))):
            if invalidity(config) is None:
                return config
        return self.defaults[-1]

    def refusal(self, invalidity: Callable[[Config], str | None]) -> str | None:
        """Why no config suits, said of the last default; None when one suits."""
        return invalidity(self.default(invalidity))


def launch_invalidity(block_size: int, blocks: int, info: DeviceInfo) -> str | None:
    """Why a grid of that many blocks of that size cannot be launched on a device; None when it can."""
    if block_size > info.max_block or block_size % info.wavefront:
        return f"a block of {block_size} does not suit waves of {info.wavefront}, at most {info.max_block} together"
    return f"{blocks} blocks are more than a grid may have" if blocks > most_blocks(info, block_size) else None
