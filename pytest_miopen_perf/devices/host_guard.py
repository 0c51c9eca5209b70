"""Launches on the CPU behind a guard: a stray access or an endless loop ends a child process, not this one.

Buffers are shared with the child. They end exactly at a stretch of addresses that nobody may touch, and such a stretch
lies in front of them too; what alignment leaves between it and the first byte is filled with 0xFF, which reads as NaN
and shows a write afterwards.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import signal
import time
import warnings
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from pytest_miopen_perf.devices.host_kernel import LOADER, Job, place_text
from pytest_miopen_perf.devices.host_memory import HostBuffer, shared_pages
from pytest_miopen_perf.devices.host_threads import Scratch
from pytest_miopen_perf.errors import LaunchError, OutOfMemoryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_miopen_perf.devices.host_kernel import HostLaunch

GUARD_BYTES = 1 << 24
"""Untouchable addresses on either side of a buffer: an index that is wrong by a row or a plane still lands in them."""

_FRONT_CANARY = 0xFF
_PROT_NONE = 0
_SA_SIGINFO, _SA_ONSTACK, _SA_RESETHAND = 4, 0x08000000, 0x80000000
_ALTERNATE_STACK_BYTES = 65536
_GENERAL_PROTECTION = 13
_FAULT_SIGNALS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)


class GuardedBuffer(HostBuffer):
    """A buffer between two stretches of addresses that nobody may touch."""

    def __init__(self, nbytes: int) -> None:
        pages = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        whole = shared_pages(pages + 2 * GUARD_BYTES)
        end = GUARD_BYTES + pages
        super().__init__(nbytes, whole[end - nbytes : end])
        self._front: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] = whole[GUARD_BYTES : end - nbytes]
        self._front.fill(_FRONT_CANARY)
        for start in (0, end):
            _protect(whole.ctypes.data + start)

    def front_is_intact(self) -> bool:
        """Nobody wrote between the guard in front and the first byte."""
        return bool((self._front == _FRONT_CANARY).all())

    def offset_of(self, address: int) -> int | None:
        """Where an address in the buffer or its guards lies, counted from the first byte; None for any other."""
        offset = address - self.address
        inside = -GUARD_BYTES - self._front.size <= offset < self.nbytes + GUARD_BYTES
        return offset if inside else None

    def free(self) -> None:
        """Give the memory back; a second call does nothing."""
        super().free()
        self._front = np.empty(0, np.uint8)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _protect(address: int) -> None:
    if _libc().mprotect(ctypes.c_void_p(address), ctypes.c_size_t(GUARD_BYTES), _PROT_NONE):
        raise OutOfMemoryError(f"cannot guard a buffer on the CPU: {os.strerror(ctypes.get_errno())}")


class _Report(ctypes.Structure):
    """What the child tells, in memory that both processes share; it begins as `hip_host_fault` of hip_host_entry.h."""

    _fields_ = [
        ("address", ctypes.c_void_p),
        ("trap", ctypes.c_int),
        ("is_write", ctypes.c_int),
        ("block", ctypes.c_uint * 3),
        ("thread", ctypes.c_uint * 3),
        ("has_ended", ctypes.c_int),
        ("seconds", ctypes.c_double),
        ("job", Job),
    ]


class _SignalAction(ctypes.Structure):
    """`struct sigaction` of glibc and musl on 64-bit Linux."""

    _fields_ = [
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_uint),
        ("restorer", ctypes.c_void_p),
    ]


class _SignalStack(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]


class GuardedExecution:
    """Each launch in a child process of its own, on one thread, for a limited time.

    Buffers need not be guarded for that: what is not shared with the child is memory that it cannot harm.
    """

    def __init__(self, limit_seconds: float) -> None:
        self._limit_seconds = limit_seconds
        self._scratch = Scratch()

    def alloc(self, nbytes: int) -> HostBuffer:
        """Guarded memory."""
        return GuardedBuffer(nbytes)

    def run(self, launch: HostLaunch, limit_seconds: float | None = None) -> float:
        """Run all blocks; seconds of the C call in the child.

        Args:
            launch: What to run.
            limit_seconds: When the child is stopped; None is the limit of all launches.

        Raises:
            LaunchError: a stray access, an endless loop, or a failed block.
        """
        launch.job.watched = 1
        report = _Report.from_buffer(mmap.mmap(-1, ctypes.sizeof(_Report), flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))
        report.job = launch.job
        limit_seconds = limit_seconds or self._limit_seconds
        status = _wait(self._fork(launch, report, limit_seconds))
        if not report.has_ended:
            raise LaunchError(f"{launch.kernel.name}: {_end_text(status, report, launch.buffers, limit_seconds)}")
        launch.check(report.job)
        _check_fronts(launch)
        return float(report.seconds)

    def close(self) -> None:
        """There is nothing to end."""

    def _fork(self, launch: HostLaunch, report: _Report, limit_seconds: float) -> int:
        scratch = self._scratch.address(launch)
        with warnings.catch_warnings():
            # Python 3.12 warns of a fork beside other threads; this child takes no lock that they could hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            with LOADER:
                pid = os.fork()
        if pid == 0:
            _child(launch, report, scratch, limit_seconds)
        return pid


def _end_text(status: int, report: _Report, buffers: Sequence[HostBuffer | None], limit_seconds: float) -> str:
    if not os.WIFSIGNALED(status):
        return f"the child process of the guarded launch ended with status {os.waitstatus_to_exitcode(status)}"
    ended_by = os.WTERMSIG(status)
    if ended_by == signal.SIGALRM:
        return f"did not end within {limit_seconds:g} s and was stopped"
    if ended_by not in _FAULT_SIGNALS:
        return f"the child process of the guarded launch was killed by {signal.Signals(ended_by).name}"
    return f"work-item {place_text(report.thread)} of block {place_text(report.block)} " + _fault_text(
        ended_by, report, buffers
    )


def _wait(pid: int) -> int:
    """The child's wait status; whatever interrupts the wait ends the child too."""
    try:
        return os.waitpid(pid, 0)[1]
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def _child(launch: HostLaunch, report: _Report, scratch: int, limit_seconds: float) -> NoReturn:
    """Leaves by `os._exit` whatever happens: the clean-up of this process's copy of pytest is not ours to run."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        signal.setitimer(signal.ITIMER_REAL, limit_seconds)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        stack = _report_faults(launch.kernel.shared_object, report)
        start = time.perf_counter()
        launch.kernel.shared_object.hip_host_run(report.job, scratch)
        report.seconds = time.perf_counter() - start
        report.has_ended = 1
        del stack
    finally:
        os._exit(0)


def _report_faults(library: ctypes.CDLL, report: _Report) -> object:
    """Let the kernel's own handler note a fault; it runs once, on a stack of its own, and then the signal kills."""
    libc = _libc()
    ctypes.c_void_p.in_dll(library, "hip_host_report").value = ctypes.addressof(report)
    stack = ctypes.create_string_buffer(_ALTERNATE_STACK_BYTES)
    libc.sigaltstack(ctypes.byref(_SignalStack(address=ctypes.addressof(stack), size=_ALTERNATE_STACK_BYTES)), None)
    handler = ctypes.cast(library.hip_host_on_fault, ctypes.c_void_p)
    action = _SignalAction(handler=handler, flags=_SA_SIGINFO | _SA_ONSTACK | _SA_RESETHAND)
    for number in _FAULT_SIGNALS:
        libc.sigaction(int(number), ctypes.byref(action), None)
    return stack


