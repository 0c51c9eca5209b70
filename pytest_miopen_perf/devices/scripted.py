"""The scripted device: no hardware, no compiler, no waiting. It does what a `Script` says, and convolutions come right.

It carries the tests of the plugin and the simulations of the gate. Nothing sleeps, and equal scripts give equal times.
Numbers come from `emulation`: the device reads from a launch which convolution it is, and computes that with the
float64 reference. It moves what a transposing kernel moves; kernels that it does not know leave their output as it was.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pytest_miopen_perf.devices.emulated_transposition import EmulatedTransposition, recognise_transposition
from pytest_miopen_perf.devices.emulation import EmulatedLaunch, ResultCache, SeenTensors
from pytest_miopen_perf.devices.probe_kernels import EMPTY
from pytest_miopen_perf.devices.recognition import CONVOLUTION_SLOTS, recognise
from pytest_miopen_perf.devices.script import DEFAULT_SCRIPT, KernelScript, Script, Variation
from pytest_miopen_perf.devices.script_file import read_script
from pytest_miopen_perf.devices.script_memory import Memory, MemoryPlace, ScriptedBuffer, raw_bytes
from pytest_miopen_perf.devices.script_times import DeviceVariation, VariationFactor, stepped
from pytest_miopen_perf.devices.signature import Parameter, mismatch, read_signature
from pytest_miopen_perf.errors import CompileError, DeviceError, DeviceUnavailableError, LaunchError
from pytest_miopen_perf.kernel_source.files import kernel_path
from pytest_miopen_perf.launch import Scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_miopen_perf.devices import Buffer, Call, DeviceOptions, DevicePointer, Kernel
    from pytest_miopen_perf.devices.recognition import Convolution
    from pytest_miopen_perf.launch import DeviceInfo, Dim3, KernelSource

_COMPILE_TIMEOUT_SECONDS = 120.0
_EMPTY_NOISE = 0.02
_MOST_PLANS = 4096
"""Checked launches that a kernel remembers; they keep the handles of freed buffers alive."""
_Call: TypeAlias = "tuple[Dim3, Dim3, int, tuple[Scalar | DevicePointer, ...]]"
"""Grid, block, shared bytes and arguments."""


def probe(options: DeviceOptions) -> str:
    """Why no scripted device can be opened: never, but there is only one.

    A script that is damaged is not a lack of this machine, and must not turn tests into skips: `open_device` says it.
    """
    if options.device.isdecimal() and int(options.device) > 0:
        return f"there is no scripted device {options.device}; take 0, or give the path of a script"
    return ""


def open_device(options: DeviceOptions) -> ScriptedDevice:
    """Open the device of a script.

    `options.device` is "" or "0" for the built-in script, the path of a JSON file (see `script_file.read_script`), or
    such a path with "#N" for session N of the same device.

    Raises:
        DeviceUnavailableError: with the reason that `probe` gives.
        SettingsError: the script is damaged; the message names file and key.
    """
    if reason := probe(options):
        raise DeviceUnavailableError(reason)
    return ScriptedDevice(_chosen_script(options.device), compile_timeout_s=options.compile_timeout_s)


def _chosen_script(device: str) -> Script:
    if device in ("", "0"):
        return DEFAULT_SCRIPT
    path, _, session = device.rpartition("#")
    if path and session.isdecimal():
        return replace(read_script(Path(path)), session=int(session))
    return read_script(Path(device))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScriptedKernel:
    """A kernel whose parameters were read from its text, and the rule that governs it."""

    device: ScriptedDevice
    source: KernelSource
    compile_seconds: float
    rule_number: int
    rule: KernelScript
    config_factor: float
    parameters: tuple[Parameter, ...]
    plans: dict[_Call, _Plan] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScriptedTicket:
    """A launch whose time, or failure, is decided; an exact time is the script's own, which no timer step touches."""

    time_seconds: float
    failure: str = ""
    is_exact: bool = False

    def seconds(self) -> float:
        """The time that the script gives.

        Raises:
            LaunchError: the script says that the kernel hangs.
        """
        if self.failure:
            raise LaunchError(self.failure)
        return self.time_seconds


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """A launch whose arguments have been checked, and what it computes."""

    places: tuple[MemoryPlace, ...]
    emulated: EmulatedLaunch | EmulatedTransposition | None
    seconds: float


