"""A solver made of functions and a list of configs: the short way for kernels of one's own.

A conftest file offers it through the hook `pytest_miopen_perf_solvers`; it is then checked, tuned, timed, logged and
gated like the built-in ones. What such a file needs to write launches can be imported from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Scalar, Slot
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig, Solution
from pytest_miopen_perf.solvers.limits import most_blocks
from pytest_miopen_perf.solvers.one_direction import OneDirection
from pytest_miopen_perf.solvers.own_answers import (
    asked,
    bytes_of,
    check_choices,
    check_function,
    check_identity,
    launches_of,
    refusal_of,
)
from pytest_miopen_perf.solvers.problem_macros import problem_macros

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem

__all__ = [
    "WORKSPACE",
    "Algorithm",
    "Direction",
    "KernelSource",
    "Launch",
    "OwnSolver",
    "PerformanceConfig",
    "Scalar",
    "W",
    "X",
    "Y",
    "problem_macros",
]

X, W, Y = Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT)
"""The tensors of a convolution as arguments of a kernel, whatever the direction: backward data writes X."""

WORKSPACE = Pointer("workspace", Slot.WORKSPACE)
"""The bytes that `OwnSolver.workspace` asks for."""


def _serves_all(problem: ConvProblem, info: DeviceInfo) -> str | None:  # noqa: ARG001  whatever they are
    return None


def _nothing(problem: ConvProblem) -> int:  # noqa: ARG001  whatever it is
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSolver(OneDirection):
    """A solver of one direction.

    Attributes:
        launches: From problem, device and config to the launches, in their order.
        choices: The configs that a search may try, the default first, all of one class. One whose launches do not fit
            the device is left out.
        refuses: Why not this problem on this device, in words; None when it can be computed.
        workspace: Bytes of workspace for a problem, whatever the config.
        algorithm: The family, in MIOpen's words.
        is_deterministic: Whether two runs give the same bits.
    """

    launches: Callable[[ConvProblem, DeviceInfo, PerformanceConfig], Sequence[Launch]]
    choices: tuple[PerformanceConfig, ...] = (PerformanceConfig(),)
    refuses: Callable[[ConvProblem, DeviceInfo], str | None] = _serves_all
    workspace: Callable[[ConvProblem], int] = _nothing
    algorithm: Algorithm = Algorithm.DIRECT
    is_deterministic: bool = True

    def __post_init__(self) -> None:
        """Look at the fields.

        Raises:
            SettingsError: one is not what it must be, such as choices of several classes.
        """
        check_identity(self)
        check_choices(self.name, self.choices)
        for field in ("launches", "refuses", "workspace"):
            check_function(self.name, field, getattr(self, field))

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why not: another direction, what `refuses` says, or launches that fit no device like this."""
        return (
            self.direction_refusal(problem)
            or refusal_of(self.name, asked(self.name, "refuses", self.refuses, problem, info))
            or self._misfit(problem, info)
        )

    def _misfit(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        if any(True for _ in self.configs(problem, info)):
            return None
        return _misfit(self._launches(problem, info, self.choices[0]), info)

    def _launches(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> tuple[Launch, ...]:
        answer = asked(
            self.name, f"launches of the config {config.serialize()!r}", self.launches, problem, info, config
        )
        return launches_of(self.name, answer, self.workspace_bytes(problem))

    def workspace_bytes(self, problem: ConvProblem) -> int:
        """What `workspace` says."""
        return bytes_of(self.name, asked(self.name, "workspace", self.workspace, problem))

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> PerformanceConfig:
        """The first choice whose launches fit the device."""
        return next(self.configs(problem, info))

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[PerformanceConfig]:
        """The choices whose launches fit the device."""
        return (config for config in self.choices if not _misfit(self._launches(problem, info, config), info))

    def parse_config(self, text: str) -> PerformanceConfig:
        """One of the choices, from its text.

        Raises:
            ConfigError: there is no such choice.
        """
        config = type(self.choices[0]).parse(text)
        if config not in self.choices:
            raise ConfigError(f"{text!r} is none of the {len(self.choices)} choices of {self.name}")
        return config

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """What `launches` says."""
        return Solution(
            solver=self.name,
            solver_id=self.solver_id,
            config=config,
            workspace_bytes=self.workspace_bytes(problem),
            launches=self._launches(problem, info, config),
        )


def _misfit(launches: Sequence[Launch], info: DeviceInfo) -> str | None:
    """Why launches do not fit a device; None when they do."""
    for launch in launches:
        (x, y, z), entry = launch.block, launch.kernel.entry
        if (block := x * y * z) > info.max_block:
            return f"blocks of {entry} have {block} work-items, here at most {info.max_block}"
        if launch.shared_bytes > info.lds_bytes:
            return f"{entry} takes {launch.shared_bytes} bytes of shared memory, here at most {info.lds_bytes}"
        most = (most_blocks(info, x), *info.max_grid[1:])
        if any(blocks > limit for blocks, limit in zip(launch.grid, most, strict=True)):
            return f"a grid of {launch.grid} blocks of {entry} is larger than {most}"
    return None
