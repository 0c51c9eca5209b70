import os

import pytest
from driver.stand_in.install import install_stand_in

from pytest_miopen_perf.driver.program import DriverProgram


@pytest.fixture
def program(tmp_path):
    """A program that behaves as some words say, in a folder of its own."""
    path = install_stand_in(tmp_path)

    def make(words="", folder="data", **variables):
        inherited = {"PATH": os.environ["PATH"], "STAND_IN": words, "STAND_IN_PIDS": str(tmp_path / "pids")}
        return DriverProgram(path=path, folder=tmp_path / folder, variables={**inherited, **variables})

    return make
