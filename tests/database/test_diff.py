import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.database.diff import Change, Winner, diff_find_dbs, diff_perf_dbs
from pytest_miopen_perf.errors import DatabaseError


@pytest.fixture
def diff(database):
    def compare(old, new, **how):
        old_path = database(*old, name="old.ufdb.txt")
        return diff_find_dbs(old_path, database(*new, name="new.ufdb.txt"), **how)

    return compare


@pytest.mark.parametrize(
    ("old", "new", "change", "winner"),
    [
        ("A:1,0,a;B:2,0,a", "A:1.04,0,a;B:2,0,a", Change.SAME, Winner.SAME),
        ("A:1,0,a;B:2,0,a", "A:1.06,0,a;B:2,0,a", Change.SLOWER, Winner.SAME),
        ("A:1,0,a;B:2,0,a", "A:0.9,0,a;B:2,0,a", Change.FASTER, Winner.SAME),
        ("A:1,0,a;B:1.02,0,a", "A:1.5,0,a;B:1,0,a", Change.SAME, Winner.TIED),  # a coin toss before
        ("A:1,0,a;B:1.5,0,a", "A:1,0,a;B:0.98,0,a", Change.SAME, Winner.TIED),  # a coin toss now
        ("A:1,0,a;B:2,0,a", "A:2,0,a;B:1,0,a", Change.SAME, Winner.CHANGED),
        ("A:1,0,a;B:2,0,a", "B:1.84,0,a", Change.SLOWER, Winner.CHANGED),
        ("A:1,0,a", "C:1,0,a", Change.SAME, Winner.CHANGED),
        ("A:0.0,0,a", "A:1,0,a", Change.UNMEASURED, Winner.UNMEASURED),
        ("A:1,0,a;Z:0.0,0,a", "A:1,0,a;Z:nan,0,a", Change.SAME, Winner.SAME),
    ],
)
def test_times_and_winners(diff, old, new, change, winner):
    (one,) = diff([f"k={old}"], [f"k={new}"]).differences
    assert (one.change, one.winner) == (change, winner)
    (back,) = diff([f"k={new}"], [f"k={old}"]).differences
    opposite = {Change.FASTER: Change.SLOWER, Change.SLOWER: Change.FASTER}
    assert (back.change, back.winner) == (opposite.get(change, change), winner)


def test_the_noise_is_the_callers(diff):
    lines = ["k=A:1,0,a"], ["k=A:1.2,0,a"]
    assert diff(*lines, noise=0.3).differences[0].change is Change.SAME
    assert diff(*lines).count(Change.SLOWER) == 1


def test_what_only_one_side_holds_and_the_geometric_mean(diff):
    result = diff(["a=A:1,0,a", "b=A:1,0,a", "c=A:1,0,a", "junk"], ["b=A:2,0,a", "c=A:8,0,a", "d=A:1,0,a"])
    assert (result.only_old, result.only_new, len(result.faults)) == (("a",), ("d",), 1)
    assert result.geometric_mean == pytest.approx(4)
    assert diff(["a=A:1,0,a"], ["b=A:1,0,a"]).geometric_mean is None


def test_of_a_key_that_stands_twice_the_first_counts(diff):
    (one,) = diff(["a=A:1,0,a", "a=A:9,0,a"], ["a=A:1,0,a"]).differences
    assert one.change is Change.SAME


def test_only_find_dbs_have_times(database):
    find, perf = database("a-b=A:1,0,a", name="a.ufdb.txt"), database("axb=A:1", name="a.udb.txt")
    with pytest.raises(DatabaseError, match=r"a\.udb\.txt is no find-db"):
        diff_find_dbs(find, perf)
    with pytest.raises(DatabaseError, match=r"a\.ufdb\.txt is a find-db"):
        diff_perf_dbs(perf, find)


def test_perf_dbs_differ_config_for_config(database):
    old = database("k=A:1,2;B:3", "l=A:1", name="old.udb.txt")
    new = database("k=A:1,2;B:4", "m=A:1", name="new.udb.txt")
    result = diff_perf_dbs(old, new)
    assert [(one.key, one.solver, one.old, one.new) for one in result.differences] == [
        ("k", "B", "3", "4"),
        ("l", "A", "1", None),
        ("m", "A", None, "1"),
    ]
    assert result.equal == 1


def test_a_data_base_differs_from_itself_in_nothing(sample):
    path = sample("sample_v2.ufdb.txt")
    result = diff_find_dbs(path, path)
    assert len(result.differences) == result.count(Change.SAME) == result.count(Winner.SAME) == 7
    assert result.geometric_mean == 1
    assert diff_perf_dbs(sample("sample.udb.txt"), sample("sample.udb.txt")).differences == ()


@given(st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)), min_size=1, max_size=8))
def test_the_mean_is_that_of_the_ratios(tmp_path_factory, times):
    folder = tmp_path_factory.mktemp("diff")
    for name, side in (("old", 0), ("new", 1)):
        lines = [f"k{n}=A:{pair[side]!r},0,a\n" for n, pair in enumerate(times)]
        (folder / f"{name}.ufdb.txt").write_text("".join(lines))
    result = diff_find_dbs(folder / "old.ufdb.txt", folder / "new.ufdb.txt")
    product = math.prod(new / old for old, new in times)
    assert result.geometric_mean == pytest.approx(product ** (1 / len(times)))
