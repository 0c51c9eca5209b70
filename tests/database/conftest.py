"""Data bases that the tests of several modules read."""

import contextlib
import os
import tempfile
from pathlib import Path

import pytest

from pytest_miopen_perf.launch import DeviceInfo

CPU = DeviceInfo(
    backend="cpu",
    name="AMD EPYC 9654 (96 cores)",
    arch="x86_64",
    compute_units=2,
    wavefront=1,
    lds_bytes=65536,
    memory_bytes=1 << 34,
)
GEMM = "miopenConvolutionFwdAlgoGEMM"
SAMPLES = Path(__file__).parents[3] / "shared" / "samples"


@pytest.fixture
def sample():
    """The path of a sample; the test is skipped where there are none."""

    def path(name):
        if not (SAMPLES / name).exists():
            pytest.skip("no samples here")
        return SAMPLES / name

    return path


@pytest.fixture
def database(tmp_path):
    """Writes a data base from lines and gives its path."""

    def write(*lines, name="test.ufdb.txt"):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return write


class ReadOnlyFolder:
    """A folder that anybody may read; inside `with` nobody may write, and the superuser gives up being one."""

    def __init__(self, folder):
        self.folder = folder

    @contextlib.contextmanager
    def __call__(self):
        user = os.geteuid()
        self.folder.chmod(0o555)
        if user == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(user)
            self.folder.chmod(0o755)


@pytest.fixture
def read_only():
    with tempfile.TemporaryDirectory() as name:
        yield ReadOnlyFolder(Path(name))
