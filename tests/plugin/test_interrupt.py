"""Ctrl-C in the middle of a search, with a real signal and a real compiler: nothing that was measured is lost."""

import json
import signal
import subprocess
import sys
import time

import pytest

from pytest_miopen_perf import records

LINE = "MIOpenDriver conv -n 1 -c 8 -H 8 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1\n"
CONFIGS = 20
PATIENCE_SECONDS = 120


@pytest.fixture
def command(tmp_path):
    (tmp_path / "layer.miopen.txt").write_text(LINE)
    options = {
        "backend": "cpu",
        "level": 4,
        "solver": "HipConvImplicitGemmFwd",
        "tune": "missing",
        "tune-configs": CONFIGS,
        "tune-budget": "10min",
        "iter": 3,
        "db": tmp_path / "db",
        "cache": tmp_path / "cache",
        "json": tmp_path / "results.json",
        "log": tmp_path / "log.jsonl",
    }
    words = [f"--miopen-perf-{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "pytest", "layer.miopen.txt", "-p", "no:cacheprovider", *words]


def trials_on_disk(folder):
    return [line for file in folder.glob("db/*.trials.jsonl") for line in file.read_text().splitlines()]


@pytest.mark.usefixtures("heeds_interrupts")
def test_an_interrupted_search_is_told_and_goes_on_in_the_next_session(tmp_path, command):
    with (tmp_path / "output.txt").open("w") as output:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=output, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not trials_on_disk(tmp_path) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    text = (tmp_path / "output.txt").read_text
    assert process.wait(PATIENCE_SECONDS) == pytest.ExitCode.INTERRUPTED, text()
    tried = len(trials_on_disk(tmp_path))
    assert 1 <= tried < CONFIGS

    results = json.loads((tmp_path / "results.json").read_text())
    assert results["complete"] is False
    (case,) = results["cases"]
    assert case["outcome"] == "error"
    story = f"interrupted in the search of HipConvImplicitGemmFwd: {tried} of {CONFIGS} configs were tried, the best so"
    assert case["message"].startswith(story)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    for line in lines:
        records.validate(line)
    assert lines[-1]["error"].startswith(story)
    (search,) = [line for line in lines if "performance_configs" in line]
    assert search["phase"] == "solver_tuning"
    assert [bool(config["time_executions_ms"]) for config in search["performance_configs"]] == [True] * tried

    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert again.returncode == 0, again.stdout
    results = json.loads((tmp_path / "results.json").read_text())
    (tuning,) = results["cases"][0]["result"]["tuning"]
    assert (tuning["known_before"], len(tuning["trials"]), results["complete"]) == (tried, CONFIGS, True)
    assert f"{tried} known from before" in again.stdout
    assert trials_on_disk(tmp_path) == [], "the search has come to its end, and nothing failed"
