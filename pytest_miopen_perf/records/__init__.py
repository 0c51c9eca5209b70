"""The lines of MIOpen's JSON performance log as frozen data, to their text and back.

One class a line kind, its fields named as the keys on the wire, in their order. Numbers leave with the six significant
digits of a C++ stream, so a record that is read back holds rounded figures; written again it gives the same line.

Where MIOpen's writer is at fault this one is not: strings are real JSON escapes of their code points, there is never a
`nan` or `inf`, and a config without times has `exec_number` 0, not 2^64-1. What MIOpen itself writes is read as well.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from pytest_miopen_perf.records.json_text import json_string, json_times
from pytest_miopen_perf.records.run_records import (
    NO_ERROR_FIGURE,
    BuildInfo,
    CommandLine,
    ErrorLine,
    FindTime,
    Performance,
    PrngSeed,
    SystemInfo,
    Verification,
)
from pytest_miopen_perf.schema import validate
from pytest_miopen_perf.statistics import format_g6, measured_ms, miopen_statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "NO_ERROR_FIGURE",
    "BuildInfo",
    "CommandLine",
    "ConfigRecord",
    "ErrorLine",
    "FindTime",
    "KernelPhase",
    "KernelRecord",
    "LogRecord",
    "Performance",
    "PrngSeed",
    "SolutionRecord",
    "SystemInfo",
    "Verification",
    "from_json",
    "is_recorded",
    "is_transformation_kernel",
    "shows_kernels",
    "validate",
    "visible",
]

_TRANSFORMATION_WORDS = (
    *("transpose", "Transpose", "transform", "Transform", "SubTensor", "reorder", "Reorder"),
    *("Im2d2Col", "Im3d2Col", "Col2Im2d", "Col2Im3d", "Im2Col", "Col2Im"),
    *("NCHW2CNHW", "CNHW2NCHW", "NCHW2Vec", "NCHWVec", "MN2NM"),
)


class KernelPhase(enum.Enum):
    """What a kernel is launched for; the value is the word on the wire."""

    UNKNOWN = "unknown"
    EXECUTION = "execution"
    VALIDATION = "validation"
    SOLVER_TUNING = "solver_tuning"
    TUNING = "tuning"


_PHASES = {phase.value: phase for phase in KernelPhase}


def is_transformation_kernel(name: str) -> bool:
    """Whether MIOpen takes the kernel of that name for a layout change, an im2col, a fill or a cast; case matters."""
    return any(word in name for word in _TRANSFORMATION_WORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRecord:
    """All launches of one kernel in one config, in launch order, warm-ups included."""

    kernel_name: str
    time_executions_ms: tuple[float, ...]
    is_transformation: bool

    def text(self) -> str:
        """The JSON object."""
        return (
            f'{{"kernel_name":{json_string(self.kernel_name)},"time_executions_ms":{json_times(self.time_executions_ms)},'
            f'"is_transformation":{"true" if self.is_transformation else "false"}}}'
        )

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> KernelRecord:
        """The inverse of `text`, from the decoded object."""
        return KernelRecord(
            kernel_name=data["kernel_name"],
            time_executions_ms=tuple(map(float, data["time_executions_ms"])),
            is_transformation=data["is_transformation"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecord:
    """One performance config of a solution, its times and MIOpen's figures of them.

    Attributes:
        config_name: The main kernel, or the solver where that is not known.
        config_descriptor: MIOpen's text of the config; "" leaves the key out.
        exec_number: 1, or 0 without times (MIOpen writes 2^64-1).
        time_executions_ms: Every time in run order, warm-ups included.
        time_ms: See `statistics.MiopenStatistics`, also for the next three; 0 without times.
        time_std_ms: Deviation.
        time_min_ms: Least.
        time_max_ms: Greatest.
        number_of_transformations: How many kernel names are transformations.
        kernels: The kernels, or None where the level leaves them out.
    """

    config_name: str
    config_descriptor: str = ""
    exec_number: int
    time_executions_ms: tuple[float, ...]
    time_ms: float
    time_std_ms: float
    time_min_ms: float
    time_max_ms: float
    number_of_transformations: int
    kernels: tuple[KernelRecord, ...] | None

    def text(self) -> str:
        """The JSON object."""
        descriptor = f'"config_descriptor":{json_string(self.config_descriptor)},' if self.config_descriptor else ""
        kernels = "null" if self.kernels is None else f"[{','.join([kernel.text() for kernel in self.kernels])}]"
        return (
            f'{{"config_name":{json_string(self.config_name)},{descriptor}"exec_number":{self.exec_number},'
            f'"time_executions_ms":{json_times(self.time_executions_ms)},"time_ms":{format_g6(self.time_ms)},'
            f'"time_std_ms":{format_g6(self.time_std_ms)},"time_min_ms":{format_g6(self.time_min_ms)},'
            f'"time_max_ms":{format_g6(self.time_max_ms)},'
            f'"number_of_transformations":{self.number_of_transformations},"kernels":{kernels}}}'
        )

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ConfigRecord:
        """The inverse of `text`, from the decoded object."""
        # Spelt out, for a log has millions of these: merging dictionaries takes half as long again.
        return ConfigRecord(
            config_name=data["config_name"],
            config_descriptor=data.get("config_descriptor", ""),
            exec_number=data["exec_number"],
            time_executions_ms=tuple(map(float, data["time_executions_ms"])),
            time_ms=float(data["time_ms"]),
            time_std_ms=float(data["time_std_ms"]),
            time_min_ms=float(data["time_min_ms"]),
            time_max_ms=float(data["time_max_ms"]),
            number_of_transformations=data["number_of_transformations"],
            kernels=None if data["kernels"] is None else tuple(map(KernelRecord.from_json, data["kernels"])),
        )

    @staticmethod
    def measured(
        *, solution: str, name: str, descriptor: str = "", times_ms: Iterable[float], kernels: Sequence[KernelRecord]
    ) -> ConfigRecord:
        """The record of one config from what was measured.

        The printed name follows MIOpen: the first kernel launched that is no transformation; the solver where there is
        none, or where that kernel's name is the one that the config was opened with.

        Args:
            solution: The solver's name.
            name: The name that the config was opened with.
            descriptor: MIOpen's text of the config.
            times_ms: Times of the whole solution in run order; see `statistics.measured_ms` for what is skipped.
            kernels: One a name, in the order of their first launches; the record has them in byte order.
        """
        times = measured_ms(times_ms)
        figures = miopen_statistics(times)
        main = next(
            (kernel.kernel_name for kernel in kernels if kernel.kernel_name and not kernel.is_transformation), name
        )
        return ConfigRecord(
            config_name=solution if main == name else main,
            config_descriptor=descriptor,
            exec_number=figures.exec_number if figures else 0,
            time_executions_ms=tuple(times),
            time_ms=figures.time_ms if figures else 0.0,
            time_std_ms=figures.std_ms if figures else 0.0,
            time_min_ms=figures.min_ms if figures else 0.0,
            time_max_ms=figures.max_ms if figures else 0.0,
            number_of_transformations=sum(kernel.is_transformation for kernel in kernels),
            # Code points sort as the bytes of their UTF-8 do.
            kernels=tuple(sorted(kernels, key=lambda kernel: kernel.kernel_name)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionRecord:
    """What one solver did in one phase: one or more configs."""

    KEY: ClassVar[str] = "solution"

    solution: str
    solver_id: int
    workspace_bytes: int
    phase: KernelPhase
    performance_configs: tuple[ConfigRecord, ...]

    def to_line(self) -> str:
        """The line, without its end."""
        configs = ",".join([config.text() for config in self.performance_configs])
        return (
            f'{{"solution":{json_string(self.solution)},"solver_id":{self.solver_id},'
            f'"workspace_bytes":{self.workspace_bytes},"phase":"{self.phase.value}","performance_configs":[{configs}]}}'
        )

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SolutionRecord:
        """The inverse of `to_line`, from the decoded line."""
        return SolutionRecord(
            solution=data["solution"],
            solver_id=data["solver_id"],
            workspace_bytes=data["workspace_bytes"],
            phase=_PHASES[data["phase"]],
            performance_configs=tuple(map(ConfigRecord.from_json, data["performance_configs"])),
        )


LogRecord: TypeAlias = (
    SolutionRecord | CommandLine | PrngSeed | SystemInfo | BuildInfo | FindTime | Performance | Verification | ErrorLine
)
"""Any line of the log."""

_KINDS = (
    *(SolutionRecord, CommandLine, PrngSeed, SystemInfo, BuildInfo),
    *(FindTime, Performance, Verification, ErrorLine),
)


def from_json(data: object) -> LogRecord:
    """A record from a decoded line, MIOpen's or ours.

    Raises:
        InvalidRecordError: the object does not fit the schema; the message names the place and the reason.
    """
    validate(data)
    assert isinstance(data, dict), "the schema has no line that is not an object"
    return next(kind for kind in _KINDS if kind.KEY in data).from_json(data)


# --- What a level shows -----------------------------------------------------------------------------------------------


def is_recorded(phase: KernelPhase, level: int) -> bool:
    """Whether solution records of the phase are written: at levels 1 and 2 only of the timed run, above them all."""
    return level > 2 or (level > 0 and phase is KernelPhase.EXECUTION)


def shows_kernels(level: int) -> bool:
    """Whether configs list their kernels: at levels 2 and 4 exactly; any number above acts as 3, as in MIOpen."""
    return level in (2, 4)


def visible(record: LogRecord, level: int) -> LogRecord | None:
    """What is written of a record at a level; None when nothing is."""
    if not isinstance(record, SolutionRecord):
        return record if level > 0 else None
    if not is_recorded(record.phase, level):
        return None
    if shows_kernels(level):
        return record
    return replace(
        record, performance_configs=tuple(replace(config, kernels=None) for config in record.performance_configs)
    )
