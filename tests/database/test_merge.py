import pytest
from database.conftest import CPU
from hypothesis import given
from hypothesis import strategies as st
from test_sqlite_db import KEY, add, make

from pytest_miopen_perf.database.files import format_record
from pytest_miopen_perf.database.find_db import find_records
from pytest_miopen_perf.database.merge import fastest_measured, merge_databases, merge_records
from pytest_miopen_perf.database.record_lines import FaultKind
from pytest_miopen_perf.database.store import TunedStore
from pytest_miopen_perf.errors import DatabaseError
from pytest_miopen_perf.problem import ConvProblem

(PROBLEM,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1")


def merge_find(*files):
    items = [item for number, lines in enumerate(files) for item in find_records(lines, f"db{number}")]
    return merge_records(items, choose=fastest_measured)


def lines_of(merge):
    return [format_record(record) for record in merge.records]


def test_the_fastest_measured_entry_stays_and_the_others_are_listed():
    merge = merge_find(
        [b"k=A:3,0,a;B:0.0,0,a", b"l=A:1,0,a"],
        [b"m=A:1,0,a", b"k=A:2,5,a;B:9,0,a"],
        [b"k=A:4,0,a;C:1,0,a"],
    )
    assert lines_of(merge) == ["k=A:2,5,a;B:9,0,a;C:1,0,a", "l=A:1,0,a", "m=A:1,0,a"]
    first, second = merge.conflicts
    assert (first.key, first.solver, first.kept.file, first.kept.line) == ("k", "A", "db1", 2)
    assert [(one.entry.stated_ms, one.file) for one in first.dropped] == [(3.0, "db0"), (4.0, "db2")]
    assert (second.solver, second.kept.entry.stated_ms, second.dropped[0].entry.stated_ms) == ("B", 9.0, 0.0)


def test_equal_entries_are_no_conflict():
    merge = merge_find([b"k=A:3,0,a;B:nan,0,a"], [b"k=B:nan,0,a;A:3,0,a"])
    assert merge.conflicts == ()
    assert lines_of(merge) == ["k=A:3,0,a;B:nan,0,a"]


def test_of_equal_times_the_first_stays():
    (conflict,) = merge_find([b"k=A:3,1,a"], [b"k=A:3,2,a"], [b"k=A:3,1,a"]).conflicts
    assert conflict.kept.file == "db0"
    assert [one.file for one in conflict.dropped] == ["db1"]


def test_what_cannot_be_read_is_listed():
    merge = merge_find([b"broken", b"k=A:1,0,a"])
    assert [fault.kind for fault in merge.faults] == [FaultKind.NO_KEY]
    assert len(merge.records) == 1


def test_both_forms_of_find_dbs_merge_into_the_new_one(database):
    word = "miopenConvolutionFwdAlgoGEMM"
    old = database(f"a-b={word}:S,2,0,{word},<unused>", name="old.fdb.txt")
    new = database(f"a-b=S:1,0,{word}", name="new.ufdb.txt")
    assert lines_of(merge_databases([old, new])) == [f"a-b=S:1,0,{word}"]
    assert lines_of(merge_databases([new, old])) == [f"a-b=S:1,0,{word}"]


def test_the_perf_db_named_last_wins(database, tmp_path):
    files = [database(f"{KEY}=A:{config};B:7", name=f"{n}.udb.txt") for n, config in enumerate(("1,2", "3: 4", "1,2"))]
    merge = merge_databases(files)
    assert lines_of(merge) == [f"{KEY}=A:1,2;B:7"]
    (conflict,) = merge.conflicts
    assert conflict.kept.file == str(files[2])
    assert [one.entry.config for one in conflict.dropped] == ["3: 4"]
    with make(tmp_path / "gfx.db") as connection:
        add(connection, 1, KEY, A="9")
    connection.close()
    assert lines_of(merge_databases([*files, tmp_path / "gfx.db"])) == [f"{KEY}=A:9;B:7"]


@pytest.fixture
def worker(tmp_path):
    """A folder of `--miopen-perf-db`: configs of solvers with what they were measured at."""

    def make(name, *tuned):
        store = TunedStore(tmp_path / name, CPU)
        for solver, config, seconds in tuned:
            store.remember(solver, PROBLEM, config, seconds)
        return store.config_file.path

    return make


def test_of_tuned_configs_the_fastest_stays_whoever_is_named_last(worker):
    files = [worker("gpu0", ("A", "1,2", 3e-3), ("B", "7", 1e-3)), worker("gpu1", ("A", "3,4", 2e-3), ("B", "7", 9.0))]
    for paths in (files, files[::-1]):
        merge = merge_databases(paths)
        (record,) = merge.records
        assert {entry.solver: entry.config for entry in record.entries} == {"A": "3,4", "B": "7"}
        (conflict,) = merge.conflicts
        assert (conflict.kept.file, conflict.kept.tuned_ms) == (str(files[1]), 2.0)
        assert [(one.entry.config, one.tuned_ms) for one in conflict.dropped] == [("1,2", 3.0)]


@pytest.mark.parametrize("times", [None, "", "no key\n", "key=A:1,5,5\n", "{key}=A:0,9\n", "{key}=A:1,another\n"])
def test_a_tuned_config_of_unknown_time_gives_way_to_a_measured_one(worker, times):
    unknown, known = worker("gpu0", ("A", "9", 1e-9)), worker("gpu1", ("A", "3,4", 2e-3))
    beside = unknown.with_name(unknown.name.replace(".udb.", ".times."))
    if times is None:
        beside.unlink()
    else:
        beside.write_text(times.replace("{key}", PROBLEM.find_db_key()))
    for paths in ([unknown, known], [known, unknown]):
        (record,) = merge_databases(paths).records
        assert record.entries[0].config == "3,4"


def test_kinds_do_not_mix(database):
    find, perf = database("a-b=A:1,0,a", name="a.ufdb.txt"), database("axb=A:1", name="a.udb.txt")
    with pytest.raises(DatabaseError, match=r"a\.ufdb\.txt is a find-db and .*a\.udb\.txt a perf-db"):
        merge_databases([find, perf])


ROWS = st.lists(
    st.tuples(st.sampled_from("kl"), st.sampled_from("AB"), st.sampled_from(["0", "nan", "1", "2", "3.5"])), max_size=12
)


@given(st.lists(ROWS, max_size=4))
def test_no_entry_is_lost_and_none_is_worse_than_an_input(files):
    merge = merge_find(*([f"{key}={solver}:{time},0,a".encode() for key, solver, time in rows] for rows in files))
    given_times = {}
    for key, solver, time in (row for rows in files for row in rows):
        given_times.setdefault((key, solver), []).append(float(time))
    kept = {(record.key, entry.solver): entry.time_ms for record in merge.records for entry in record.entries}
    assert kept == {
        case: min((time for time in times if time > 0), default=None) for case, times in given_times.items()
    }
    distinct = {case for case, times in given_times.items() if len(set(map(str, times))) > 1}
    assert {(conflict.key, conflict.solver) for conflict in merge.conflicts} == distinct
