"""Whose processes they are: this one's, its session's, or somebody else's."""

import os
import subprocess
import sys

import pytest

from pytest_miopen_perf.telemetry.household import Household

ME = os.getpid()


@pytest.fixture
def child():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process.pid
    process.communicate()


def test_alone_all_others_are_strangers():
    household = Household.of_process()
    assert household.strangers([ME]) == 0
    assert household.strangers([ME, os.getppid()]) == 1
    assert household.strangers([ME, ME, 1]) == 1


def test_children_belong_to_their_parent(child):
    assert Household.of_process().strangers([ME, child]) == 0
    assert Household(root=child).strangers([ME, child]) == 1


def test_workers_of_one_controller_belong_together():
    workers = Household.of_process(worker_count=4)
    assert (workers.root, workers.size) == (os.getppid(), 8)
    assert workers.strangers([ME, os.getppid()]) == 0
    assert workers.with_one_more() == Household(root=os.getppid(), size=10)


def test_a_process_that_has_gone_is_a_stranger():
    assert Household.of_process().strangers([ME, 2**22 + 1]) == 1


def test_where_the_numbers_are_those_of_the_host_as_many_as_the_session_has_are_its_own():
    """In a container, this process is on the device but not on the list."""
    assert Household(root=ME).strangers([2**22 + 1]) == 0
    assert Household(root=ME).strangers([2**22 + 1, 2**22 + 2]) == 1
    assert Household(root=ME, size=4).strangers([2**22 + n for n in range(1, 4)]) == 0


def test_an_empty_list_tells_nothing():
    """This process holds the device, so that a list without anybody is none."""
    assert Household(root=ME).strangers([]) is None
