"""Plans for caches: large enough, within the memory, and said in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.errors import NotApplicableError
from pytest_miopen_perf.measuring.cache_state import WARM, plan_caches

MIB = 2**20


def plan(state, **changes):
    return plan_caches(state, **{"cache_bytes": 8 * MIB, "set_bytes": MIB, "free_bytes": 2**40} | changes)


def test_warm_needs_nothing_and_asks_nothing():
    assert plan("warm", cache_bytes=0, free_bytes=0) == WARM


def test_cold_fills_more_than_the_cache():
    cold = plan("cold")
    assert (cold.sets, cold.flush_bytes) == (1, 16 * MIB)
    assert "16.0 MiB are filled before each execution, the cache is told to hold 8.0 MiB" in cold.note


def test_rotating_sets_are_twice_the_cache():
    rotating = plan("rotating")
    assert (rotating.sets, rotating.flush_bytes) == (16, 0)
    assert rotating.note == ("16 sets of buffers take turns, 16.0 MiB in all, the cache is told to hold 8.0 MiB")


def test_memory_that_holds_fewer_sets_is_said():
    assert "4 sets of buffers take turns, 4.0 MiB in all, for memory holds no more where 16 are wanted" in (
        plan("rotating", free_bytes=3 * MIB).note
    )


def test_a_cache_behind_the_one_that_is_told_is_said():
    for state in ("cold", "rotating"):
        assert plan(state, has_memory_side_cache=True).note.endswith(
            "Infinity Cache, where there is one, is not counted"
        )


@pytest.mark.parametrize(
    ("state", "changes", "words"),
    [
        ("cold", {"cache_bytes": 0}, "cannot be made cold: the device does not tell how large"),
        ("rotating", {"cache_bytes": 0}, "cannot be made rotating: the device does not tell how large"),
        ("cold", {"free_bytes": 15 * MIB}, r"takes 16\.0 MiB and 15\.0 MiB may be used"),
        ("rotating", {"free_bytes": MIB - 1}, r"a second set takes 1\.0 MiB and 1024\.0 KiB may be used"),
    ],
)
def test_what_cannot_be_is_not_applicable(state, changes, words):
    with pytest.raises(NotApplicableError, match=words):
        plan(state, **changes)


@given(st.integers(1, 2**30), st.integers(1, 2**33), st.integers(0, 2**36))
def test_rotating_sets_stay_between_two_and_four_caches_and_within_the_memory(cache_bytes, set_bytes, free_bytes):
    try:
        rotating = plan_caches("rotating", cache_bytes=cache_bytes, set_bytes=set_bytes, free_bytes=free_bytes)
    except NotApplicableError:
        assert free_bytes < set_bytes
        return
    total = rotating.sets * set_bytes
    assert rotating.sets >= 2
    assert (rotating.sets - 1) * set_bytes <= free_bytes
    if "memory holds no more" not in rotating.note:
        assert total >= 2 * cache_bytes
        assert total <= max(4 * cache_bytes, 2 * set_bytes)
