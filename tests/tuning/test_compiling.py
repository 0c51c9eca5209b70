"""Compiling in threads: in order, in parallel, not while somebody measures, and not beyond its time."""

import threading
import time
from contextlib import closing

import pytest

from pytest_miopen_perf.tuning.compiling import CompilePlan, compiled_batches, results_in_time

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
    with closing(compiled_batches(batches_of(3, 1, 4), lambda item: item * item, plan)) as batches:
        assert [[future.result() for future in batch] for batch in batches] == [[0, 1, 4], [9], [16, 25, 36, 49]]


def test_two_compile_at_a_time():
    both = threading.Barrier(2, timeout=10)
    with closing(compiled_batches(batches_of(2), lambda item: both.wait(), QUIET)) as batches:
        assert sorted(future.result() for future in next(batches)) == [0, 1]


def test_nothing_compiles_while_a_quiet_batch_is_measured():
    running = set()

    def compile_one(item):
        running.add(item)
        time.sleep(0.01)
        running.discard(item)

    with closing(compiled_batches(batches_of(3, 3, 3), compile_one, QUIET)) as batches:
        for batch in batches:
            assert len(list(results_in_time(batch, forever))) == 3
            assert not running


def test_the_next_batch_compiles_while_one_is_measured():
    begun = [threading.Event() for _ in range(4)]
    with closing(compiled_batches(batches_of(2, 2), lambda item: begun[item].set(), AHEAD)) as batches:
        next(batches)
        assert begun[2].wait(10)


def test_a_batch_is_asked_for_when_its_compiling_begins():
    asked = []

    def batches():
        for number in range(3):
            asked.append(number)
            yield [number]

    with closing(compiled_batches(batches(), lambda item: item, QUIET)) as compiled:
        next(compiled)
        assert asked == [0]


def test_results_come_as_they_are_ready_while_others_compile():
    first_is_taken = threading.Event()

    def compile_one(item):
        assert item == 0 or first_is_taken.wait(10)
        return item

    with closing(compiled_batches(batches_of(4), compile_one, QUIET)) as batches:
        results = results_in_time(next(batches), forever)
        assert next(results) == 0
        first_is_taken.set()
        assert list(results) == [1, 2, 3]


def test_when_time_is_up_what_has_begun_is_waited_for_and_the_rest_is_not_compiled():
    gate = threading.Event()
    begun = [threading.Event() for _ in range(6)]
    ended = []

    def compile_one(item):
        begun[item].set()
        assert item == 0 or gate.wait(10)
        ended.append(item)
        return item

    with closing(compiled_batches(batches_of(6), compile_one, QUIET)) as batches:
        results = results_in_time(next(batches), lambda: 0.0)
        assert next(results) == 0
        assert begun[1].wait(10)
        assert begun[2].wait(10)
        threading.Timer(0.2, gate.set).start()
        assert list(results) == []
        assert sorted(ended) == [0, 1, 2]


def test_closing_stops_what_has_not_begun():
    done = []
    batches = compiled_batches(batches_of(2, 50), lambda item: (time.sleep(0.002), done.append(item)), AHEAD)
    next(batches)
    batches.close()
    assert len(done) < 52


@pytest.mark.parametrize(
    ("backend", "cores", "threads", "ahead"),
    [("cpu", 2, 2, 0), ("hip", 1, 1, 1), ("cuda", 8, 4, 1), ("hip", 256, 16, 1)],
)
def test_who_compiles_when(backend, cores, threads, ahead):
    plan = CompilePlan.for_device(backend, cores)
    assert (plan.threads, plan.batches_ahead) == (threads, ahead)
    assert plan.batch_size(1) >= threads


def test_a_batch_grows_with_the_search_so_that_few_threads_idle():
    assert [QUIET.batch_size(total) for total in (1, 50, 120, 200, 10000)] == [6, 6, 10, 16, 16]
