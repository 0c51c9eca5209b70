"""What the declared modes of measuring say on the GPU at hand: a short and a long kernel, in every mode.

`python tests/gpu/measuring_rules.py [cuda|hip|cpu]`: the device's clock and sensor, then each mode's median, noise,
batch and invalid times. On a quiet device back-to-back is no slower than isolated, cold and rotating no faster than
warm, and the batch of a short kernel takes no time of the host's: its median lies near that of the kernel alone.
"""

from __future__ import annotations

import sys
from functools import partial

from pytest_miopen_perf.devices import DeviceOptions, load_backend
from pytest_miopen_perf.errors import NotApplicableError
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.running.choosing import Chooser
from pytest_miopen_perf.running.runner import Runner
from pytest_miopen_perf.running.tuned import SessionConfigs
from pytest_miopen_perf.settings import Settings
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.telemetry.household import Household
from pytest_miopen_perf.telemetry.opening import sensor_of

KERNELS = {
    "short": ("conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1", "HipConvNaiveFwd"),
    "long": ("conv -n 16 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1", "HipConvImplicitGemmFwd"),
}
MODES = [
    ("warm", "isolated"),
    ("rotating", "isolated"),
    ("cold", "isolated"),
    ("warm", "back-to-back"),
    ("rotating", "back-to-back"),
]


def main():
    device = load_backend(sys.argv[1] if len(sys.argv) > 1 else "cuda").open_device(DeviceOptions())
    runner = Runner(device, Chooser(tuned=SessionConfigs()), partial(sensor_of, household=Household.of_process()))
    print(f"{device.info.name}: last-level cache {device.info.cache_bytes} bytes, bus {device.info.bus or '-'}")
    for kernel, (line, name) in KERNELS.items():
        (problem,) = ConvProblem.from_driver(line)
        solvers = [solver for solver in builtin_solvers() if solver.name == name]
        for cache_state, launch_mode in MODES:
            settings = Settings(level=1, cache_state=cache_state, launch_mode=launch_mode)
            try:
                result = runner.run(problem, solvers=solvers, settings=settings, logger=PerformanceLogger(0, print))
            except NotApplicableError as error:
                print(f"{kernel:5} {cache_state:8} {launch_mode:12} {error}")
                continue
            sample = result.sample
            print(
                f"{kernel:5} {cache_state:8} {launch_mode:12} {sample.median_seconds * 1e6:10.2f} us  "
                f"noise {sample.noise:.4f}  n {len(sample.counted)}  batch {sample.batch}  invalid {sample.invalid}  "
                f"{result.circumstances.cache_note}"
            )
    circumstances = result.circumstances
    print(f"timer step {circumstances.timer_step_seconds} s, empty launch {circumstances.empty_launch_seconds} s")
    print(f"sensor {circumstances.sensor}: {circumstances.blocks}; taint: {result.taint or 'none'}")
    device.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
