"""Compiling in threads: in order, in parallel, not while somebody measures, and not beyond its time."""

import threading
import time
from contextlib import closing

import pytest

from pytest_miopen_perf.tuning.compiling import CompilePlan, all_compiled, compiled_batches

QUIET = CompilePlan(threads=2, batches_ahead=0)
AHEAD = CompilePlan(threads=2, batches_ahead=1)


def forever():
    return float("inf")


def batches_of(*sizes):
    start = 0
    for size in sizes:
        yield list(range(start, start + size))
        start += size


@pytest.mark.parametrize("plan", [QUIET, AHEAD])
def test_results_come_in_order(plan):
    with closing(compiled_batches(batches_of(3, 1, 4), lambda item: item * item, plan, forever)) as batches:
        assert [[future.result() for future in batch] for batch in batches] == [[0, 1, 4], [9], [16, 25, 36, 49]]


def test_two_compile_at_a_time():
    both = threading.Barrier(2, timeout=10)
    with closing(compiled_batches(batches_of(2), lambda item: both.wait(), QUIET, forever)) as batches:
        assert sorted(future.result() for future in next(batches)) == [0, 1]


def test_nothing_compiles_while_a_quiet_batch_is_measured():
    running = set()

    def compile_one(item):
        running.add(item)
        time.sleep(0.01)
        running.discard(item)

    with closing(compiled_batches(batches_of(3, 3, 3), compile_one, QUIET, forever)) as batches:
        for batch in batches:
            assert all(future.done() for future in batch)
            assert not running


def test_the_next_batch_compiles_while_one_is_measured():
    begun = [threading.Event() for _ in range(4)]
    with closing(compiled_batches(batches_of(2, 2), lambda item: begun[item].set(), AHEAD, forever)) as batches:
        next(batches)
        assert begun[2].wait(10)


def test_a_batch_is_asked_for_when_its_compiling_begins():
    asked = []

    def batches():
        for number in range(3):
            asked.append(number)
            yield [number]

    with closing(compiled_batches(batches(), lambda item: item, QUIET, forever)) as compiled:
        next(compiled)
        assert asked == [0]


def test_when_time_is_up_only_the_first_and_what_has_begun_are_compiled():
    gate = threading.Event()
    begun = threading.Semaphore(0)

    def seconds_left():
        assert all(begun.acquire(timeout=10) for _ in range(2))
        threading.Timer(0.5, gate.set).start()
        return 0.0

    def compile_one(item):
        begun.release()
        gate.wait(10)
        return item

    with closing(compiled_batches(batches_of(6), compile_one, QUIET, seconds_left)) as batches:
        batch = next(batches)
    assert batch[0].result() == 0
    assert [future.cancelled() for future in batch] == [False, False, True, True, True, True]


def test_closing_stops_what_has_not_begun():
    done = []
    batches = compiled_batches(batches_of(2, 50), lambda item: (time.sleep(0.002), done.append(item)), AHEAD, forever)
    next(batches)
    batches.close()
    assert len(done) < 52


def test_everything_at_once():
    assert all_compiled([3, 1, 2], lambda item: -item, QUIET) == [-3, -1, -2]


@pytest.mark.parametrize(
    ("backend", "cores", "threads", "ahead"),
    [("cpu", 2, 2, 0), ("hip", 1, 1, 1), ("cuda", 8, 4, 1), ("hip", 256, 16, 1)],
)
def test_who_compiles_when(backend, cores, threads, ahead):
    plan = CompilePlan.for_device(backend, cores)
    assert (plan.threads, plan.batches_ahead) == (threads, ahead)
    assert plan.batch_size >= threads
