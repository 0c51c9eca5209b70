"""A known slowdown for the gate's own test: one more launch in the timed region, as long as it was calibrated to be."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.devices import Call
from pytest_miopen_perf.devices.probe_kernels import DELAY
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.launch import Scalar
from pytest_miopen_perf.statistics import is_time, median

if TYPE_CHECKING:
    from pytest_miopen_perf.devices import Device, Kernel
    from pytest_miopen_perf.problem import ConvProblem

_SHORT, _LONG = 1000, 11000
_RUNS = 9
_ONE = (1, 1, 1)


def is_slowed(problem: ConvProblem, seed: int) -> bool:
    """Whether the canary slows a problem: every process of a comparison draws the same half."""
    return random.Random(f"{seed}/canary/{problem.to_driver()}").random() < 0.5  # noqa: S311 - no secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """A launch of a known length.

    Attributes:
        device: Where it runs.
        kernel: What runs.
        iterations: How often its loop turns.
    """

    device: Device
    kernel: Kernel
    iterations: int

    @property
    def call(self) -> Call:
        """The launch."""
        return Call(self.kernel, _ONE, _ONE, (Scalar("iterations", "i64", self.iterations),))

    def execute(self) -> float:
        """Run it and return the device's time of it.

        Raises:
            LaunchError: the kernel failed.
        """
        call = self.call
        return self.device.launch(call.kernel, call.grid, call.block, call.args).seconds()


def calibrated(device: Device, wanted_seconds: float) -> Delay:
    """A delay of about that length; of the shortest possible one where a launch alone takes longer.

    Raises:
        CompileError: the kernel does not compile.
        LaunchError: it failed, or the device's clock cannot be believed.
    """
    kernel = device.compile(DELAY)
    short, long = (_typical(Delay(device=device, kernel=kernel, iterations=count)) for count in (_SHORT, _LONG))
    if long <= short:
        raise LaunchError("a longer loop of the canary does not take longer; check the device's clock")
    per_iteration = (long - short) / (_LONG - _SHORT)
    iterations = round(_SHORT + (wanted_seconds - short) / per_iteration)
    return Delay(device=device, kernel=kernel, iterations=max(1, iterations))


def _typical(delay: Delay) -> float:
    delay.execute()
    middle = median([seconds for _ in range(_RUNS) if is_time(seconds := delay.execute())])
    if middle is None:
        raise LaunchError("the canary has no valid time; check the device's clock")
    return middle
