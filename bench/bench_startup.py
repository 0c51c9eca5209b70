"""What an installed but unused plugin adds to an empty pytest run, and what collecting a long workload takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.rows import Row

_LINES = 2000


def run(rounds: int = 9) -> list[Row]:
    """Runs with and without the plugin alternate, so that a busy machine slows both alike."""
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty"
        empty.mkdir()
        workload = Path(folder) / "workload"
        workload.mkdir()
        (workload / "long.miopen.txt").write_text("\n".join(map(_line, range(_LINES))) + "\n")
        added = [_seconds(empty) - _seconds(empty, "-p", "no:miopen_perf") for _ in range(rounds)]
        collecting = [
            _seconds(workload, "--collect-only", "-qq") - _seconds(empty, "--collect-only", "-qq") for _ in range(3)
        ]
    return [
        Row("installed but unused: added to an empty pytest run", median(added), 0.05, "s"),
        Row(f"collecting {_LINES} workload lines", median(collecting), 1.5, "s"),
    ]


def _line(number: int) -> str:
    return (
        f"MIOpenDriver conv -n 1 -c {number % 64 + 1} -H {number // 64 + 3} -W 32 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1"
    )


def _seconds(folder: Path, *arguments: str) -> float:
    """Processor time of one pytest run: on a quiet machine its wall time, on a busy one still its cost.

    Other plugins are left out, since their imports would be noise.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest", "-p", "no:xdist", *arguments]
    before = os.times()
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
