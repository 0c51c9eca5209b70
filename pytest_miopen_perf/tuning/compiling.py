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
_ITEMS_PER_THREAD = 3
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

    @property
    def batch_size(self) -> int:
        """Items of a batch: several a thread, so that few threads idle at its end, and few, so that order can learn."""
        return _ITEMS_PER_THREAD * self.threads


def compiled_batches(
    batches: Iterator[Sequence[Item]],
    compile_one: Callable[[Item], Compiled],
    plan: CompilePlan,
    seconds_left: Callable[[], float],
) -> Generator[list[Future[Compiled]], None, None]:
    """Batch after batch in compilation, in order; close it to stop what has not begun.

    A batch is asked for when its compiling begins. Without batches ahead, all of one is compiled before it comes, or
    time is up: then the last ones of it may be cancelled, and any that still compiles is waited for at the end.

    Args:
        batches: What to compile; an empty batch ends it.
        compile_one: Called in several threads.
        plan: Threads, and batches ahead.
        seconds_left: Time until nobody wants more.
    """
    with ThreadPoolExecutor(plan.threads, thread_name_prefix=_THREAD_NAME) as pool:
        begun: deque[list[Future[Compiled]]] = deque()
        try:
            while True:
                while len(begun) <= plan.batches_ahead and (batch := next(batches, ())):
                    begun.append([pool.submit(compile_one, item) for item in batch])
                if not begun:
                    return
                futures = begun.popleft()
                if not plan.batches_ahead:
                    _finish(futures, seconds_left())
                yield futures
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _finish(futures: Sequence[Future[Compiled]], seconds: float) -> None:
    """Wait for all; when time is up, for those that have begun, and for the first one in any case."""
    _, late = wait(futures, timeout=min(max(0.0, seconds), threading.TIMEOUT_MAX))
    for future in late:
        if future is not futures[0]:
            future.cancel()
    wait(futures)


def all_compiled(items: Sequence[Item], compile_one: Callable[[Item], Compiled], plan: CompilePlan) -> list[Compiled]:
    """Compile everything, then return it in order."""
    with ThreadPoolExecutor(plan.threads, thread_name_prefix=_THREAD_NAME) as pool:
        return list(pool.map(compile_one, items))
