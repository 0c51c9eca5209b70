"""The lines of the performance log that stand alone: what was asked, on which machine, and what came out.

One class a line kind, its fields named as the keys on the wire. `records` has the solution record, and reads any line.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from sys import float_info
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.problems.driver_stats import row_name
from pytest_miopen_perf.records.json_text import json_object
from pytest_miopen_perf.statistics import float32

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.records.json_text import Value

NO_ERROR_FIGURE = float_info.max
"""MIOpen's `error` of a run that gave nothing to compare; it is printed as 1.79769e+308."""

OWN_SOLVER_IDS = 10001
"""From here on ids are those of this project's solvers; MIOpen has a few hundred."""

PerformanceDirection: TypeAlias = Literal["forward", "backward", "backward-weights"]
"""The words of performance lines; the other line kinds have other words."""

_PERFORMANCE_WORDS: dict[Direction, PerformanceDirection] = {
    Direction.FORWARD: "forward",
    Direction.BACKWARD_DATA: "backward",
    Direction.BACKWARD_WEIGHTS: "backward-weights",
}
_VERIFICATION_WORDS: dict[Direction, Literal["forward", "backward_data", "backward_weights"]] = {
    Direction.FORWARD: "forward",
    Direction.BACKWARD_DATA: "backward_data",
    Direction.BACKWARD_WEIGHTS: "backward_weights",
}
_OUTPUT_KEYS = ("do", "ho", "wo")
_FILTER_KEYS = ("z", "y", "x")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """The MIOpenDriver command that a run answers; the first line of a run."""

    KEY: ClassVar[str] = "command"

    command: str

    def to_line(self) -> str:
        """The line, without its end."""
        return json_object({"command": self.command})

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> CommandLine:
        """The inverse of `to_line`, from the decoded line."""
        return CommandLine(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrngSeed:
    """The seed of the random data, an unsigned 32-bit number."""

    KEY: ClassVar[str] = "prng_seed"

    prng_seed: int

    def to_line(self) -> str:
        """The line, without its end."""
        return json_object({"prng_seed": self.prng_seed})

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> PrngSeed:
        """The inverse of `to_line`, from the decoded line."""
        return PrngSeed(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemInfo:
    """The machine and the versions; every value is a text, the time is UTC."""

    KEY: ClassVar[str] = "timestamp"

    timestamp: str
    hostname: str
    os: str
    cpu_vendor: str
    cpu_model: str
    ram_size: str
    gpu_model: str
    rocm: str
    miopen_version: str
    amdgpu_driver: str

    _SYSTEM: ClassVar[tuple[str, ...]] = ("hostname", "os", "cpu_vendor", "cpu_model", "ram_size", "gpu_model")
    _BUILD: ClassVar[tuple[str, ...]] = ("rocm", "miopen_version", "amdgpu_driver")

    def to_line(self) -> str:
        """The line, without its end."""
        return json_object(
            {
                "timestamp": self.timestamp,
                "system_info": {key: getattr(self, key) for key in self._SYSTEM},
                "build_info": {key: getattr(self, key) for key in self._BUILD},
            }
        )

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SystemInfo:
        """The inverse of `to_line`, from the decoded line."""
        return SystemInfo(timestamp=data["timestamp"], **data["system_info"], **data["build_info"])


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildInfo:
    """All that MIOpenDriver says of a machine that does not run Linux."""

    KEY: ClassVar[str] = "build_info"

    miopen_version: str

    def to_line(self) -> str:
        """The line, without its end."""
        return json_object({"build_info": {"miopen_version": self.miopen_version}})

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> BuildInfo:
        """The inverse of `to_line`, from the decoded line."""
        return BuildInfo(**data["build_info"])


@dataclass(frozen=True, slots=True, kw_only=True)
class FindTime:
    """Wall time of one Find call, compiling and searching included, and the 21 variables that steer it.

    Attributes:
        find_time_conv_ms: Host time.
        direction: In the words of this line kind.
        environment_variables: Name and value in MIOpen's order; the schema lists them.
    """

    KEY: ClassVar[str] = "find_time_conv_ms"

    find_time_conv_ms: float
    direction: Literal["forward", "backward-data", "backward-weights"]
    environment_variables: tuple[tuple[str, int | str], ...]

    def to_line(self) -> str:
        """The line, without its end."""
        return json_object(
            {
                "find_time_conv_ms": float32(self.find_time_conv_ms),
                "direction": self.direction,
                "environment_variables": dict(self.environment_variables),
            }
        )

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> FindTime:
        """The inverse of `to_line`, from the decoded line."""
        return FindTime(
            find_time_conv_ms=float(data["find_time_conv_ms"]),
            direction=data["direction"],
            environment_variables=tuple(data["environment_variables"].items()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """The driver's figures of one direction after its timed run.

    Attributes:
        name: `fwd-conv3x3u1`: direction, filter, first stride.
        algorithm: MIOpen's number of the algorithm family.
        solution: `<solver id>/<solver name>`.
        direction: In the words of this line kind.
        n: Batch.
        c: Input channels.
        output: Output size, (ho, wo) or (do, ho, wo).
        filter: Filter size, (y, x) or (z, y, x).
        k: Output channels.
        db_key: Key in the find-db.
        perf_db_key: Key in the perf-db.
        average_time_ms: See `statistics.driver_average_ms`.
        flop_count: Floating-point operations.
        bytes_read: Of both tensors that are read.
        bytes_written: Of the tensor that is written.
        gflops: 1e9 operations a second.
        gb_per_s: 1e9 bytes a second, read and written.
    """

    KEY: ClassVar[str] = "performance"

    name: str
    algorithm: int
    solution: str
    direction: PerformanceDirection
    n: int
    c: int
    output: tuple[int, ...]
    filter: tuple[int, ...]
    k: int
    db_key: str
    perf_db_key: str
    average_time_ms: float
    flop_count: int
    bytes_read: int
    bytes_written: int
    gflops: float
    gb_per_s: float

    _RESULTS: ClassVar[tuple[str, ...]] = (
        *("average_time_ms", "flop_count", "bytes_read", "bytes_written", "gflops", "gb_per_s"),
    )
    _NAMES: ClassVar[tuple[str, ...]] = (
        *("name", "algorithm", "solution", "direction", "n", "c", "k", "db_key", "perf_db_key"),
    )

    @staticmethod
    def measured(
        problem: ConvProblem,
        *,
        algorithm: int,
        solution: str,
        db_key: str,
        perf_db_key: str,
        average_time_ms: float,
    ) -> Performance:
        """The line of a problem from its measured time; names, counts and rates follow.

        Args:
            problem: What was computed.
            algorithm: MIOpen's number of the algorithm family.
            solution: `<solver id>/<solver name>`.
            db_key: Key in the find-db.
            perf_db_key: Key in the perf-db.
            average_time_ms: See `statistics.driver_average_ms`; above 0, for without a time there is no such line.
        """
        average = float32(average_time_ms)
        return Performance(
            name=row_name(problem),
            algorithm=algorithm,
            solution=solution,
            direction=_PERFORMANCE_WORDS[problem.direction],
            n=problem.n,
            c=problem.c,
            output=problem.miopen_output,
            filter=problem.filter,
            k=problem.k,
            db_key=db_key,
            perf_db_key=perf_db_key,
            average_time_ms=average,
            flop_count=problem.flops,
            bytes_read=problem.bytes_read,
            bytes_written=problem.bytes_written,
            gflops=problem.flops / average / 1e6,
            gb_per_s=(problem.bytes_read + problem.bytes_written) / average / 1e6,
        )

    def to_line(self) -> str:
        """The line, without its end."""
        rank = len(self.output)
        performance: dict[str, Value] = {
            "name": self.name,
            "algorithm": self.algorithm,
            "solution": self.solution,
            "direction": self.direction,
            "operation": "conv",
            "dimensions": rank,
            "n": self.n,
            "c": self.c,
            **dict(zip(_OUTPUT_KEYS[-rank:], self.output, strict=True)),
            **dict(zip(_FILTER_KEYS[-rank:], self.filter, strict=True)),
            "k": self.k,
            "db_key": self.db_key,
            "perf_db_key": self.perf_db_key,
            "results": {key: getattr(self, key) for key in self._RESULTS},
        }
        return json_object({"performance": performance})

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Performance:
        """The inverse of `to_line`, from the decoded line."""
        line = data["performance"]
        rank = line["dimensions"]
        results = line["results"]
        return Performance(
            **{key: line[key] for key in Performance._NAMES},
            **{**results, **{key: float(results[key]) for key in ("average_time_ms", "gflops", "gb_per_s")}},
            output=tuple(line[key] for key in _OUTPUT_KEYS[-rank:]),
            filter=tuple(line[key] for key in _FILTER_KEYS[-rank:]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The judgement of the numbers of one direction.

    Attributes:
        direction: In the words of this line kind.
        status: The verdict.
        reference: Where the reference was computed.
        error: The error figure. What is not finite is printed as `NO_ERROR_FIGURE`: JSON has no other word for it.
        tolerance: The greatest error that is OK.
    """

    KEY: ClassVar[str] = "verification"

    direction: Literal["forward", "backward_data", "backward_weights", "backward_bias"]
    status: Literal["OK", "FAILED"]
    reference: Literal["GPU", "CPU"]
    error: float
    tolerance: float

    @staticmethod
    def of(
        direction: Direction, *, passed: bool, reference: Literal["GPU", "CPU"], error: float, tolerance: float
    ) -> Verification:
        """The line of a direction of a problem."""
        word = _VERIFICATION_WORDS[direction]
        return Verification(
            direction=word, status="OK" if passed else "FAILED", reference=reference, error=error, tolerance=tolerance
        )

    def to_line(self) -> str:
        """The line, without its end."""
        error = float(self.error) if isfinite(self.error) else NO_ERROR_FIGURE
        verification = {
            "direction": self.direction,
            "status": self.status,
            "reference": self.reference,
            "error": error,
            "tolerance": float(self.tolerance),
        }
        return json_object({"verification": verification})

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Verification:
        """The inverse of `to_line`, from the decoded line."""
        line = data["verification"]
        return Verification(**{**line, "error": float(line["error"]), "tolerance": float(line["tolerance"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLine:
    """What went wrong, in the words of the program; the run may go on after it."""

    KEY: ClassVar[str] = "error"

    error: str

    def to_line(self) -> str:
        """The line, without its end."""
        return json_object({"error": self.error})

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ErrorLine:
        """The inverse of `to_line`, from the decoded line."""
        return ErrorLine(**data)
