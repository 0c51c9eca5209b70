from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.database.perf_db import (
    PerfEntry,
    PerfRecord,
    format_perf_record,
    perf_records,
    read_perf_db,
)
from pytest_miopen_perf.database.record_lines import Fault, FaultKind

VALUES = st.text(st.sampled_from("abc019,: =<>+-[]"))


def test_values_keep_their_colons_commas_and_blanks(sample):
    records = list(read_perf_db(sample("sample.udb.txt")))
    assert all(isinstance(record, PerfRecord) for record in records)
    assert [len(record.entries) for record in records] == [2, 2, 3, 1, 2]
    assert records[0].entries[1].config.endswith("BlkGemmPipelineScheduler: Intrawave, BlkGemmPipelineVersion: v3>")
    assert records[1].entries[1].config.endswith("1, 1>+1")
    assert records[2].entries[2] == PerfEntry("ConvBinWinogradRxSf3x2", "304")


def test_a_file_that_is_read_is_written_as_it_was(sample):
    path = sample("sample.udb.txt")
    lines = [format_perf_record(record.key, record.entries) for record in read_perf_db(path)]
    assert lines == path.read_text().splitlines()


@given(
    st.text(st.sampled_from("2x1N"), min_size=1),
    st.dictionaries(st.text(st.sampled_from("Conv<2-3>_"), min_size=1), VALUES, min_size=1),
)
def test_what_is_written_is_read_back(key, configs):
    line = format_perf_record(key, [PerfEntry(*item) for item in configs.items()])
    (record,) = perf_records([line.encode()], "db")
    assert (record.key, dict(record.entries)) == (key, configs)


def test_faults_come_in_their_place():
    items = list(perf_records([b"k=A:1\n", b"nothing\n", b"l=B:1;B:2\n"], "db"))
    assert [getattr(item, "kind", None) for item in items] == [None, FaultKind.NO_KEY, FaultKind.DUPLICATE_ID, None]
    assert all(isinstance(item, PerfRecord | Fault) for item in items)
