"""What the user asked for, decided once: a frozen value that nothing below changes or reads around."""

from __future__ import annotations

import enum
import fnmatch
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_miopen_perf.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_miopen_perf.codeobject.limits import StaticLimits
    from pytest_miopen_perf.gate.phases import PhaseRule

LevelSource = Literal["option", "variable", "ini", "default"]

CacheState = Literal["warm", "rotating", "cold"]
"""What the caches hold when a timed execution begins; see `cache_state`."""

LaunchMode = Literal["isolated", "back-to-back"]
"""One time around each launch, or one around many executions that follow each other; see `batching`."""

MIOPEN_SEED = 12345678
"""The seed that MIOpenDriver uses unless MIOPEN_DEBUG_DRIVER_PRNG_SEED names another."""


class TunePolicy(enum.Enum):
    """When a tunable solver is searched for its best config."""

    OFF = "off"
    MISSING = "missing"
    FORCE = "force"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options of one session; the defaults are the documented ones.

    Attributes:
        level: Level of the performance log, 0 to 4; the variable may bring any number.
        level_source: Where the level came from.
        backend: A name of `devices.BACKENDS`, or "auto".
        device: Which device of the back-end.
        solvers: Globs of solver names; empty means all.
        problems: Workload files, bundled names or MIOpenDriver lines that replace what the tests name.
        config: A performance config for every tunable solver; None is the default or the tuned one.
        tune: When to search.
        db_dir: Where tuned configs and Find results are kept; None keeps them for the session.
        tune_budget_seconds: Time for one search, compiling included.
        tune_max_configs: Most configs of one search.
        tune_patience: Configs in a row without improvement that end a search; None is no such limit.
        tune_strategy: Which config a search tries next: "neighbours" of the best, or at "random".
        iterations: A fixed count of timed runs, as `-i`; None stops by noise.
        case_budget_seconds: Device time for the timed run of one case.
        target_noise: Relative noise of the median at which measuring stops.
        cache_state: State of the caches when a timed execution begins.
        launch_mode: What one time of the timed run is taken around.
        seed: Of the data and of the shuffle of a search.
        data: Distribution of the data.
        tolerance: Factor on both tolerances of the check.
        memory_bytes: Most memory of one case; None is what the device has free.
        work_item_order: CPU: order of the work-items between two barriers.
        guard: CPU: launch in a child process with guard pages.
        cache_dir: Where compiled kernels are kept.
        compile_timeout_seconds: When a compiler is stopped.
        log_path: Where the log goes; None is stderr, or a named file on an interactive terminal.
        json_path: Where the results file goes.
        driver_path: The MIOpenDriver to run; None is the one on PATH.
        driver_timeout_seconds: When a run of it is stopped.
        run_by: Who runs the problems of workload files.
        save: Name or path of the baseline that the session becomes.
        compare: Name or path of the baseline that the session is held against.
        ab: The kernels of both arms of a paired comparison.
        aa: Measure the noise floors.
        canary: What to slow some cases by, for the gate's own test.
        log_overhead: Measure what the log itself costs.
        budget_seconds: Time for the processes of a paired comparison; None is what it takes.
        processes: Most processes of a paired comparison; None is what it takes.
        baselines_dir: The folder of named baselines, below the rootdir.
        margin: The change that does not matter; None is the gate's own.
        margins: Globs of test files with the margin of each.
        gate: What is judged; empty is the kernel time alone.
        strict: Fail also what could not be judged.
        verdicts_path: Where the verdict file goes.
        kernels_dir: Where the HIP text of the kernels lies; None is the shipped one.
        part_path: The part of a paired comparison that this process runs; "" is none.
        static_targets: AMD targets whose kernels are compiled and judged without a GPU; () is none.
        static_configs: Which configs of tunable solvers: default and tuned ones that are "known", or "all".
        static_save: Name or path of the code-object baseline that the session becomes.
        static_compare: Name or path of the code-object baseline that kernels are held against.
        static_limits: How much worse than it a kernel may become; None is the gate's own.
        static_json_path: Where the report on code objects goes.
    """

    level: int = 0
    level_source: LevelSource = "default"
    backend: str = "auto"
    device: str = ""
    solvers: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    config: str | None = None
    tune: TunePolicy = TunePolicy.OFF
    db_dir: Path | None = None
    tune_budget_seconds: float = 60.0
    tune_max_configs: int = 50
    tune_patience: int | None = None
    tune_strategy: Literal["neighbours", "random"] = "neighbours"
    iterations: int | None = None
    case_budget_seconds: float = 1.0
    target_noise: float = 0.005
    cache_state: CacheState = "warm"
    launch_mode: LaunchMode = "isolated"
    seed: int = MIOPEN_SEED
    data: Literal["miopen", "integers"] = "miopen"
    tolerance: float = 1.0
    memory_bytes: int | None = None
    work_item_order: Literal["forward", "reverse", "strided"] = "forward"
    guard: bool = False
    cache_dir: Path | None = None
    compile_timeout_seconds: float = 120.0
    log_path: Path | None = None
    json_path: Path | None = None
    driver_path: Path | None = None
    driver_timeout_seconds: float = 600.0
    run_by: Literal["solvers", "driver"] = "solvers"
    save: str | None = None
    compare: str | None = None
    ab: tuple[str, str] | None = None
    aa: bool = False
    canary: float | None = None
    log_overhead: bool = False
    budget_seconds: float | None = None
    processes: int | None = None
    baselines_dir: str = ".miopen-perf"
    margin: float | None = None
    margins: tuple[tuple[str, float], ...] = ()
    gate: tuple[PhaseRule, ...] = ()
    strict: bool = False
    verdicts_path: Path | None = None
    kernels_dir: Path | None = None
    part_path: str = ""
    static_targets: tuple[str, ...] = ()
    static_configs: Literal["known", "all"] = "known"
    static_save: str | None = None
    static_compare: str | None = None
    static_limits: StaticLimits | None = None
    static_json_path: Path | None = None

    def __post_init__(self) -> None:
        if self.cache_state == "cold" and self.launch_mode == "back-to-back":
            raise SettingsError(
                "cold caches and back-to-back launches exclude each other: only the first of a batch would be cold; "
                "take rotating caches, or isolated launches"
            )

    def margin_of_file(self, path: str) -> float | None:
        """The margin of the first glob that matches a test file, relative to the root; None where none does."""
        return next((margin for glob, margin in self.margins if fnmatch.fnmatch(path, glob)), None)

    @property
    def is_gated(self) -> bool:
        """Whether times are kept as a baseline, or held against one or against another version."""
        return self.save is not None or self.compare is not None or self.is_led

    @property
    def is_static(self) -> bool:
        """Whether kernels are looked at as their compiler sees them."""
        return bool(self.static_targets) or any((self.static_save, self.static_compare, self.static_json_path))

    @property
    def is_led(self) -> bool:
        """Whether processes measure before the first test."""
        return self.ab is not None or self.aa or self.log_overhead or self.canary is not None

    @property
    def is_timed(self) -> bool:
        """Whether anything is timed: at level 0 only when a results file or the gate asks for it."""
        return self.level > 0 or self.json_path is not None or self.is_gated
