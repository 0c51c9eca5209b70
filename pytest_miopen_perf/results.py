"""What a run leaves behind: samples, tuning, and the result of one case, with their JSON beside them.

JSON here means builtins: a result crosses processes on a test report and ends in the results file.
"""

from __future__ import annotations

import enum
import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf import statistics
from pytest_miopen_perf.checking.check import Check
from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.measuring.circumstances import Circumstances
from pytest_miopen_perf.problem import ConvProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Device times of one solution, each the sum over all its kernels.

    Attributes:
        seconds: Every valid time in run order, warm-ups first.
        warmups: How many of them are warm-ups: kept and marked, left out of the statistics.
        invalid: Times that were zero, negative or not finite; they are counted and were taken again.
        stopped_by: What ended the measuring: see `statistics.why_stop`; "" where a log does not tell.
        batch: Executions that share one time: each of `seconds` is the mean of so many.
    """

    seconds: tuple[float, ...]
    warmups: int = 0
    invalid: int = 0
    stopped_by: str = ""
    batch: int = 1

    @property
    def counted(self) -> tuple[float, ...]:
        """The times that count: without the warm-ups."""
        return self.seconds[self.warmups :]

    @property
    def median_seconds(self) -> float:
        """Median of the counted times; a sample has at least one."""
        median = statistics.median(self.counted)
        assert median is not None, "a sample is made of at least one counted time"
        return median

    @property
    def noise(self) -> float:
        """Interquartile range over median of the counted times; 0 for a single one."""
        return statistics.relative_iqr(self.counted) or 0.0

    @property
    def miopen_time_ms(self) -> float:
        """MIOpen's own figure over all times, warm-ups included, as its log prints it."""
        figures = statistics.miopen_statistics(second * 1e3 for second in self.seconds)
        assert figures is not None, "a sample holds valid times alone"
        return figures.time_ms

    def to_json(self) -> Json:
        """Raw times, and the summary that a reader would compute first."""
        first, third = statistics.quartiles(self.counted) or (self.median_seconds, self.median_seconds)
        return {
            "seconds": list(self.seconds),
            "warmups": self.warmups,
            "invalid": self.invalid,
            "stopped_by": self.stopped_by,
            "batch": self.batch,
            "count": len(self.counted),
            "median_seconds": self.median_seconds,
            "min_seconds": min(self.counted),
            "max_seconds": max(self.counted),
            "mean_seconds": math.fsum(self.counted) / len(self.counted),
            "quartiles_seconds": [first, third],
            "relative_noise": self.noise,
            "miopen_time_ms": self.miopen_time_ms,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Sample:
        """The inverse of `to_json`; the summary is computed anew."""
        return Sample(
            seconds=tuple(data["seconds"]),
            warmups=data["warmups"],
            invalid=data["invalid"],
            stopped_by=data["stopped_by"],
            batch=data.get("batch", 1),
        )


class TrialStatus(enum.Enum):
    """How the trial of one config, or of one solver, ended."""

    MEASURED = "measured"
    CHECKED = "checked"
    COMPILE_FAILED = "compile failed"
    LAUNCH_FAILED = "launch failed"
    WRONG = "wrong result"
    NO_MEMORY = "out of memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One config of a search, or one solver of a Find.

    Attributes:
        solver: The solver's name.
        config: The performance config's text.
        status: How it ended; only MEASURED ones are ranked.
        median_seconds: None unless measured.
        reason: Why it is not ranked, "" if it is.
        samples: Executions behind the median; a single one was enough to tell that it is clearly worse.
        noise: Interquartile range over median; None of fewer than two samples.
    """

    solver: str
    config: str
    status: TrialStatus
    median_seconds: float | None = None
    reason: str = ""
    samples: int = 0
    noise: float | None = None

    @property
    def is_failed(self) -> bool:
        """Whether it did not compile, did not run or gave wrong numbers; what lacked memory was never begun."""
        return self.status in (TrialStatus.COMPILE_FAILED, TrialStatus.LAUNCH_FAILED, TrialStatus.WRONG)

    def to_json(self) -> Json:
        """As builtins."""
        return asdict(self) | {"status": self.status.value}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Trial:
        """The inverse of `to_json`."""
        return Trial(**{**data, "status": TrialStatus(data["status"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A search over the configs of one solver.

    Attributes:
        solver: The solver's name.
        default_config: The config that an untuned run would use.
        best_config: The fastest config whose numbers are right; the default unless that was beaten.
        ties: Configs that a last race, side by side, could not tell from the best.
        trials: Every config tried, in the order of trial.
        valid_configs: How many valid configs the space holds.
        seconds: What the search took, compiling included.
        stopped_by: "exhausted", "budget", "count" or "patience"; "" of a search that a log tells of, which has neither
            a default config nor a count of valid ones nor seconds.
        seed: Of the shuffle; None where a log does not tell.
        known_before: Trials of an earlier search, failed or interrupted, that were taken over.
    """

    solver: str
    default_config: str
    best_config: str
    trials: tuple[Trial, ...]
    valid_configs: int
    seconds: float
    stopped_by: str
    seed: int | None
    ties: tuple[str, ...] = ()
    known_before: int = 0

    @property
    def failed(self) -> int:
        """Configs that did not compile, did not run or gave wrong numbers."""
        return sum(trial.is_failed for trial in self.trials)

    def median_seconds(self, config: str) -> float | None:
        """The median of a config that was measured, else None."""
        return next((trial.median_seconds for trial in self.trials if trial.config == config), None)

    @property
    def speedup(self) -> float | None:
        """Default time over best time; None when either was not measured."""
        default, best = self.median_seconds(self.default_config), self.median_seconds(self.best_config)
        return default / best if default and best else None

    def to_json(self) -> Json:
        """As builtins."""
        return {
            "solver": self.solver,
            "default_config": self.default_config,
            "best_config": self.best_config,
            "ties": list(self.ties),
            "trials": [trial.to_json() for trial in self.trials],
            "valid_configs": self.valid_configs,
            "seconds": self.seconds,
            "stopped_by": self.stopped_by,
            "seed": self.seed,
            "known_before": self.known_before,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Tuning:
        """The inverse of `to_json`."""
        trials = tuple(Trial.from_json(trial) for trial in data["trials"])
        return Tuning(**{**data, "trials": trials, "ties": tuple(data.get("ties", ()))})


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTimes:
    """The times of one kernel within the counted runs of a solution."""

    name: str
    seconds: tuple[float, ...]
    is_transformation: bool = False

    @property
    def median_seconds(self) -> float:
        """Median over the launches."""
        return statistics.median(self.seconds) or 0.0

    def to_json(self) -> Json:
        """As builtins."""
        return {"name": self.name, "seconds": list(self.seconds), "is_transformation": self.is_transformation}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> KernelTimes:
        """The inverse of `to_json`."""
        return KernelTimes(**{**data, "seconds": tuple(data["seconds"])})


_PLAIN_FIELDS = (
    "solver",
    "solver_id",
    "algorithm",
    "config",
    "config_origin",
    "workspace_bytes",
    "compile_key",
    "compile_seconds",
    "first_launch_seconds",
    "seed",
    "data",
    "cache_mode",
    "tune",
    "memory_note",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One problem, computed by one solver with one config on one device.

    Of a result that was read out of a log, what the log does not tell is None: the workspace, the seconds before the
    timed run, the data, the state of the caches and the tuning policy.

    Attributes:
        problem: The problem as it was asked for.
        device: Where it ran.
        solver: The solver's name.
        solver_id: The solver's number.
        algorithm: MIOpen's number of the algorithm.
        config: The performance config's text, "" for a solver without parameters.
        config_origin: "default", "tuned" or "given"; "logged" where a log of MIOpen does not tell.
        workspace_bytes: Workspace of the solution.
        check: The verdict on the numbers.
        sample: The timed run; None at level 0, and when the numbers are wrong.
        kernels: The kernels of the timed run.
        tuning: The searches made for this problem, one a tunable solver.
        find: The comparison of solvers, one trial each; empty when there was one candidate.
        compile_key: Identifies text, macros, options and compiler of the kernels; "" where that is not known.
        compile_seconds: What the compiler took for its kernels, for this case or an earlier one of the process; 0 from
            the cache.
        first_launch_seconds: Device time of the checked launch, which is the first one of the chosen solution.
        seed: Of the data.
        data: The distribution of the data.
        cache_mode: State of the caches during the timed run.
        circumstances: What else the timed run was taken under.
        tune: The tuning policy that was asked for: "off", "missing" or "force"; the rest only tells what came of it.
        memory_note: Which solvers or configs were passed over for want of workspace memory, and why; "" when none was.
    """

    problem: ConvProblem
    device: DeviceInfo
    solver: str
    solver_id: int
    algorithm: int
    config: str
    config_origin: str
    workspace_bytes: int | None
    check: Check
    sample: Sample | None = None
    kernels: tuple[KernelTimes, ...] = ()
    tuning: tuple[Tuning, ...] = ()
    find: tuple[Trial, ...] = ()
    compile_key: str = ""
    compile_seconds: float | None = 0.0
    first_launch_seconds: float | None = 0.0
    seed: int | None = 0
    data: str | None = ""
    cache_mode: str | None = field(default="warm")
    circumstances: Circumstances = field(default_factory=Circumstances)
    tune: str | None = "off"
    memory_note: str = ""

    @property
    def taint(self) -> str:
        """Why its times are not the kernel's alone; "" where nothing says so."""
        return self.circumstances.taint

    @property
    def gflops_per_second(self) -> float | None:
        """Floating-point operations that the kernel must do, over the median time; None when not timed."""
        if self.sample is None:
            return None
        return self.problem.canonical().flops / self.sample.median_seconds / 1e9

    def to_json(self) -> Json:
        """As builtins: the form of a case in the results file."""
        return {
            "problem": {
                "driver": self.problem.to_driver(),
                "name": str(self.problem),
                "direction": self.problem.direction.value,
                "find_db_key": self.problem.find_db_key(),
                "perf_db_key": self.problem.perf_db_key(),
                "flops": self.problem.flops,
                "bytes_read": self.problem.bytes_read,
                "bytes_written": self.problem.bytes_written,
            },
            "device": _device_json(self.device),
            **{name: getattr(self, name) for name in _PLAIN_FIELDS},
            "check": self.check.to_json(),
            "sample": None if self.sample is None else self.sample.to_json(),
            "circumstances": self.circumstances.to_json(),
            "gflops_per_second": self.gflops_per_second,
            "kernels": [kernel.to_json() for kernel in self.kernels],
            "tuning": [tuning.to_json() for tuning in self.tuning],
            "find": [trial.to_json() for trial in self.find],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Result:
        """The inverse of `to_json`; derived values are computed anew."""
        (problem,) = ConvProblem.from_driver(data["problem"]["driver"])
        kept = {name: {"tune": "off", "memory_note": "", **data}[name] for name in _PLAIN_FIELDS}
        return Result(
            problem=problem,
            device=_device(data["device"]),
            check=Check.from_json(data["check"]),
            sample=None if data["sample"] is None else Sample.from_json(data["sample"]),
            circumstances=Circumstances.from_json(data["circumstances"])
            if "circumstances" in data
            else Circumstances(),
            kernels=tuple(KernelTimes.from_json(kernel) for kernel in data["kernels"]),
            tuning=tuple(Tuning.from_json(tuning) for tuning in data["tuning"]),
            find=tuple(Trial.from_json(trial) for trial in data["find"]),
            **kept,
        )


_LIMITS = ("compute_units", "wavefront", "lds_bytes", "memory_bytes", "max_block")
"""Numbers of a device, which in a file are null where they are not known, and 0 here."""


def _device_json(device: DeviceInfo) -> Json:
    plain = {each.name: getattr(device, each.name) for each in fields(device)}
    known = {name: plain[name] or None for name in _LIMITS}
    return plain | known | {"max_grid": list(device.max_grid) if any(device.max_grid) else None}


def _device(data: Mapping[str, Any]) -> DeviceInfo:
    known = {name: data[name] or 0 for name in _LIMITS}
    return DeviceInfo(**{**data, **known, "max_grid": tuple(data["max_grid"] or (0, 0, 0))})