class ScriptedDevice:
    """A device that does what a script says.

    Args:
        script: What happens.
        compile_timeout_s: Compilers that take longer, by the script, are stopped.
    """

    def __init__(self, script: Script, *, compile_timeout_s: float = _COMPILE_TIMEOUT_SECONDS) -> None:
        self._script = script
        self._compile_timeout_s = compile_timeout_s
        self._info = script.device_info()
        self._memory = Memory(script.memory_bytes)
        self._variation = DeviceVariation(script)
        self._results = ResultCache()
        self._seen: defaultdict[Convolution, SeenTensors] = defaultdict(SeenTensors)
        self._compile_lock = threading.Lock()
        self._compiled: dict[KernelSource, ScriptedKernel] = {}
        self._launches = 0
        self._rule_launches: Counter[int] = Counter()
        self._empty_launches = 0
        self._empty_seconds = VariationFactor(Variation(noise=_EMPTY_NOISE), f"seed {script.seed} empty launches")
        self._gone = ""

    @property
    def info(self) -> DeviceInfo:
        """What the script says that it is."""
        return self._info

    @property
    def other_processes(self) -> int:
        """How many other processes use the device, as the script says."""
        return self._script.other_processes

    def compile(self, source: KernelSource) -> ScriptedKernel:
        """Read the kernel's parameters from its text; the second time the kernel comes from the cache.

        Raises:
            CompileError: the file or the entry is missing, or the script says so.
        """
        self._check_alive()
        with self._compile_lock:
            if cached := self._compiled.get(source):
                return replace(cached, compile_seconds=0.0)
            number = self._script.rule_number(source)
            rule = self._script.rule(number)
            self._compiled[source] = kernel = ScriptedKernel(
                device=self,
                source=source,
                compile_seconds=rule.compile_seconds,
                rule_number=number,
                rule=rule,
                config_factor=self._variation.config_factor(rule, source),
                parameters=_compiled_parameters(source, rule, self._compile_timeout_s),
            )
            return kernel

    def alloc(self, nbytes: int) -> ScriptedBuffer:
        """Allocate host memory that counts against the script's `memory_bytes`.

        Raises:
            OutOfMemoryError: naming the bytes asked for.
        """
        self._check_alive()
        return self._memory.alloc(nbytes)

    def upload(self, buffer: Buffer, array: NDArray[np.generic]) -> None:
        """Copy a contiguous array to the start of the buffer."""
        raw = raw_bytes(array, self._own_buffer(buffer))
        self._own_buffer(buffer).write()[: raw.nbytes] = raw

    def download(self, buffer: Buffer, array: NDArray[np.generic]) -> None:
        """Copy the start of the buffer into a contiguous array."""
        raw = raw_bytes(array, self._own_buffer(buffer))
        raw[:] = self._own_buffer(buffer).read()[: raw.nbytes]

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Set every byte."""
        self._own_buffer(buffer).write()[:] = byte

    def launch(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Scalar | DevicePointer], shared_bytes: int = 0
    ) -> ScriptedTicket:
        """Start one kernel: its output is there at once, its time is what the script says.

        Raises:
            LaunchError: the arguments do not fit the kernel, or the script says that it does not start.
        """
        return self._timed(self._started(kernel, (grid, block, shared_bytes, tuple(args))))

    def launch_batch(self, calls: Sequence[Call]) -> ScriptedTicket:
        """Start launches in order: the timer, and so its step, sees the sum of their times.

        Raises:
            LaunchError: as `launch`.
        """
        tickets = [self._started(call.kernel, (call.grid, call.block, call.shared_bytes, call.args)) for call in calls]
        failure = next((ticket.failure for ticket in tickets if ticket.failure), "")
        is_exact = any(ticket.is_exact for ticket in tickets)
        return self._timed(ScriptedTicket(sum(ticket.time_seconds for ticket in tickets), failure, is_exact))

    def _started(self, kernel: Kernel, call: _Call) -> ScriptedTicket:
        """A launch with its time as it is, before the timer has looked at it."""
        own = self._own_kernel(kernel)
        plan = self._plan(own, call)
        if own.source == EMPTY:
            self._empty_launches += 1
            return ScriptedTicket(self._empty_seconds.at(self._empty_launches) * self._script.empty_launch_seconds)
        rule_launch, device_launch = self._rule_launches[own.rule_number], self._launches
        self._count_launch(own)
        rule = own.rule
        is_faulty = rule_launch >= rule.faults_after_launches
        if is_faulty and rule.launch_error:
            raise LaunchError(f"kernel {own.source.entry} did not start: {rule.launch_error}")
        if is_faulty and rule.hang:
            return self._hang(own)
        if plan.emulated:
            plan.emulated.run(rule.wrong if is_faulty else None)
        if times := rule.times_seconds:
            return ScriptedTicket(times[rule_launch % len(times)], is_exact=True)
        return ScriptedTicket(plan.seconds * self._variation.factor(own.rule_number, rule_launch, device_launch))

    def _timed(self, ticket: ScriptedTicket) -> ScriptedTicket:
        """What the timer makes of launches that have ended."""
        if ticket.failure:
            return ticket
        step = 0.0 if ticket.is_exact else self._script.timer_step_seconds
        return ScriptedTicket(stepped(ticket.time_seconds, step))

    def launch_isolated(
        self,
        kernel: Kernel,
        grid: Dim3,
        block: Dim3,
        args: Sequence[Scalar | DevicePointer],
        shared_bytes: int = 0,
        *,
        limit_seconds: float,  # noqa: ARG002 - the script says when a hang is given up
    ) -> ScriptedTicket:
        """`launch`: a script harms no process."""
        return self.launch(kernel, grid, block, args, shared_bytes)

    def free_memory_bytes(self) -> int:
        """What the script's memory still holds."""
        self._check_alive()
        return self._memory.free_bytes

    def close(self) -> None:
        """Free every buffer; a second call does nothing."""
        self._gone = self._gone or "is closed; open it again"
        self._memory.free_all()

    def _check_alive(self) -> None:
        if self._gone:
            raise DeviceError(f"the scripted device {self._info.name} {self._gone}")

    def _own_buffer(self, buffer: Buffer) -> ScriptedBuffer:
        self._check_alive()
        if not (isinstance(buffer, ScriptedBuffer) and buffer.belongs_to(self._memory)):
            raise DeviceError("a buffer of another device was given; allocate it on this one")
        return buffer

    def _own_kernel(self, kernel: Kernel) -> ScriptedKernel:
        if self._gone:
            raise LaunchError(
                f"kernel {kernel.source.entry} did not start: the scripted device {self._info.name} {self._gone}"
            )
        if not (isinstance(kernel, ScriptedKernel) and kernel.device is self):
            raise LaunchError(f"kernel {kernel.source.entry} was compiled for another device; compile it on this one")
        return kernel

    def _plan(self, kernel: ScriptedKernel, call: _Call) -> _Plan:
        plan = kernel.plans.get(call)
        if plan is None:
            plan = self._checked_plan(kernel, call)
            if len(kernel.plans) >= _MOST_PLANS:
                kernel.plans.clear()
            kernel.plans[call] = plan
        for place in plan.places:
            if place.buffer.is_freed:
                raise LaunchError(f"kernel {kernel.source.entry} was given a buffer that has been freed")
        return plan

    def _checked_plan(self, kernel: ScriptedKernel, call: _Call) -> _Plan:
        grid, block, shared_bytes, args = call
        entry = kernel.source.entry
        if complaint := _misfit(self._info, grid, block, shared_bytes) or mismatch(kernel.parameters, args):
            raise LaunchError(f"kernel {entry} cannot start: {complaint}")
        places = tuple(self._place(entry, arg) for arg in args if not isinstance(arg, Scalar))
        emulated = self._emulated(kernel, args, places)
        if emulated and (complaint := emulated.misfit(kernel.rule.wrong)):
            raise LaunchError(f"kernel {entry} cannot start: {complaint}")
        gflop = emulated.flops / 1e9 if emulated else 0.0
        waits = sum(arg.value for arg in args if isinstance(arg, Scalar) and arg.name == "iterations")
        rule = kernel.rule
        seconds = rule.seconds + rule.seconds_per_gflop * gflop + rule.seconds_per_iteration * waits
        return _Plan(places, emulated, seconds * kernel.config_factor)

    def _emulated(
        self, kernel: ScriptedKernel, args: Sequence[Scalar | DevicePointer], places: Sequence[MemoryPlace]
    ) -> EmulatedLaunch | EmulatedTransposition | None:
        if (walk := recognise_transposition(kernel.source)) and len(places) == 2:
            return EmulatedTransposition(walk, *places)
        convolution = recognise(kernel.source, {arg.name: arg.value for arg in args if isinstance(arg, Scalar)})
        names = (parameter.name for parameter in kernel.parameters if parameter.type == "pointer")
        named = dict(zip(names, places, strict=True))
        given = {slot: named[slot.value] for slot in CONVOLUTION_SLOTS if slot.value in named}
        if convolution is None or not given:
            return None
        return EmulatedLaunch(convolution, given, self._results, self._seen[convolution])

    def _place(self, entry: str, pointer: DevicePointer) -> MemoryPlace:
        buffer = pointer.buffer
        if not (isinstance(buffer, ScriptedBuffer) and buffer.belongs_to(self._memory)):
            raise LaunchError(f"kernel {entry} was given a buffer of another device; allocate it on this one")
        if not 0 <= pointer.offset_bytes <= buffer.nbytes:
            raise LaunchError(
                f"kernel {entry} was given offset {pointer.offset_bytes} into a buffer of {buffer.nbytes} bytes"
            )
        return MemoryPlace(buffer, pointer.offset_bytes)

    def _count_launch(self, kernel: ScriptedKernel) -> None:
        limit = self._script.lost_after_launches
        if limit is not None and self._launches >= limit:
            self._gone = f"was lost after {limit} launches; its script says so"
            raise LaunchError(f"kernel {kernel.source.entry} did not start: the device {self._gone}")
        self._launches += 1
        self._rule_launches[kernel.rule_number] += 1

    def _hang(self, kernel: ScriptedKernel) -> ScriptedTicket:
        limit = self._script.hang_limit_seconds
        return ScriptedTicket(math.nan, f"kernel {kernel.source.entry} did not end within {limit:g} s and was given up")


