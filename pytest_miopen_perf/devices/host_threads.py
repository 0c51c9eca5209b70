"""Launches on the CPU at full speed: the blocks of a kernel over the OS threads of the device."""

from __future__ import annotations

import ctypes
import mmap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from pytest_miopen_perf.devices.host_memory import plain_buffer

if TYPE_CHECKING:
    from pytest_miopen_perf.devices.host_kernel import HostLaunch
    from pytest_miopen_perf.devices.host_memory import HostBuffer

_WORK_ITEMS_FOR_THREADS = 4096
"""Below this a launch stays on the calling thread: waking a second one was measured to cost 20 to 60 microseconds."""


class Scratch:
    """The stacks of a block's work-items. Untouched pages cost nothing, so that they may be large."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)

    def address(self, launch: HostLaunch) -> int:
        """Memory for one block of the launch."""
        nbytes = launch.scratch_bytes()
        if len(self._memory) < nbytes:
            self._memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        return ctypes.addressof(ctypes.c_char.from_buffer(self._memory))


class ThreadTeam:
    """The OS threads of a device, each with its scratch memory."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._helpers = ThreadPoolExecutor(max(1, size - 1), thread_name_prefix="miopen-perf-cpu")
        self._own = threading.local()

    def alloc(self, nbytes: int) -> HostBuffer:
        """Plain memory."""
        return plain_buffer(nbytes)

    def run(self, launch: HostLaunch) -> float:
        """Run all blocks; seconds from the first C call's start to the last one's end.

        Raises:
            LaunchError: a block failed.
        """
        job = launch.job
        workers = min(self._size, job.blocks) if job.blocks * launch.work_items >= _WORK_ITEMS_FOR_THREADS else 1
        job.chunk = max(1, job.blocks // (workers * 16))
        helpers = [self._helpers.submit(self._run_here, launch) for _ in range(workers - 1)]
        spans = [self._run_here(launch)]
        spans += [helper.result() for helper in helpers if not helper.cancel()]
        launch.check(job)
        return max(end for _, end in spans) - min(start for start, _ in spans)

    def close(self) -> None:
        """End the threads."""
        self._helpers.shutdown()

    def _run_here(self, launch: HostLaunch) -> tuple[float, float]:
        """Run blocks on the calling thread until none is left; when the C call started and ended."""
        if not hasattr(self._own, "scratch"):
            self._own.scratch = Scratch()
        scratch = self._own.scratch.address(launch)
        start = time.perf_counter()
        launch.kernel.shared_object.hip_host_run(launch.job, scratch)
        return start, time.perf_counter()
