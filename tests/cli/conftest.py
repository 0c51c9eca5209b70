"""The command as a function: words and stdin in, exit code and both streams out."""

import io
from typing import NamedTuple

import pytest
from driver.log_samples import COMMAND, FIND, S1, S5, SEED, SYSTEM, VERIFIED, performance

from pytest_miopen_perf.cli import main

LINE = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"
KEY = "4-6-6-3x3-4-6-6-1-1x1-1x1-1x1-0-NCHW-FP32-F"
RUN = (COMMAND, SEED, SYSTEM, S5, FIND, S1, performance("ConvHipImplicitGemmGroupFwdXdlops", 2.46444), VERIFIED)
"""The lines of a run of MIOpenDriver, stdout and stderr together."""


class Outcome(NamedTuple):
    """What a command left."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys, monkeypatch):
    """Carries out `miopen-perf` with these words; `stdin` is text or bytes."""

    def carry_out(*words, stdin=""):
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        status = main([str(word) for word in words])
        return Outcome(status, *capsys.readouterr())

    return carry_out


@pytest.fixture
def write(tmp_path):
    """Writes lines to a file and gives its path."""

    def to_file(*lines, name="some.log"):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return to_file


@pytest.fixture
def driver_log(write):
    """A log of one run of MIOpenDriver."""
    return write(*RUN, name="driver.log")


@pytest.fixture
def results_file(run, driver_log, tmp_path):
    """The same run as a results file."""
    path = tmp_path / "results.json"
    assert run("convert", driver_log, "-o", path).status == 0
    return path


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    """Eighty columns, no colour, and nothing set that a machine happens to have set."""
    import os

    from pytest_miopen_perf.environment import PREFIXES

    monkeypatch.setenv("COLUMNS", "80")
    for name in list(os.environ):
        if name.startswith(PREFIXES) and name != "MIOPEN_PERF_CXX":
            monkeypatch.delenv(name)
