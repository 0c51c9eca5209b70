"""Sinks: whole lines to a file or to stderr, and what a fault of one loses."""

import io

import pytest

from pytest_miopen_perf.errors import LogWriteError
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.perflog.sinks import FileSink, ListSink
from pytest_miopen_perf.records import PrngSeed


@pytest.fixture
def sink():
    return ListSink()


@pytest.fixture
def logger(sink):
    return PerformanceLogger(4, sink)


def test_a_full_disk_is_named_with_its_file():
    with FileSink(type("", (), {"open": lambda *_, **__: open("/dev/full", "wb", 0)})()) as sink:  # noqa: PTH123
        sink._path = "/logs/perf.log"
        with pytest.raises(LogWriteError, match=r"/logs/perf\.log.*No space left"):
            PerformanceLogger(1, sink).write(PrngSeed(prng_seed=1))


class NarrowFile(io.BytesIO):
    """Takes a few bytes a call, and breaks on demand."""

    room = 10**6

    def write(self, data):
        if not self.room:
            raise OSError(28, "No space left on device")
        taken = super().write(bytes(data[: min(5, self.room)]))
        self.room -= taken
        return taken


def test_a_file_takes_whole_lines_and_ends_one_that_was_cut_off(tmp_path):
    sink = FileSink(tmp_path / "log")
    sink._file.close()
    sink._file = NarrowFile()
    sink('{"prng_seed":1}\n')
    sink._file.room = 7
    with pytest.raises(OSError, match="No space left"):
        sink('{"prng_seed":2}\n')
    sink._file.room = 10**6
    sink('{"prng_seed":3}\n')
    sink('{"prng_seed":4}\n')
    assert sink._file.getvalue() == b'{"prng_seed":1}\n{"prng_\n{"prng_seed":3}\n{"prng_seed":4}\n'


def test_files_are_appended_to_or_begun_anew_and_each_line_is_out_at_once(tmp_path):
    path = tmp_path / "log"
    path.write_text("before\n")
    with FileSink(path) as sink:
        sink("one\n")
        assert path.read_text() == "before\none\n"
    sink.close()
    with FileSink(path, "w") as sink:
        sink("two\n")
    assert path.read_text() == "two\n"
    assert str(sink) == str(path)
