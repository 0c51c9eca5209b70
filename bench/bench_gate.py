"""What judging costs beside kernel time: processor time of processes that measure both arms on a scripted device."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.rows import Row
from pytest_miopen_perf.ab.part import Part
from pytest_miopen_perf.gate.plan import first_process
from pytest_miopen_perf.kernel_source.files import kernels_dir

_FEW, _MANY = 10, 110
_SUITE = 300
_PROCESSES = 8
_MOST_SECONDS = 60.0
"""For a suite of 300 kernels, each in eight processes."""


def run() -> list[Row]:
    """Two suites, one short and one long, so that the start of a process is told from what a case takes."""
    with tempfile.TemporaryDirectory() as folder:
        _seconds(Path(folder), 1)  # writes bytecode, which the others find
        few, many = (_seconds(Path(folder), cases) for cases in (_FEW, _MANY))
    case = (many - few) / (_MANY - _FEW)
    start = few - _FEW * case
    whole = _PROCESSES * (start + _SUITE * case)
    return [
        Row("gate, a case in both arms, scripted: processor", case * 1e3, 25.0, "ms"),
        Row("gate, start of a process that measures: processor", start, 2.0, "s"),
        Row(f"gate, {_SUITE} kernels in {_PROCESSES} processes, from these: processor", whole, _MOST_SECONDS, "s"),
    ]


def _seconds(folder: Path, cases: int) -> float:
    """Processor seconds of one process."""
    shapes = [(case % 30 + 1, case // 30 + 1) for case in range(cases)]
    lines = [f"MIOpenDriver conv -n 1 -c {c} -H 4 -W 4 -k {k} -y 1 -x 1 -F 1\n" for c, k in shapes]
    (folder / "suite.miopen.txt").write_text("".join(lines))
    Part(seed=1, process=first_process(1), arms=(kernels_dir(), kernels_dir())).write(folder / "part.json")
    options = ("backend=scripted", "solver=HipConvImplicitGemmFwd", "part=part.json", "json=results.json")
    words = ("suite.miopen.txt", "-q", "-p", "no:cacheprovider", *(f"--miopen-perf-{option}" for option in options))
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = _children_seconds()
    subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=folder, env=variables, check=True, stdout=subprocess.DEVNULL
    )
    return _children_seconds() - before


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
