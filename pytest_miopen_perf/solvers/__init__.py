"""The contract of a solver, its performance configs and solutions, and the table of built-in solvers.

A solver is stateless. It answers in words whether it can compute a problem, and turns problem and config into a
`Solution`, which is plain data: kernels to compile and launches to make.
"""

from __future__ import annotations

import enum
import importlib
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Protocol, get_type_hints

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import Pointer, Slot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typing_extensions import Self

    from pytest_miopen_perf.launch import DeviceInfo, Launch
    from pytest_miopen_perf.problem import ConvProblem, Direction

_SHOWN = 120
"""Characters of a text that is no config in a message: a damaged data base may have a megabyte of them."""


class Algorithm(enum.Enum):
    """MIOpen's convolution algorithms; the value is the number in its logs."""

    GEMM = 0
    DIRECT = 1
    FFT = 2
    WINOGRAD = 3
    IMPLICIT_GEMM = 5


@dataclass(frozen=True, slots=True)
class PerformanceConfig:
    """The tunable parameters of a solver: a frozen dataclass of ints and strings. This one has none.

    Its text is MIOpen's: the values in field order, joined by commas, without names.
    """

    def serialize(self) -> str:
        """MIOpen's text of this config; "" when there is nothing to tune."""
        return ",".join(str(getattr(self, f.name)) for f in fields(self))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The inverse of `serialize`; a last field that is a text may hold commas, as the kernel names of CK do.

        Raises:
            ConfigError: the text does not fit; the message names the field.
        """
        names = [f.name for f in fields(cls)]
        types = get_type_hints(cls)
        takes_rest = bool(names) and types[names[-1]] is str
        words = text.split(",", len(names) - 1 if takes_rest else -1) if text else []
        if len(words) != len(names):
            raise ConfigError(
                f"{cls.__name__} {text[:_SHOWN]!r} has {len(words)} values where {len(names)} belong: "
                f"{', '.join(names)}"
            )
        values: dict[str, int | str] = {}
        for name, word in zip(names, words, strict=True):
            try:
                values[name] = types[name](word)
            except ValueError as error:
                raise ConfigError(
                    f"{cls.__name__} {text[:_SHOWN]!r}: {name} is {word[:_SHOWN]!r}, not an integer"
                ) from error
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """How one solver computes one problem with one config, as plain data."""

    solver: str
    solver_id: int
    config: PerformanceConfig
    workspace_bytes: int
    launches: tuple[Launch, ...]

    @property
    def uses_workspace(self) -> bool:
        """Whether any launch is given the workspace: with some configs a solver needs none of what it declares."""
        arguments = (argument for launch in self.launches for argument in launch.args)
        return any(isinstance(argument, Pointer) and argument.slot is Slot.WORKSPACE for argument in arguments)

    def with_kernels(self, folder: Path) -> Solution:
        """The same with kernel texts of another folder; kernels that are named by absolute path stay."""
        launches = (
            replace(launch, kernel=replace(launch.kernel, file=str(folder / launch.kernel.file)))
            for launch in self.launches
        )
        return replace(self, launches=tuple(launches))


class Solver(Protocol):
    """An algorithm for convolutions. Problems that reach it are canonical: never transposed, never empty."""

    @property
    def name(self) -> str:
        """The durable identity, in logs and data bases."""

    @property
    def solver_id(self) -> int:
        """A number of our own range, 10001 and up, that no solver of MIOpen has."""

    @property
    def algorithm(self) -> Algorithm:
        """The family, in MIOpen's words."""

    @property
    def directions(self) -> frozenset[Direction]:
        """The directions of canonical problems that it may serve, whatever the device."""

    @property
    def is_deterministic(self) -> bool:
        """Whether two runs give the same bits."""

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why this solver cannot compute the problem on the device, in words; None when it can."""

    def workspace_bytes(self, problem: ConvProblem) -> int:
        """Bytes of workspace, whatever the config."""

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> PerformanceConfig:
        """A config that is always valid."""

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[PerformanceConfig]:
        """Every config that is valid for the problem on the device; the default is among them."""

    def parse_config(self, text: str) -> PerformanceConfig:
        """A config from MIOpen's text.

        Raises:
            ConfigError: the text does not fit.
        """

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """The kernels and launches that compute the problem."""


_MODULES = (
    "pytest_miopen_perf.solvers.naive",
    "pytest_miopen_perf.solvers.implicit_gemm",
    "pytest_miopen_perf.solvers.direct_1x1",
    "pytest_miopen_perf.solvers.depthwise",
    "pytest_miopen_perf.solvers.depthwise_wrw",
    "pytest_miopen_perf.solvers.im2col_gemm",
    "pytest_miopen_perf.solvers.winograd",
    "pytest_miopen_perf.solvers.winograd_wrw",
    "pytest_miopen_perf.solvers.implicit_gemm_matrix",
)


def builtin_solvers() -> tuple[Solver, ...]:
    """Every built-in solver, in the order of the ids; each module lists its own under `SOLVERS`."""
    found: list[Solver] = []
    for module in _MODULES:
        found += importlib.import_module(module).SOLVERS
    return tuple(sorted(found, key=lambda solver: solver.solver_id))