def _compiled_parameters(source: KernelSource, rule: KernelScript, timeout_s: float) -> tuple[Parameter, ...]:
    path = kernel_path(source.file)
    try:
        parameters = read_signature(path, source)
    except (OSError, UnicodeDecodeError) as error:
        raise CompileError(f"the kernel file {path} of {source.entry} cannot be read ({error})") from error
    if parameters is None:
        raise CompileError(f"{path} defines no kernel {source.entry}; check the entry's name")
    if rule.compile_error:
        raise CompileError(f"kernel {source.entry} of {path} does not compile", rule.compile_error)
    if rule.compile_seconds > timeout_s:
        raise CompileError(f"the compiler of kernel {source.entry} did not end within {timeout_s:g} s and was stopped")
    return parameters


def _misfit(info: DeviceInfo, grid: Dim3, block: Dim3, shared_bytes: int) -> str:
    """What is wrong with the sizes of a launch, in words; "" when they fit."""
    if min(block) < 1 or math.prod(block) > info.max_block:
        return f"a block of {block} work-items; the device takes 1 to {info.max_block}"
    if min(grid) < 1 or any(size > most for size, most in zip(grid, info.max_grid, strict=True)):
        return f"a grid of {grid} work-groups; the device takes 1 to {info.max_grid}"
    if not 0 <= shared_bytes <= info.lds_bytes:
        return f"{shared_bytes} bytes of shared memory; the device has {info.lds_bytes}"
    return ""
