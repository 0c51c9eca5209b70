"""The gate on a real machine: it measures its own noise, and finds a real delay that is well above it.

Nothing here is a number of this machine: the noise floor comes first, and margin and delay are drawn from it. What a
busy machine can do is to leave cases INCONCLUSIVE; then the test says so and is skipped. It cannot make an unchanged
case red, or a slowed one green.
"""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import count

import pytest

from pytest_miopen_perf.canary import is_slowed
from pytest_miopen_perf.devices import DeviceOptions, cpu
from pytest_miopen_perf.gate.noise_floor import load_noise
from pytest_miopen_perf.problem import ConvProblem

LINES = [f"MIOpenDriver conv -n 1 -c {c} -H 12 -W 12 -k 16 -y 3 -x 3 -p 1 -q 1 -F 1" for c in (8, 12, 16, 20)]
PROBLEMS = [problem for line in LINES for problem in ConvProblem.from_driver(line)]
SEED = next(seed for seed in count() if sum(is_slowed(problem, seed) for problem in PROBLEMS) == 2)
LEAST_MARGIN = 0.02
MOST_NOISE = 0.3
"""Above it a delay that is half as long as the kernel would not stand out."""
MOST_SECONDS = 60
"""Of both sessions together: a calm machine takes a third of it."""


@pytest.fixture
def session(tmp_path):
    """Run a session over the four problems in processes of its own; the verdicts by problem."""
    if reason := cpu.probe(DeviceOptions()):
        pytest.skip(reason)
    (tmp_path / "suite.miopen.txt").write_text("\n".join(LINES) + "\n")
    end = time.monotonic() + MOST_SECONDS

    def run(*words):
        seconds = max(1.0, end - time.monotonic())
        # What is left of a budget's time is for the session's own tests.
        words = [f"budget={seconds / 2:.0f}s", *words]
        options = ["backend=cpu", "solver=HipConvNaiveFwd", "iter=2", f"seed={SEED}", "verdicts=verdicts.json", *words]
        command = [sys.executable, "-m", "pytest", "-q", "suite.miopen.txt", "-p", "no:cacheprovider"]
        process = subprocess.Popen(
            [*command, *(f"--miopen-perf-{option}" for option in options)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            # With the processes that it has started: they would disturb whatever runs next.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            pytest.skip(f"the machine is too busy: two sessions have not ended in {MOST_SECONDS} s")
        assert process.returncode in (0, 1), output
        rows = json.loads((tmp_path / "verdicts.json").read_text())["rows"]
        return {row["key"]["problem"]: row["decision"]["verdict"] for row in rows}, output

    return run


def test_it_knows_its_noise_and_finds_a_delay_above_it(tmp_path, session):
    unchanged, text = session("aa", "processes=5")
    assert len(unchanged) == len(LINES), text
    assert "REGRESSION" not in unchanged.values(), text
    floors = load_noise(tmp_path / ".miopen-perf/noise.json")
    assert len(floors) == len(LINES), text
    noise = max(floor.paired for floor in floors)
    if noise > MOST_NOISE:
        pytest.skip(f"the machine is too busy: two runs of the same code differ by {noise:.0%}")
    margin = max(LEAST_MARGIN, noise)
    verdicts, text = session(f"margin={margin:.4f}", f"canary={margin + 0.5:.4f}", "processes=8")
    slowed = {problem.to_driver() for problem in PROBLEMS if is_slowed(problem, SEED)}
    assert {verdicts[problem] for problem in verdicts.keys() - slowed} <= {"PASS", "INCONCLUSIVE", "IMPROVED"}, text
    assert {verdicts[problem] for problem in slowed} <= {"REGRESSION", "INCONCLUSIVE", "TAINTED"}, text
    if "REGRESSION" not in verdicts.values():
        words = ", ".join(sorted(verdicts.values()))
        pytest.skip(f"the machine is too busy to tell, with a margin of {margin:.1%}: {words}")
