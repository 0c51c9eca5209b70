"""What the gate makes of unchanged kernels and of kernels that are slower by a known share, on the card at hand.

`python tests/gpu/gate_confusion.py --backend cuda --shares 2% 5%`: for each share one session of the canary over sixty
problems of about a millisecond, half of them slowed; the confusion table over all sessions, and the time each
took. Nothing but the card is needed beside pytest-miopen-perf.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pytest_miopen_perf.canary import is_slowed
from pytest_miopen_perf.gate.report import VerdictReport
from pytest_miopen_perf.problem import ConvProblem

# n, c, size of 3x3 convolutions with as many output channels: about a millisecond each, so that 2 % of it is longer
# than the shortest launch, and tensors small enough for the host to draw them quickly.
SHAPES = (
    (32, 512, 14),
    (16, 512, 20),
    (64, 512, 10),
    (128, 512, 7),
    (32, 384, 18),
    (16, 384, 26),
    (64, 384, 13),
    (32, 256, 28),
    (16, 256, 40),
    (8, 256, 56),
    (64, 256, 20),
    (32, 320, 22),
    (24, 320, 26),
    (16, 640, 16),
    (32, 640, 11),
    (16, 768, 13),
    (8, 1024, 13),
    (64, 192, 28),
    (4, 1024, 20),
    (12, 448, 24),
)
DIRECTIONS = {"F": 1, "B": 2, "W": 4}
KINDS = ("PASS", "IMPROVED", "INCONCLUSIVE", "REGRESSION", "TAINTED", "NO_BASELINE")


def driver_lines(directions):
    for n, c, size in SHAPES:
        for direction in directions:
            yield (
                f"MIOpenDriver conv -n {n} -c {c} -H {size} -W {size} -k {c} -y 3 -x 3 -p 1 -q 1 "
                f"-F {DIRECTIONS[direction]}"
            )


def sing(share, options, folder):
    """Run one session of the canary; the verdict rows and the seconds it took."""
    workload = folder / "canary.miopen.txt"
    workload.write_text("\n".join(driver_lines(options.directions)) + "\n")
    verdicts = folder / f"verdicts-{share}.json"
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-rN", str(workload), "--rootdir", str(folder)),
        *(f"--miopen-perf-backend={options.backend}", f"--miopen-perf-canary={share}"),
        *(f"--miopen-perf-budget={options.budget}", f"--miopen-perf-seed={options.seed}"),
        *("--miopen-perf-solver=HipConvImplicitGemm???", f"--miopen-perf-verdicts={verdicts}"),
    ]
    start = time.monotonic()
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    (folder / f"session-{share}.txt").write_text(ran.stdout + ran.stderr)
    if not verdicts.exists():
        sys.exit(f"the session left no verdicts; it said:\n{ran.stdout[-3000:]}{ran.stderr[-2000:]}")
    return VerdictReport.from_json(json.loads(verdicts.read_text())).rows, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--shares", nargs="+", default=["2%", "5%"])
    parser.add_argument("--directions", nargs="+", choices=DIRECTIONS, default=list(DIRECTIONS))
    parser.add_argument("--budget", default="6m", help="time for the processes of one session (default: 6m)")
    parser.add_argument("--seed", type=int, default=12345678)
    parser.add_argument("--out", type=Path, help="keep verdicts and sessions there (default: nowhere)")
    options = parser.parse_args()
    table = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for share in options.shares:
            rows, seconds = sing(share, options, folder)
            for row in rows:
                (problem,) = ConvProblem.from_driver(row.key.problem)
                truth = f"+{share}" if is_slowed(problem, options.seed) else "unchanged"
                table[truth][row.verdict.value] += 1
            print(f"canary {share}: {len(rows)} kernels in {seconds:.0f} s", flush=True)
    print("".join(f"{word:>14}" for word in ("", *KINDS)))
    for truth, counts in table.items():
        print(f"{truth:>14}" + "".join(f"{counts[kind]:>14}" for kind in KINDS))


if __name__ == "__main__":
    main()
