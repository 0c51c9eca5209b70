"""The 21 variables that steer a Find of MIOpen, as MIOpenDriver logs them beside the time that the Find took.

Ours is steered by none of them; a reader of logs who compares two runs wants to see that they were alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_miopen_perf.perflog import parse_level
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.records.run_records import FindTime

if TYPE_CHECKING:
    from collections.abc import Mapping

FindVariables: TypeAlias = tuple[tuple[str, int | str], ...]
"""Name and logged value of each variable, in MIOpen's order."""

_DIRECTIONS: Mapping[Direction, Literal["forward", "backward-data", "backward-weights"]] = {
    Direction.FORWARD: "forward",
    Direction.BACKWARD_DATA: "backward-data",
    Direction.BACKWARD_WEIGHTS: "backward-weights",
}
_DEFAULTS: Mapping[str, int | str] = {
    "MIOPEN_FIND_MODE": 5,
    "MIOPEN_FIND_ENFORCE": 1,
    "MIOPEN_DEBUG_DISABLE_FIND_DB": 0,
    "MIOPEN_DEBUG_CONV_FFT": 0,
    "MIOPEN_DEBUG_CONV_DIRECT": 0,
    "MIOPEN_DEBUG_CONV_GEMM": 0,
    "MIOPEN_DEBUG_CONV_WINOGRAD": 0,
    "MIOPEN_DEBUG_CONV_IMPLICIT_GEMM": 0,
    "MIOPEN_DEBUG_CONV_IMMED_FALLBACK": 0,
    "MIOPEN_DEBUG_ENABLE_AI_IMMED_MODE_FALLBACK": 0,
    "MIOPEN_DEBUG_FORCE_IMMED_MODE_FALLBACK": 0,
    "MIOPEN_DEBUG_FIND_ONLY_SOLVER": "",
    "MIOPEN_TUNING_PATIENCE": 2**64 - 1,
    "MIOPEN_TUNING_TIME_MS_MAX": 7_200_000,
    "MIOPEN_SEARCH_CUTOFF": 0,
    "MIOPEN_SEARCH_CUTOFF_MUL": 10,
    "MIOPEN_SEARCH_SKIP_PCT": 0,
    "MIOPEN_DEVICE_ARCH": "",
    "MIOPEN_DEVICE_CU": "",
    "MIOPEN_DEBUG_CHECK_SUB_BUFFER_OOB_MEMORY_ACCESS": 0,
    "MIOPEN_LOG_LEVEL": 0,
}
"""Each variable in MIOpen's order, with what is logged while it is not set: 0 for a switch, whatever its default."""


def find_variables(environment: Mapping[str, str]) -> FindVariables:
    """Name and logged value of each variable.

    Numbers are read as by C's `strtoull`, so that a name such as `MIOPEN_FIND_MODE=normal` is logged as 0.
    """
    return tuple((name, _logged(environment.get(name), default)) for name, default in _DEFAULTS.items())


def find_time(direction: Direction, seconds: float, variables: FindVariables) -> FindTime:
    """The line that MIOpenDriver writes after a Find.

    Args:
        direction: Of the problem as it was asked for.
        seconds: Host time of the Find, searches and compiling included.
        variables: As `find_variables` gives them.
    """
    return FindTime(find_time_conv_ms=seconds * 1e3, direction=_DIRECTIONS[direction], environment_variables=variables)


def _logged(text: str | None, default: int | str) -> int | str:
    if text is None:
        return default
    return text if isinstance(default, str) else parse_level(text)
