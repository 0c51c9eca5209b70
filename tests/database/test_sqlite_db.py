import sqlite3
from contextlib import closing

import pytest

from pytest_miopen_perf.database.perf_db import PerfEntry, PerfRecord
from pytest_miopen_perf.database.record_lines import Fault, FaultKind
from pytest_miopen_perf.database.sqlite_db import KEY_COLUMNS, read_sqlite_perf_db
from pytest_miopen_perf.errors import DatabaseError

KEY = "2x1000x13x13x1x1x1x1x512x16x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP16xB"
OTHER = "3x1024x10x10x35x3x3x3x1024x1x0x0x0x1x1x1x1x1x1x0x1xNCDHWxBF16xF"
KERNEL = "DeviceGroupedConv<256, 128, Default, Sched: Intra, v3>+2"


def make(path, *, journal="delete"):
    """An empty perf-db in the form of MIOpen's, and an open connection to it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode={journal}")
    words = {"layout", "data_type", "direction"}
    columns = [f"`{name}` {'TEXT' if name in words else 'INT'} NOT NULL" for name in KEY_COLUMNS]
    connection.execute(f"CREATE TABLE config (`id` INTEGER PRIMARY KEY ASC, {', '.join(columns)})")
    connection.execute(f"CREATE UNIQUE INDEX idx_config ON config ({', '.join(KEY_COLUMNS)})")
    connection.execute(
        "CREATE TABLE perf_db (`id` INTEGER PRIMARY KEY ASC, `solver` TEXT NOT NULL, "
        "`config` INTEGER NOT NULL, `params` TEXT NOT NULL)"
    )
    connection.execute("CREATE UNIQUE INDEX idx_perf_db ON perf_db (solver, config)")
    return connection


def add(connection, number, key, **configs):
    marks = ", ".join("?" * (1 + len(KEY_COLUMNS)))
    fields = [int(word) if word.isdigit() else word for word in key.split("x")]
    connection.execute(f"INSERT INTO config VALUES ({marks})", [number, *fields])
    for solver, params in configs.items():
        connection.execute("INSERT INTO perf_db (solver, config, params) VALUES (?, ?, ?)", [solver, number, params])


@pytest.fixture
def path(tmp_path):
    with closing(make(tmp_path / "gfx942130.db")) as connection:
        add(connection, 7, OTHER, ConvBinWinogradRxSf3x2="304")
        add(connection, 3, KEY, ConvAsm1x1U="4,8,4,16,1,4,1,8", ConvHipImplicitGemmBwdXdlops=KERNEL)
    return tmp_path / "gfx942130.db"


def files_of(path):
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def test_rows_are_records_with_text_keys(path):
    assert list(read_sqlite_perf_db(path)) == [
        PerfRecord(
            str(path),
            3,
            KEY,
            (PerfEntry("ConvAsm1x1U", "4,8,4,16,1,4,1,8"), PerfEntry("ConvHipImplicitGemmBwdXdlops", KERNEL)),
        ),
        PerfRecord(str(path), 7, OTHER, (PerfEntry("ConvBinWinogradRxSf3x2", "304"),)),
    ]


def test_reading_changes_nothing_and_leaves_nothing(path):
    before = files_of(path)
    list(read_sqlite_perf_db(path))
    next(read_sqlite_perf_db(path)).key.upper()
    assert files_of(path) == before


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
def test_a_data_base_with_a_write_ahead_log_is_read_whole_and_left_alone(tmp_path, is_open):
    path = tmp_path / "gfx942130.db"
    with closing(make(path, journal="wal")) as connection:
        add(connection, 1, KEY, ConvAsm1x1U="4,8,4,16,1,4,1,8")
        if is_open:
            before = files_of(path)
            assert before["gfx942130.db-wal"]
            assert [record.key for record in read_sqlite_perf_db(path)] == [KEY]
            assert files_of(path) == before
    if not is_open:
        before = files_of(path)
        assert set(before) == {"gfx942130.db"}
        assert [record.key for record in read_sqlite_perf_db(path)] == [KEY]
        assert files_of(path) == before


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_folder_that_cannot_be_written_is_enough(read_only, journal):
    path = read_only.folder / "gfx942130.db"
    with closing(make(path, journal=journal)) as connection:
        add(connection, 1, KEY, ConvAsm1x1U="4,8,4,16,1,4,1,8")
    with read_only():
        assert [record.key for record in read_sqlite_perf_db(path)] == [KEY]


def test_odd_names_of_files_are_quoted(path):
    odd = path.with_name("a #1?mode=rwc%20.db")
    path.rename(odd)
    assert len(list(read_sqlite_perf_db(odd))) == 2
    assert [file.name for file in odd.parent.iterdir()] == [odd.name]


def test_rows_that_fit_nothing_are_faults(tmp_path):
    path = tmp_path / "gfx942130.db"
    with closing(make(path)) as connection:
        connection.execute("DROP INDEX idx_perf_db")
        add(connection, 1, KEY, A="1", B="2")
        connection.execute("INSERT INTO perf_db (solver, config, params) VALUES ('A', 1, '3')")
        connection.execute("INSERT INTO perf_db (solver, config, params) VALUES ('C', 99, '4')")
        connection.execute("INSERT INTO perf_db (solver, config, params) VALUES ('', 1, '5')")
        connection.execute("INSERT INTO perf_db (solver, config, params) VALUES ('D', 1, ?)", [b"\xff\x00"])
    *faults, record, orphan = read_sqlite_perf_db(path)
    assert [(fault.kind, fault.line) for fault in [*faults, orphan]] == [
        (FaultKind.DUPLICATE_ID, 1),
        (FaultKind.BAD_VALUE, 1),
        (FaultKind.NO_KEY, 99),
    ]
    assert [entry.solver for entry in record.entries] == ["A", "B", "D"]
    assert record.entries[2].config == "\\xff\x00"


def test_what_is_no_perf_db_is_one_typed_error(tmp_path):
    text, other, absent = tmp_path / "text.db", tmp_path / "other.db", tmp_path / "absent.db"
    text.write_text("no data base at all, and longer than the header of one")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (a INT)")
    for path, words in (
        (text, "not a database"),
        (other, "no such table"),
        (absent, "No such file"),
        (tmp_path, "dir"),
    ):
        with pytest.raises(DatabaseError, match=f"cannot be read as an SQLite perf-db: .*{words}"):
            list(read_sqlite_perf_db(path))


def test_damage_on_the_way_ends_with_a_fault_or_an_error(tmp_path):
    path = tmp_path / "gfx942130.db"
    with closing(make(path)) as connection:
        for n in range(1, 150):
            add(connection, n, KEY.replace("x16x", f"x{n}x", 1), ConvAsm1x1U="4,8,4,16,1,4,1,8")
    whole = path.read_bytes()
    for where in range(1000, len(whole) - 600, 3023):
        path.write_bytes(whole[:where] + b"\xa5" * 600 + whole[where + 600 :])
        try:
            items = list(read_sqlite_perf_db(path))
        except DatabaseError:
            continue
        assert all(isinstance(item, PerfRecord | Fault) for item in items)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatabaseError):
        raise_on_fault(read_sqlite_perf_db(path))


def raise_on_fault(items):
    for item in items:
        if isinstance(item, Fault):
            assert item.kind is FaultKind.NO_RECORD
            raise DatabaseError(item.sentence)
