"""A store that several threads or processes write at the same time."""

import multiprocessing
import threading

import pytest
from database.conftest import CPU, GEMM

from pytest_miopen_perf.database.find_db import FindEntry
from pytest_miopen_perf.database.store import TunedStore


@pytest.fixture
def store(tmp_path):
    return TunedStore(tmp_path / "db", CPU)


def remember_many(directory, problems, worker):
    store = TunedStore(directory, CPU)
    for number, problem in enumerate(problems):
        store.remember(f"Own{worker}", problem, f"{worker}", 0.5)
        store.remember("Shared", problem, f"{worker}", 1.0 + (worker + number) % 4)
        store.remember_find(problem, [FindEntry(f"W{worker}", 1.0, 0, GEMM)])


def assert_nothing_was_lost(directory, problems):
    store = TunedStore(directory, CPU)
    for number, problem in enumerate(problems):
        assert [store.config(f"Own{worker}", problem) for worker in range(4)] == ["0", "1", "2", "3"]
        assert store.config("Shared", problem) == str(-number % 4)  # the one that measured 1 s
        assert len(store.find(problem)) == 1


@pytest.fixture
def problems(make_problem):
    return [make_problem(n=n) for n in range(1, 7)]


def test_threads_lose_nothing(tmp_path, problems):
    start = threading.Barrier(4)

    def work(worker):
        start.wait()
        remember_many(tmp_path, problems, worker)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_nothing_was_lost(tmp_path, problems)


def test_threads_may_share_one_store(store, problems):
    def work(worker):
        for problem in problems:
            store.remember(f"S{worker}", problem, f"{worker}", 0.5)
            assert store.config(f"S{worker}", problem) == f"{worker}"

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for problem in problems:
        assert [store.config(f"S{worker}", problem) for worker in range(4)] == ["0", "1", "2", "3"]


def test_processes_lose_nothing(tmp_path, problems):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=remember_many, args=(tmp_path, problems, worker)) for worker in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert_nothing_was_lost(tmp_path, problems)
