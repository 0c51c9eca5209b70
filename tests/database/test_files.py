import bz2

import pytest
from test_sqlite_db import KEY, add, make

from pytest_miopen_perf.database.files import (
    DatabaseKind,
    database_files,
    database_kind,
    format_record,
    read_records,
    write_records,
)
from pytest_miopen_perf.database.perf_db import PerfEntry, PerfRecord
from pytest_miopen_perf.database.record_lines import Fault
from pytest_miopen_perf.errors import DatabaseError

FIND = "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F=GemmFwdRest:1,0,miopenConvolutionFwdAlgoGEMM"
PERF = f"{KEY}=ConvAsm1x1U:4,8,4,16,1,4,1,8"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gfx942130.HIP.3_5_2_9d056e8e328.ufdb.txt", DatabaseKind.FIND_TEXT),
        ("gfx1030_36.HIP.fdb.txt", DatabaseKind.FIND_TEXT),
        ("gfx1030_.HIP.3_4_0_.udb.txt", DatabaseKind.PERF_TEXT),
        ("gfx942130.db.txt", DatabaseKind.PERF_TEXT),
        ("gfx906_60.cd.pdb.txt", DatabaseKind.PERF_TEXT),
        ("cpu_x86_64_2_amd-epyc.times.txt", DatabaseKind.TIMES_TEXT),
    ],
)
def test_names_tell_the_kind(tmp_path, name, kind):
    (tmp_path / name).write_text("")
    assert database_kind(tmp_path / name) is kind


@pytest.mark.parametrize(("line", "kind"), [(FIND, DatabaseKind.FIND_TEXT), (PERF, DatabaseKind.PERF_TEXT)])
def test_keys_tell_the_kind_of_other_names(database, line, kind):
    path = database("broken", "", line, name="merged")
    assert database_kind(path) is kind
    assert [type(item) is Fault for item in read_records(path)] == [True, False]


def test_sqlite_is_told_by_its_content(tmp_path):
    path = tmp_path / "gfx942130.ufdb.txt"
    with make(path) as connection:
        add(connection, 1, KEY, ConvAsm1x1U="4,8,4,16,1,4,1,8")
    connection.close()
    assert database_kind(path) is DatabaseKind.PERF_SQLITE
    (record,) = read_records(path)
    assert format_record(record) == PERF


def test_packed_data_bases_are_read(tmp_path):
    path = tmp_path / "gfx1030_36.HIP.fdb.txt.bz2"
    path.write_bytes(bz2.compress(FIND.encode()))
    (record,) = read_records(path)
    assert format_record(record) == FIND


@pytest.mark.parametrize("content", [b"", b"nothing\nof the kind\n", bytes(range(256)) * 9])
def test_what_is_no_data_base_is_one_typed_error(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(DatabaseError, match="is no data base of MIOpen"):
        read_records(path)


def test_records_are_written_and_read_back(database, tmp_path):
    records = list(read_records(database(FIND)))
    target = tmp_path / "out.ufdb.txt"
    write_records(target, records)
    assert target.read_text() == f"{FIND}\n"
    write_records(target, [])
    assert target.read_text() == ""


def test_a_failed_writing_leaves_what_was_there(tmp_path, monkeypatch):
    target = tmp_path / "out.udb.txt"
    target.write_text(f"{PERF}\n")
    record = PerfRecord("db", 1, KEY, (PerfEntry("S", "1"),))
    with pytest.raises(DatabaseError, match="not printable"):
        write_records(target, [record, record._replace(key="a\nb")])

    def full(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pytest_miopen_perf.database.files.write_atomically", full)
    with pytest.raises(DatabaseError, match="No space left on device"):
        write_records(target, [record])
    assert target.read_text() == f"{PERF}\n"


def test_the_times_of_tuned_configs_are_no_data_base_of_miopen(database):
    with pytest.raises(DatabaseError, match=r"times of tuned configs.*only miopen-perf db lint reads it"):
        read_records(database("x", name="a.times.txt"))


def test_a_folder_has_the_files_that_are_called_like_data_bases(tmp_path):
    (tmp_path / "3.5.1").mkdir()
    (tmp_path / "folder.ufdb.txt").mkdir()
    names = ["b.ufdb.txt", "3.5.1/a.fdb.txt.bz2", "c.udb", "a.db", "d.times.txt", "a.kdb", "a.lock", "notes.txt"]
    for name in names:
        (tmp_path / name).write_text("")
    found = [str(path.relative_to(tmp_path)) for path in database_files(tmp_path)]
    assert found == ["3.5.1/a.fdb.txt.bz2", "a.db", "b.ufdb.txt", "c.udb", "d.times.txt"]
