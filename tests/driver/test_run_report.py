"""What is read of a run whose output is damaged in any way."""

import json
import subprocess
from pathlib import Path

import pytest
from asked import PROBLEM, settings_of
from driver.stand_in.install import install_stand_in
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_miopen_perf.driver.process import ProgramEnd
from pytest_miopen_perf.driver.program import FOLDERS, DriverProgram
from pytest_miopen_perf.driver.run_report import read_report
from pytest_miopen_perf.records import from_json

HOST = "secret-host"


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    """What a good run has printed on both streams, and a folder to damage it in."""
    folder = tmp_path_factory.mktemp("driver")
    driver = DriverProgram(path=install_stand_in(folder), folder=folder / "data", variables={"STAND_IN": "shared"})
    asked = settings_of(4)
    for name in FOLDERS:
        Path(driver.changes(asked)[name]).mkdir(parents=True)
    environment = {**driver.variables, **driver.changes(asked)}
    found = subprocess.run(driver.command(PROBLEM, asked), env=environment, capture_output=True, check=True)
    return folder, driver.device, found.stdout, found.stderr


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_is_a_traceback_and_no_error_has_figures(streams, data):
    folder, device, *sound = streams
    files = folder / "stdout", folder / "stderr"
    for file, good in zip(files, sound, strict=True):
        damaged = bytearray(good)
        for _ in range(data.draw(st.integers(0, 4))):
            start = data.draw(st.integers(0, len(damaged)))
            damaged[start : start + data.draw(st.integers(0, 200))] = data.draw(st.binary(max_size=20))
        file.write_bytes(damaged)
    status = data.draw(st.sampled_from([0, 0, 1, -11]))
    report = read_report(ProgramEnd(status=status), files, problem=PROBLEM, device=device, settings=settings_of(4))
    assert (report.result is None) == (report.outcome == "error")
    assert bool(report.message) == (report.outcome != "passed")
    assert HOST not in repr((report.log, report.message, report.doubts))
    if status:
        assert report.outcome != "passed"
    for line in report.log:
        from_json(json.loads(line))