def _fault_text(number: int, report: _Report, buffers: Sequence[HostBuffer | None]) -> str:
    if number == signal.SIGFPE:
        return "divided an integer by zero"
    if number == signal.SIGILL:
        return "ran into an instruction that this CPU does not have, or into code that its text says is unreachable"
    if report.trap == _GENERAL_PROTECTION:
        return "used a pointer whose alignment its type forbids; a guarded buffer is as aligned as its size is"
    verb = "wrote" if report.is_write else "read"
    address = report.address or 0
    for argument, buffer in enumerate(buffers, start=1):
        offset = buffer.offset_of(address) if isinstance(buffer, GuardedBuffer) else None
        if buffer and offset is not None:
            side = (
                f"{offset - buffer.nbytes} bytes past the end" if offset >= 0 else f"{-offset} bytes before the start"
            )
            return f"{verb} {side} of argument {argument}, a buffer of {buffer.nbytes} bytes"
    return f"{verb} address {address:#x}, which is near no argument's buffer"


def _check_fronts(launch: HostLaunch) -> None:
    for argument, buffer in enumerate(launch.buffers, start=1):
        if isinstance(buffer, GuardedBuffer) and not buffer.front_is_intact():
            raise LaunchError(
                f"{launch.kernel.name}: wrote before the start of argument {argument}, "
                f"a buffer of {buffer.nbytes} bytes"
            )
