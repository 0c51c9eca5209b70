"""Our solvers, tuned, beside cuDNN on the same NVIDIA card in the same run.

Anybody with a card can repeat it: `python tests/gpu/compare_cudnn.py --types fp32 fp16 --json out.json`, with
`pip install 'pytest-miopen-perf[cuda]' torch`. cuDNN is measured through PyTorch with its benchmark mode on and TF32
off; both sides by event pairs around single executions, warm, medians. Numbers are checked before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from pathlib import Path

from pytest_miopen_perf.devices import DeviceOptions, load_backend
from pytest_miopen_perf.errors import PerfError, SettingsError
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.running.choosing import Chooser
from pytest_miopen_perf.running.runner import Runner
from pytest_miopen_perf.running.tuned import SessionConfigs
from pytest_miopen_perf.settings import Settings, TunePolicy
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.solvers.selection import select

# name, n, c, size, k, filter, pad, stride, groups
PROBLEMS = (
    ("r50_conv1", 64, 3, 224, 64, 7, 3, 2, 1),
    ("r50_l1_3x3", 64, 64, 56, 64, 3, 1, 1, 1),
    ("r50_l1_1x1", 64, 64, 56, 256, 1, 0, 1, 1),
    ("r50_l2_3x3", 64, 128, 28, 128, 3, 1, 1, 1),
    ("r50_l3_3x3", 64, 256, 14, 256, 3, 1, 1, 1),
    ("r50_l4_3x3", 64, 512, 7, 512, 3, 1, 1, 1),
    ("r50_l4_1x1", 64, 512, 7, 2048, 1, 0, 1, 1),
    ("vae_3x3", 1, 128, 512, 128, 3, 1, 1, 1),
    ("mobilenet_dw", 64, 144, 56, 144, 3, 1, 1, 144),
    ("resnext_g32", 32, 256, 28, 256, 3, 1, 1, 32),
)
BASES = {"fp32": "conv", "fp16": "convfp16", "bf16": "convbfp16"}
DIRECTIONS = {"F": 1, "B": 2, "W": 4}
SAMPLES = 30


def driver_line(row, kind, direction):
    _, n, c, size, k, fil, pad, stride, groups = row
    layout = "" if kind == "fp32" else " --in_layout NHWC --fil_layout NHWC --out_layout NHWC"
    return (
        f"MIOpenDriver {BASES[kind]} -n {n} -c {c} -H {size} -W {size} -k {k} -y {fil} -x {fil} -p {pad} -q {pad} "
        f"-u {stride} -v {stride} -g {groups}{layout} -F {DIRECTIONS[direction]}"
    )


def cudnn_seconds(torch, row, kind, direction):
    """Median seconds of one execution through PyTorch."""
    _, n, c, size, k, fil, pad, stride, groups = row
    dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[kind]
    memory = torch.contiguous_format if kind == "fp32" else torch.channels_last
    x = torch.rand(n, c, size, size, device="cuda", dtype=dtype).to(memory_format=memory)
    w = torch.rand(k, c // groups, fil, fil, device="cuda", dtype=dtype).to(memory_format=memory)
    y = torch.nn.functional.conv2d(x, w, stride=stride, padding=pad, groups=groups)

    def backward(mask):
        return torch.ops.aten.convolution_backward(
            y, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], groups, mask
        )

    execute = {
        "F": lambda: torch.nn.functional.conv2d(x, w, stride=stride, padding=pad, groups=groups),
        "B": lambda: backward([True, False, False]),
        "W": lambda: backward([False, True, False]),
    }[direction]
    for _ in range(8):
        execute()
    pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(SAMPLES)]
    for start, end in pairs:
        start.record()
        execute()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in pairs) * 1e-3


def ours(runner, row, kind, direction, options):
    (problem,) = ConvProblem.from_driver(driver_line(row, kind, direction))
    settings = Settings(
        level=1,
        backend="cuda",
        tune=TunePolicy.FORCE,
        tune_max_configs=options.configs,
        tune_budget_seconds=options.tune_seconds,
        iterations=SAMPLES,
    )
    return runner.run(problem, solvers=options.solvers, settings=settings, logger=PerformanceLogger(0, str))


def measure(options):
    import torch

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    device = load_backend("cuda").open_device(DeviceOptions())
    runner = Runner(device, Chooser(tuned=SessionConfigs()))
    end = time.monotonic() + options.seconds
    for kind in options.types:
        for direction in options.directions:
            for row in (row for row in PROBLEMS if row[0] in options.problems):
                if time.monotonic() > end:
                    print("the time is up; what follows was not measured", flush=True)
                    return
                yield one(torch, runner, row, kind, direction, options)


def one(torch, runner, row, kind, direction, options):
    name = row[0]
    theirs = cudnn_seconds(torch, row, kind, direction)
    torch.cuda.empty_cache()
    try:
        result = ours(runner, row, kind, direction, options)
    except PerfError as error:
        print(f"{kind} {direction} {name:13s} {str(error).splitlines()[0][:150]}", flush=True)
        return {"type": kind, "direction": direction, "name": name, "cudnn_seconds": theirs, "error": str(error)}
    wrong = [trial for tuning in result.tuning for trial in tuning.trials if trial.status.value == "wrong result"]
    assert result.check.passed, result.check.sentence
    seconds = result.sample.median_seconds
    flops = result.problem.flops
    print(
        f"{kind} {direction} {name:13s} ours {seconds * 1e3:8.4f} ms {flops / seconds / 1e12:6.2f} TF "
        f"cuDNN {theirs * 1e3:8.4f} ms {flops / theirs / 1e12:6.2f} TF ratio {theirs / seconds:5.2f} "
        f"{result.solver} {result.config} noise {result.sample.noise:.3f} wrong {len(wrong)}",
        flush=True,
    )
    return {
        "type": kind,
        "direction": direction,
        "name": name,
        "cudnn_seconds": theirs,
        "seconds": seconds,
        "solver": result.solver,
        "config": result.config,
        "noise": result.sample.noise,
        "wrong": [[trial.solver, trial.config, trial.reason] for trial in wrong],
        "find": [[trial.solver, trial.median_seconds, trial.status.value, trial.reason[:300]] for trial in result.find],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--types", nargs="+", default=["fp32"], choices=list(BASES))
    parser.add_argument("--directions", nargs="+", default=list(DIRECTIONS), choices=list(DIRECTIONS))
    parser.add_argument("--configs", type=int, default=24, help="most configs of one search")
    parser.add_argument("--tune-seconds", type=float, default=20.0, help="time for one search")
    parser.add_argument("--problems", nargs="+", default=[row[0] for row in PROBLEMS], help="names of the problems")
    parser.add_argument("--solvers", nargs="+", default=[], metavar="GLOB", help="only these; naive ones never")
    parser.add_argument("--seconds", type=float, default=540.0, help="begin nothing after this time")
    parser.add_argument("--json", help="where the rows go")
    options = parser.parse_args()
    try:
        options.solvers = select(options.solvers, [each for each in builtin_solvers() if "Naive" not in each.name])
    except SettingsError as error:
        parser.error(str(error))
    rows = list(measure(options))
    for kind in options.types:
        for direction in options.directions:
            ratios = [
                row["cudnn_seconds"] / row["seconds"]
                for row in rows
                if (row["type"], row["direction"]) == (kind, direction) and "seconds" in row
            ]
            if ratios:
                mean = math.exp(statistics.fmean(map(math.log, ratios)))
                print(f"{kind} {direction}: geometric mean of cuDNN time over ours {mean:.3f} over {len(ratios)}")
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
