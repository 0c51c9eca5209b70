"""What a scripted device does, as data: how long kernels take, how the times vary, and what fails.

A `Script` describes the device and holds rules. The first rule whose globs match a kernel's entry and macros governs
all its launches; a kernel that no rule matches is governed by `KernelScript()`. Nothing here draws a number or knows a
device, so that a simulation can build scripts by the thousand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.launch import DeviceInfo

if TYPE_CHECKING:
    from pytest_miopen_perf.launch import KernelSource

Corruption: TypeAlias = Literal["unwritten", "nan", "zeros"]
"""What a faulty kernel leaves in its whole output: what was there before, NaN (all bits set for integers), or zeros."""


def _at_least(name: str, value: float, least: int) -> None:
    if not (math.isfinite(value) and value >= least):
        raise SettingsError(f"{name} is {value}; it must be {least} or more")


def _above(name: str, value: float, bound: float) -> None:
    if not (math.isfinite(value) and value > bound):
        raise SettingsError(f"{name} is {value}; it must be above {bound:g}")


def _positive(name: str, value: float) -> None:
    _above(name, value, 0.0)


def _between(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise SettingsError(f"{name} is {value}; it must lie between {least:g} and {most:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spikes:
    """Rare slow launches, as another process on the device makes them.

    Attributes:
        probability: How many launches are hit, 0 to 1.
        factor: What their time is multiplied with.
    """

    probability: float
    factor: float

    def __post_init__(self) -> None:
        _between("probability", self.probability, 0.0, 1.0)
        _positive("factor", self.factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """A step: launches from a number on take another time, as on a device that got hot.

    Attributes:
        after_launches: How many launches keep the first speed.
        factor: What the time of all later ones is multiplied with.
    """

    after_launches: int
    factor: float

    def __post_init__(self) -> None:
        _at_least("after_launches", self.after_launches, 0)
        _positive("factor", self.factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStates:
    """Two clock states between which the device jumps: times come in two heaps.

    Attributes:
        factor: What times are multiplied with in the second state.
        probability: How often a stretch of launches is in the second state, 0 to 1.
        dwell_launches: How many launches a stretch has; each stretch draws its state anew.
    """

    factor: float
    probability: float = 0.5
    dwell_launches: int = 100

    def __post_init__(self) -> None:
        _positive("factor", self.factor)
        _between("probability", self.probability, 0.0, 1.0)
        _at_least("dwell_launches", self.dwell_launches, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """How times differ from launch to launch; all parts multiply. The default is a device that never varies.

    Attributes:
        noise: Standard deviation of the logarithm of a launch's time: 0.005 is half a percent.
        spikes: Rare slow launches.
        drift: Relative change in 1000 launches, compounded: 0.03 is 3 percent slower after 1000 launches.
        throttle: A step after some launches.
        clock_states: Jumps between two speeds.
        session_offset: Standard deviation of the logarithm of a factor that is drawn once a session, as the luck of
            memory placement is.
    """

    noise: float = 0.0
    spikes: Spikes | None = None
    drift: float = 0.0
    throttle: Throttle | None = None
    clock_states: ClockStates | None = None
    session_offset: float = 0.0

    def __post_init__(self) -> None:
        _at_least("noise", self.noise, 0)
        _at_least("session_offset", self.session_offset, 0)
        _above("drift", self.drift, -1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongElement:
    """One element of the output that is off.

    Attributes:
        element: Its place in memory, counted in elements from where the kernel's pointer points.
        add: What is added to the right value.
    """

    element: int
    add: float

    def __post_init__(self) -> None:
        _at_least("element", self.element, 0)
        if self.add == 0 or not math.isfinite(self.add):
            raise SettingsError(f"add is {self.add}; it must be a finite number other than 0, or nothing is wrong")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelScript:
    """One rule: which kernels it governs, how long they take and what fails.

    Attributes:
        kernel: Glob of the entry points.
        file: Glob of the kernel files, whose folder tells two versions of one kernel apart.
        defines: Names of macros and globs of their values; all must be among the kernel's own.
        seconds: Fixed part of the time of a launch.
        seconds_per_gflop: Part of the time that grows with the work of a convolution; other kernels have no work.
        seconds_per_iteration: Part of the time that grows with the argument `iterations` of a kernel that waits.
        config_spread: Standard deviation of the logarithm of a factor that is drawn once for each set of macros, so
            that tuning finds something.
        times_seconds: Exact times, one a launch and from the start again at the end; nothing else varies them. Zero,
            negative and not finite are allowed: they script event times that are invalid.
        variation: How times vary with the number of launches that this rule has governed.
        compile_seconds: What the compiler is said to take.
        compile_error: The compiler's words; "" compiles.
        launch_error: Why launches do not start; "" starts.
        hang: Launches start and do not end.
        wrong: What is wrong with the numbers; None computes right.
        faults_after_launches: How many launches pass before `launch_error`, `hang` and `wrong` begin.
    """

    kernel: str = "*"
    file: str = "*"
    defines: tuple[tuple[str, str], ...] = ()
    seconds: float = 1e-5
    seconds_per_gflop: float = 0.0
    seconds_per_iteration: float = 0.0
    config_spread: float = 0.0
    times_seconds: tuple[float, ...] = ()
    variation: Variation = Variation()
    compile_seconds: float = 0.5
    compile_error: str = ""
    launch_error: str = ""
    hang: bool = False
    wrong: Corruption | WrongElement | None = None
    faults_after_launches: int = 0

    def __post_init__(self) -> None:
        for name in (
            "seconds",
            "seconds_per_gflop",
            "seconds_per_iteration",
            "config_spread",
            "compile_seconds",
            "faults_after_launches",
        ):
            _at_least(name, getattr(self, name), 0)
        if not self.kernel:
            raise SettingsError('kernel is empty and matches nothing; write a glob such as "conv_*", or "*"')

    def matches(self, source: KernelSource) -> bool:
        """Whether the rule governs this kernel."""
        own = dict(source.defines)
        # Macros first: where a script has a rule for each of hundreds of problems, they are what tells these apart.
        is_alike = all(name in own and fnmatchcase(own[name], pattern) for name, pattern in self.defines)
        return is_alike and fnmatchcase(source.entry, self.kernel) and fnmatchcase(source.file, self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A scripted device. Two devices of one script behave alike to the last bit, whatever the wall clock does.

    Attributes:
        name: The device's name.
        arch: The compiler's target.
        compute_units: Compute units.
        wavefront: Work-items in lock step.
        lds_bytes: Shared memory of one work-group.
        memory_bytes: Memory; an allocation beyond it is refused.
        max_block: Most work-items of one work-group.
        compiler: Name and version of the compiler.
        driver: Version of the driver.
        runtime: Version of the runtime.
        seed: Seeds every number that is drawn.
        session: Which session on the device this is: another noise, another `session_offset`, the same device.
        timer_step_seconds: Times come in multiples of it; 0 is a timer without steps.
        cache_bytes: The last-level cache; 0 tells of none.
        empty_launch_seconds: What the harness' own empty kernel takes, within a few percent. No rule governs it, and it
            counts as no launch.
        other_processes: Other processes that use the device.
        hang_limit_seconds: When a kernel that hangs is said to be given up.
        lost_after_launches: How many launches the device lives; None lives on.
        variation: How times vary with the number of launches on the device, whatever the kernel.
        rules: The first that matches governs a kernel.
    """

    name: str = "Scripted device"
    arch: str = "scripted"
    compute_units: int = 64
    wavefront: int = 64
    lds_bytes: int = 65536
    memory_bytes: int = 4 * 2**30
    max_block: int = 1024
    compiler: str = "scripted compiler 1.0"
    driver: str = ""
    runtime: str = ""
    seed: int = 0
    session: int = 0
    timer_step_seconds: float = 0.0
    cache_bytes: int = 2**20
    empty_launch_seconds: float = 2e-6
    other_processes: int = 0
    hang_limit_seconds: float = 60.0
    lost_after_launches: int | None = None
    variation: Variation = Variation()
    rules: tuple[KernelScript, ...] = ()

    def __post_init__(self) -> None:
        for name in ("compute_units", "wavefront", "lds_bytes", "memory_bytes", "max_block"):
            _at_least(name, getattr(self, name), 1)
        for name in (
            "session",
            "timer_step_seconds",
            "cache_bytes",
            "other_processes",
            "hang_limit_seconds",
            "lost_after_launches",
        ):
            _at_least(name, getattr(self, name) or 0, 0)
        _positive("empty_launch_seconds", self.empty_launch_seconds)
        for name in ("name", "arch", "compiler"):
            if not getattr(self, name):
                raise SettingsError(f"{name} is empty; reports and baselines need a word there")

    def device_info(self) -> DeviceInfo:
        """The device as it describes itself."""
        return DeviceInfo(
            backend="scripted",
            uid=f"scripted-{self.seed}",
            name=self.name,
            arch=self.arch,
            compute_units=self.compute_units,
            wavefront=self.wavefront,
            lds_bytes=self.lds_bytes,
            memory_bytes=self.memory_bytes,
            max_block=self.max_block,
            compiler=self.compiler,
            driver=self.driver,
            runtime=self.runtime,
            cache_bytes=self.cache_bytes,
        )

    def rule_number(self, source: KernelSource) -> int:
        """The index of the rule that governs a kernel; -1 when none matches."""
        return next((number for number, rule in enumerate(self.rules) if rule.matches(source)), -1)

    def rule(self, number: int) -> KernelScript:
        """The rule of an index; `KernelScript()` for -1."""
        return KernelScript() if number < 0 else self.rules[number]


DEFAULT_SCRIPT = Script(
    rules=(
        KernelScript(
            seconds=5e-6,
            seconds_per_gflop=1e-4,
            config_spread=0.2,
            variation=Variation(noise=0.005, spikes=Spikes(probability=0.01, factor=1.2)),
        ),
    )
)
"""A quiet device of 10 TFLOP/s on which all kernels compute right and some configs are better than others."""
