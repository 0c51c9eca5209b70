"""A second process on a GPU, in which what nobody has seen end yet is launched first.

No GPU runtime ends a kernel or survives a wild access: either takes the context of its process along. So the process
that measures sends an understudy ahead, with memory of the same sizes; what kills it costs one launch. Its memory holds
zeros: where the kernels of a convolution go is decided by indices, not by data.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import threading
import time
import warnings
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from pytest_miopen_perf.child_process import in_the_same_python
from pytest_miopen_perf.devices import DevicePointer, load_backend
from pytest_miopen_perf.errors import CompileError, DeviceError, LaunchError, OutOfMemoryError, PerfError, PerfWarning

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_miopen_perf.devices import Device, DeviceOptions
    from pytest_miopen_perf.launch import Dim3, KernelSource, Scalar

_START_SECONDS = 120.0
_STEP_SECONDS = 1.0
_READY, _STARTED, _ENDED, _NO_ROOM = "ready", "started", "ended", "no room"


@dataclass(frozen=True, slots=True)
class Memory:
    """What a pointer of a launch points into: the size of its buffer, and where in it."""

    nbytes: int
    offset_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """One launch without its data.

    Attributes:
        source: The kernel.
        grid: Work-groups.
        block: Work-items of each.
        args: Arguments.
        shared_bytes: Dynamic shared memory.
    """

    source: KernelSource
    grid: Dim3
    block: Dim3
    args: tuple[Scalar | Memory, ...]
    shared_bytes: int = 0

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.source.entry} of {self.source.file}"


class Understudy:
    """The process of one device; it starts with the first rehearsal, and anew after one that killed it.

    Args:
        backend: Of the device.
        options: Of the device.
    """

    def __init__(self, backend: str, options: DeviceOptions) -> None:
        self._backend = backend
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._is_wanted = True

    def rehearse(self, rehearsal: Rehearsal, limit_seconds: float) -> None:
        """Launch and wait for the end; where there is no second process or no memory for it, nothing happens.

        Raises:
            LaunchError: it hangs or crashes.
        """
        connection = self._connected()
        if connection is None:
            return
        try:
            connection.send(rehearsal)
            answer = connection.recv()  # a compiler has limits of its own
            if answer == _STARTED:
                answer = self._end_of(rehearsal, connection, limit_seconds)
        except (EOFError, OSError) as error:
            code = self._killed()
            raise LaunchError(f"{rehearsal.name} ended its process with {code}, which was launched apart") from error
        except BaseException:
            self.close()
            raise
        if answer not in (_ENDED, _NO_ROOM):
            self.close()  # what failed in a context may have broken it
            raise LaunchError(answer)

    def close(self) -> None:
        """End the process; a second call does nothing."""
        self._killed()

    def _end_of(self, rehearsal: Rehearsal, connection: Connection, limit_seconds: float) -> str:
        if not connection.poll(limit_seconds):
            self._killed()
            return f"{rehearsal.name} did not end within {limit_seconds:g} s and was stopped"
        answer: str = connection.recv()
        return answer

    def _connected(self) -> Connection | None:
        """The way to a process that is ready; None where there can be none, which is told once."""
        if self._connection is None and self._is_wanted:
            reason = self._start()
            if reason:
                self._killed()
                self._is_wanted = False
                warnings.warn(
                    f"a kernel that hangs or crashes will end this session: no second process gets hold of the device "
                    f"({reason})",
                    PerfWarning,
                    stacklevel=2,
                )
        return self._connection

    def _start(self) -> str:
        """Start the process; why it is not ready, or ""."""
        try:
            own = self._connection = self._spawned()
        except OSError as error:
            return str(error)
        try:
            own.send((self._backend, self._options))
            answer: str = own.recv() if own.poll(_START_SECONDS) else f"it was not ready after {_START_SECONDS:g} s"
        except (EOFError, OSError):
            return "it died at once"
        return "" if answer == _READY else answer

    def _spawned(self) -> Connection:
        """Start the process; the way to it."""
        own, its = Pipe()
        with its:
            # Where standard streams are closed a pipe gets their numbers, and over there they are streams.
            descriptor = fcntl.fcntl(its.fileno(), fcntl.F_DUPFD, 3)
        try:
            self._process = subprocess.Popen(
                in_the_same_python(f"import {__name__}; {__name__}.main({descriptor}, {os.getpid()})"),
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the process that leads
            )
        finally:
            os.close(descriptor)
        return own

    def _killed(self) -> int:
        """No process any more; the code it ended with, or 0."""
        process, self._process = self._process, None
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if process is None:
            return 0
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def main(descriptor: int, leader: int) -> None:
    """The process: rehearsals in, words out, until the leading process closes the way or has gone."""
    threading.Thread(target=_end_with, args=(leader,), daemon=True).start()
    connection = Connection(descriptor)
    backend, options = connection.recv()
    try:
        device = load_backend(backend).open_device(options)
    except PerfError as error:
        connection.send(str(error))
        return
    connection.send(_READY)
    while True:
        try:
            rehearsal: Rehearsal = connection.recv()
        except EOFError:
            return
        connection.send(perform(device, rehearsal, lambda: connection.send(_STARTED)))


def perform(device: Device, rehearsal: Rehearsal, tell_start: Callable[[], None]) -> str:
    """Launch and wait; how it ended, in words."""
    try:
        kernel = device.compile(rehearsal.source)
        buffers = [device.alloc(one.nbytes) for one in rehearsal.args if isinstance(one, Memory)]
    except OutOfMemoryError:
        return _NO_ROOM
    except CompileError as error:
        return str(error)
    try:
        for buffer in buffers:
            device.fill(buffer, 0)
        left = iter(buffers)
        args = [
            DevicePointer(next(left), one.offset_bytes) if isinstance(one, Memory) else one for one in rehearsal.args
        ]
        tell_start()
        device.launch(kernel, rehearsal.grid, rehearsal.block, args, rehearsal.shared_bytes).seconds()
        for buffer in buffers:
            buffer.free()
    except DeviceError as error:
        return str(error)
    return _ENDED


def _end_with(leader: int) -> None:
    """End as soon as the leading process has gone: a thread that waits for a kernel would not notice."""
    while os.getppid() == leader:
        time.sleep(_STEP_SECONDS)
    os._exit(1)
