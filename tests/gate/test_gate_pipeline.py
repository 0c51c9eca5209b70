"""The short form of `gate_pipeline`: slowdowns are found and nothing else is, through sessions, files and verdicts."""

import pytest
from gate_pipeline import MACHINES, confusion, run_paired, run_unpaired, table_lines, write_suite
from inner_processes import run_inside

from pytest_miopen_perf.ab import processes
from pytest_miopen_perf.gate.noise_model import SCENARIOS


def test_the_machines_are_the_scenarios():
    assert list(MACHINES) == [scenario.name for scenario in SCENARIOS]


@pytest.mark.parametrize("machine", MACHINES)
def test_paired(tmp_path, monkeypatch, machine):
    monkeypatch.setattr(processes, "run_to_end", run_inside(monkeypatch))
    truth = write_suite(tmp_path, 10, machine)
    counts = confusion(truth, run_paired(tmp_path, 1, "--processes", "14"))
    table = "\n".join(table_lines(machine, counts))
    assert not counts[0.0, "REGRESSION"], table
    assert counts[0.05, "REGRESSION"] == 1, table
    assert counts[0.02, "REGRESSION"] + counts[0.02, "INCONCLUSIVE"] == 1, table
    assert counts[0.0, "PASS"] >= 7, table


@pytest.mark.parametrize("measures_noise", [False, True])
def test_unpaired(tmp_path, monkeypatch, measures_noise):
    """Against a file the margin has to cover what sessions are off by: assumed, or measured."""
    monkeypatch.setattr(processes, "run_to_end", run_inside(monkeypatch))
    truth = write_suite(tmp_path, 10, "iid")
    counts = confusion(truth, run_unpaired(tmp_path, measures_noise=measures_noise))
    table = "\n".join(table_lines("unpaired", counts))
    assert not counts[0.0, "REGRESSION"], table
    assert sum(counts.values()) == 10, table
    assert counts[0.05, "REGRESSION"] == measures_noise, table
