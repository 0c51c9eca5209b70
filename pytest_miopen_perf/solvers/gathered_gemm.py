"""What solvers share whose kernels see a convolution as the product of `kernels/include/gathered_gemm.h`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig, Solution
from pytest_miopen_perf.solvers.limits import INT_LIMIT, position_refusal
from pytest_miopen_perf.solvers.one_direction import OneDirection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo, Launch
    from pytest_miopen_perf.problem import ConvProblem

ConfigT = TypeVar("ConfigT", bound=PerformanceConfig)

_COUNT_LIMIT = INT_LIMIT // 2
"""Below it, the kernels' 32-bit numbers have room for a tile beyond the end."""


@dataclass(frozen=True, slots=True)
class GemmShape:
    """The matrix product of a group: C (m, n) = A (m, k) B (k, n), and how many groups there are."""

    m: int
    n: int
    k: int
    groups: int

    def tiles(self, rows: int, columns: int) -> int:
        """How many tiles of so many rows and columns cover the products of all groups."""
        return -(-self.m // rows) * -(-self.n // columns) * self.groups


def gemm_shape(problem: ConvProblem) -> GemmShape:
    """The product that computes a canonical problem, in each direction as `gathered_gemm.h` has it."""
    taps = math.prod(problem.filter)
    c, k = problem.c // problem.groups, problem.k // problem.groups
    if problem.direction is Direction.FORWARD:
        return GemmShape(k, problem.n * math.prod(problem.output), c * taps, problem.groups)
    if problem.direction is Direction.BACKWARD_DATA:
        return GemmShape(c, problem.n * math.prod(problem.spatial), k * taps, problem.groups)
    return GemmShape(k, c * taps, problem.n * math.prod(problem.output), problem.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredGemm(OneDirection, ABC, Generic[ConfigT]):
    """An implicit GEMM in one direction: any filter, stride, pad, dilation, groups and layouts.

    Attributes:
        entry: The kernel in the family's file.
    """

    entry: str

    @property
    def algorithm(self) -> Algorithm:
        """Implicit GEMM."""
        return Algorithm.IMPLICIT_GEMM

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[ConfigT]:
        """The configs of the device's space that are valid for the problem."""
        return (config for config in self._space(problem, info) if self._invalidity(problem, info, config) is None)

    def parse_config(self, text: str) -> ConfigT:
        """A config from MIOpen's text, where sums are split with the parts at its end."""
        return self._config_type.parse(text)

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """The launches of kernels that are compiled for the problem and the config.

        Raises:
            ConfigError: the config is of another solver, or not valid for the problem on the device.
        """
        return Solution(
            solver=self.name,
            solver_id=self.solver_id,
            config=config,
            workspace_bytes=self.workspace_bytes(problem),
            launches=self._launches(problem, info, self._checked(problem, info, config)),
        )

    @property
    @abstractmethod
    def _config_type(self) -> type[ConfigT]:
        """What describes a cut into tiles."""

    @abstractmethod
    def _space(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[ConfigT]:
        """What is tried, valid or not; a solver whose sums can be split looks at the problem for it."""

    @abstractmethod
    def _invalidity(self, problem: ConvProblem, info: DeviceInfo, config: ConfigT) -> str | None:
        """Why a config cannot be used; None when it can."""

    @abstractmethod
    def _launches(self, problem: ConvProblem, info: DeviceInfo, config: ConfigT) -> tuple[Launch, ...]:
        """The launches of a valid config."""

    def _no_config(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why no config is valid: what is wrong with the last one, which is no worse than any other."""
        reason: str | None = f"{self.name} has no config for this problem"
        for config in self._space(problem, info):
            if (reason := self._invalidity(problem, info, config)) is None:
                return None
        return reason

    def _checked(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> ConfigT:
        if type(config) is not self._config_type:
            raise ConfigError(f"{self.name} does not take {type(config).__name__} {config.serialize()!r}")
        if reason := self._invalidity(problem, info, config):
            raise ConfigError(f"{self.name} cannot use {config.serialize()}: {reason}")
        return config


def size_refusal(name: str, problem: ConvProblem) -> str | None:
    """Why the kernels' counts do not reach that far, in words; None when they do."""
    gemm = gemm_shape(problem)
    channels = gemm.n if problem.direction is Direction.BACKWARD_WEIGHTS else gemm.k
    if channels >= _COUNT_LIMIT:
        return f"{name} counts channels and filter taps together in 32 bits; here they are {channels}"
    return position_refusal(problem)


def flattened(problem: ConvProblem) -> ConvProblem:
    """The same numbers in the same memory, as one row of positions, where no tap reaches beyond its own position."""
    positions = math.prod(problem.spatial)
    is_pointwise = set(problem.filter) == set(problem.stride) == {1} and not any(problem.pad)
    if not is_pointwise or positions >= _COUNT_LIMIT:
        return problem
    return replace(problem, spatial=(*(1,) * (problem.rank - 1), positions))
