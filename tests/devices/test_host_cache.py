"""The last-level cache, from folders such as Linux shows."""

import os

import pytest

from pytest_miopen_perf.devices.host_cache import host_cache_bytes


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Write caches of processors: machine({0: [(level, kind, size, sharers)]})."""

    def write(caches):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(caches))
        for number, found in caches.items():
            for index, (level, kind, size, sharers) in enumerate(found):
                folder = tmp_path / f"cpu{number}" / "cache" / f"index{index}"
                folder.mkdir(parents=True)
                values = {"level": level, "type": kind, "size": size, "shared_cpu_list": sharers}
                for name, value in values.items():
                    (folder / name).write_text(f"{value}\n")
        return tmp_path

    return write


def test_a_shared_cache_counts_once(machine):
    own = [(1, "Data", "32K", "{}"), (1, "Instruction", "32K", "{}"), (2, "Unified", "1M", "{}")]
    shared = [(3, "Unified", "32768K", "0-1")]
    assert host_cache_bytes(machine({n: [*own, *shared] for n in (0, 1)})) == 32 * 2**20


def test_several_last_level_caches_add_up(machine):
    assert host_cache_bytes(machine({n: [(3, "Unified", "16M", str(n))] for n in (0, 1, 2)})) == 48 * 2**20


def test_the_last_level_may_be_the_second(machine):
    found = [(1, "Data", "48K", "0"), (2, "Unified", "512K", "0"), (1, "Instruction", "64K", "0")]
    assert host_cache_bytes(machine({0: found})) == 512 * 2**10


@pytest.mark.parametrize("size", ["", "many", "12X"])
def test_a_size_that_is_none_is_nothing(machine, size):
    assert host_cache_bytes(machine({0: [(3, "Unified", size, "0")]})) == 0


def test_a_system_that_tells_nothing_has_nothing(tmp_path):
    assert host_cache_bytes(tmp_path) == 0
