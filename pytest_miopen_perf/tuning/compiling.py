"""Compiling in threads, a batch at a time, ahead of the thread that measures."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

Item = TypeVar("Item")
Compiled = TypeVar("Compiled")

MOST_THREADS = 16
_FEWEST_ITEMS_PER_THREAD = 3
_MOST_ITEMS_PER_THREAD = 8
_BATCHES = 12
_THREAD_NAME = "miopen-perf-compile"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilePlan:
    """Who compiles when.

    Attributes:
        threads: How many compile at a time.
        batches_ahead: Batches that are compiled while one is measured; 0 where compiling would disturb the times.
    """

    threads: int
    batches_ahead: int

    @staticmethod
    def for_device(backend: str, cores: int) -> CompilePlan:
        """On the CPU device every core compiles and none while a time is taken; elsewhere half of them, as MIOpen."""
        if backend == "cpu":
            return CompilePlan(threads=min(cores, MOST_THREADS), batches_ahead=0)
        return CompilePlan(threads=min(max(1, cores // 2), MOST_THREADS), batches_ahead=1)

    def batch_size(self, total: int) -> int:
        """Items of a batch: few, so that an order can learn from the last one, and many, so that few threads idle.

        Args:
            total: Of all batches together.
        """
        fewest, most = _FEWEST_ITEMS_PER_THREAD * self.threads, _MOST_ITEMS_PER_THREAD * self.threads
        return min(max(fewest, total // _BATCHES), most)


def compiled_batches(
    batches: Iterator[Sequence[Item]], compile_one: Callable[[Item], Compiled], plan: CompilePlan
) -> Generator[list[Future[Compiled]], None, None]:
    """Batch after batch in compilation, in order; close it to stop what has not begun.

    A batch is asked for when its compiling begins. Without batches ahead that is when the one before is done with, and
    nothing compiles any more once every result of a batch has been waited for.

    Args:
        batches: What to compile; an empty batch ends it.
        compile_one: Called in several threads.
        plan: Threads, and batches ahead.
    """
    with ThreadPoolExecutor(plan.threads, thread_name_prefix=_THREAD_NAME) as pool:
        begun: deque[list[Future[Compiled]]] = deque()
        try:
            while True:
                while len(begun) <= plan.batches_ahead and (batch := next(batches, ())):
                    begun.append([pool.submit(compile_one, item) for item in batch])
                if not begun:
                    return
                yield begun.popleft()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def results_in_time(futures: Sequence[Future[Compiled]], seconds_left: Callable[[], float]) -> Iterator[Compiled]:
    """What a batch has compiled, in order as it is ready; when time is up no more, but the first one in any case.

    What has not begun by then is cancelled, and what has begun is waited for: whoever measures next is undisturbed.
    """
    for future in futures:
        if future is not futures[0]:
            wait([future], timeout=min(max(0.0, seconds_left()), threading.TIMEOUT_MAX))
            if not future.done():
                break
        yield future.result()
    for future in futures:
        future.cancel()
    wait(futures)
