"""Build the wheel, install it in a fresh venv away from the checkout, and run one problem there.

Run as `python tests/wheel_check.py` by `tox -e wheel`.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
NEEDED = (
    "pytest_miopen_perf/kernels/conv_naive.hip",
    "pytest_miopen_perf/kernels/include/element.h",
    "pytest_miopen_perf/schema/performance_log.schema.json",
    "pytest_miopen_perf/schema/results.schema.json",
    "pytest_miopen_perf/workloads/smoke.txt",
    "pytest_miopen_perf/devices/host/hip_host.h",
    "pytest_miopen_perf/py.typed",
)
LINE = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1\n"


def run(*command, **more):
    print("+", *command, flush=True)
    subprocess.run(command, check=True, **more)


def main(folder):
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, CHECKOUT)
    (wheel,) = folder.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    missing = [name for name in NEEDED if name not in names]
    assert not missing, f"the wheel lacks {missing}"
    assert not [name for name in names if name.startswith(("tests/", "bench/"))]
    run(sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", f"{wheel}[cpu]")
    (folder / "one.miopen.txt").write_text(LINE)
    arguments = ("one.miopen.txt", "--miopen-perf-level=4", "--miopen-perf-tune=force", "--miopen-perf-tune-configs=2")
    environment = {**os.environ, "PATH": ""}  # nothing but the wheels: the compiler is ziglang's
    outputs = ("--miopen-perf-json=results.json", "--miopen-perf-log=log.jsonl", "-p", "no:cacheprovider")
    run(python, "-m", "pytest", *arguments, *outputs, cwd=folder, env=environment)
    assert '"outcome": "passed"' in (folder / "results.json").read_text()
    assert '"phase":"solver_tuning"' in (folder / "log.jsonl").read_text()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="wheel-check-") as away:
        main(Path(away))
