"""The gate over the whole pipeline on scripted machines: sessions of pytest, processes, verdicts, a confusion table.

`python tests/gate_pipeline.py --cases 300` is the long form, in real processes; a test runs a short one.
"""

import argparse
import contextlib
import io
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from pytest_miopen_perf.cli import main
from pytest_miopen_perf.kernel_source.files import kernels_dir

CHANGES = (0.0, 0.02, 0.05)
"""What arm B of a case is slower by; the first one is most of the suite."""

MACHINES = {
    "iid": {},
    "session offset": {"session_offset": 0.015},
    "drift 3 %": {"drift": 0.03},
    "two clock states": {"clock_states": {"factor": 1.08, "probability": 0.5, "dwell_launches": 100}},
    "other GPU": {},
}
"""What varies the whole device: the five scenarios of `noise_model.SCENARIOS`."""

GPUS = {"other GPU": 4}
"""Processes take turns on that many GPUs of one kind, each with a speed of its own for every kernel and arm."""

_PROCESSES = 128

_LAUNCH = {"noise": 0.005, "spikes": {"probability": 0.01, "factor": 1.15}, "session_offset": 0.003}
_SECONDS = 1e-4
_PYTEST = ("suite.miopen.txt", "--miopen-perf-backend=scripted", "--miopen-perf-solver=HipConvImplicitGemmFwd", "-q")


def change_of(case, cases):
    """A tenth of the cases is 2 % slower in arm B, another tenth 5 %."""
    return CHANGES[0] if case < cases * 0.8 else CHANGES[1] if case < cases * 0.9 else CHANGES[2]


def write_suite(folder, cases, machine, seed=0):
    """The workload, two copies of the kernels and the device's script: a rule for each case and arm."""
    shapes = [(case % 30 + 1, case // 30 + 1) for case in range(cases)]
    lines = [f"MIOpenDriver conv -n 1 -c {c} -H 4 -W 4 -k {k} -y 1 -x 1 -F 1" for c, k in shapes]
    (folder / "suite.miopen.txt").write_text("\n".join(lines) + "\n")
    for arm in "ab":
        shutil.copytree(kernels_dir(), folder / arm)
    gpus = GPUS.get(machine, 1)
    for gpu in range(gpus):
        speed = Speeds(random.Random(f"{seed}/{gpu}"), 0.0 if gpus == 1 else 0.03, 0.0 if gpus == 1 else 0.001)
        rules = [
            {
                "file": f"*/{arm}/*",
                "defines": {"CONV_C": str(c), "CONV_K": str(k)},
                "seconds": seconds * (1 + (change_of(case, cases) if arm == "b" else 0.0)),
                "variation": _LAUNCH,
            }
            for case, (c, k) in enumerate(shapes)
            for arm, seconds in zip("ab", speed.of_both_arms(), strict=True)
        ]
        text = json.dumps({"seed": seed, "variation": MACHINES[machine], "rules": rules})
        (folder / f"gpu-{gpu}.json").write_text(text)
    for process in range(_PROCESSES):
        (folder / f"process-{process}.json").symlink_to(f"gpu-{process % gpus}.json")
    return {f"fp32-F-1x{c}x4x4-k{k}-1x1": change_of(case, cases) for case, (c, k) in enumerate(shapes)}


class Speeds:
    """What a GPU makes of each kernel: a factor for both arms, and a small one of each arm's own."""

    def __init__(self, chance, both, own):
        self.chance = chance
        self.both = both
        self.own = own

    def of_both_arms(self):
        both = self.chance.gauss(0, self.both)
        return [_SECONDS * math.exp(both + self.chance.gauss(0, self.own)) for _ in "ab"]


def _device(folder, process="{process}"):
    return f"--miopen-perf-device={folder}/process-{process}.json#{process}"


def run_paired(folder, seed, *words):
    """The verdicts of `miopen-perf ab` by the name of their problem."""
    device = _device(folder)
    out = io.StringIO()
    with _inside(folder), contextlib.redirect_stdout(out):
        main(["ab", "--a=kernels=a", "--b=kernels=b", f"--seed={seed}", "--json", *words, "--", *_PYTEST, device])
    return {row["name"]: row["decision"]["verdict"] for row in json.loads(out.getvalue())["rows"]}


def run_unpaired(folder, *, measures_noise):
    """The verdicts of a session with arm B against a baseline of arm A; the noise floors are measured before."""
    base = f"--miopen-perf-kernels={folder / 'a'}"
    if measures_noise:
        _session(folder, _device(folder), base, "--miopen-perf-aa", "--miopen-perf-processes=8")
    _session(folder, _device(folder, 100), base, "--miopen-perf-save=main")
    new = (f"--miopen-perf-kernels={folder / 'b'}", "--miopen-perf-compare=main", "--miopen-perf-verdicts=v.json")
    _session(folder, _device(folder, 101), *new)
    rows = json.loads((folder / "v.json").read_text())["rows"]
    return {row["name"]: row["decision"]["verdict"] for row in rows}


def _session(folder, *words):
    with _inside(folder), contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*_PYTEST, *words, "-p", "no:cacheprovider"])


@contextlib.contextmanager
def _inside(folder):
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def confusion(truth, verdicts):
    """Counts of (true change, verdict)."""
    return Counter((truth[name], verdicts.get(name, "no row")) for name in truth)


def table_lines(title, counts):
    """The confusion table."""
    words = sorted({word for _, word in counts})
    yield f"{title:<28}" + "".join(f"{word:>14}" for word in words)
    for change in CHANGES:
        yield f"{f'+{change:.0%}':<28}" + "".join(f"{counts[change, word]:>14}" for word in words)


def long_form(arguments=None):
    """Print the table of each machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machine", choices=MACHINES, action="append")
    given = parser.parse_args(arguments)
    for machine in given.machine or MACHINES:
        with tempfile.TemporaryDirectory() as folder:
            truth = write_suite(Path(folder), given.cases, machine, given.seed)
            start = time.perf_counter()
            paired = confusion(truth, run_paired(Path(folder), given.seed))
            seconds = time.perf_counter() - start
            unpaired = confusion(truth, run_unpaired(Path(folder), measures_noise=True))
        lines = [*table_lines(f"{machine}, paired", paired), *table_lines("unpaired", unpaired)]
        sys.stdout.write("\n".join(lines) + f"\npaired in {seconds:.0f} s\n\n")
        sys.stdout.flush()


if __name__ == "__main__":
    long_form()
