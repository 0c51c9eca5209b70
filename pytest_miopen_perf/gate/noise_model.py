"""Synthetic kernel times with the disturbances of real machines, for measuring what the gate can and cannot see.

Everything is a logarithm of a time. The figures are those of public reports and, for the luck of memory placement, the
greatest one at which the rule "8 processes, 1 % margin, p < 0.01" still finds about 95 % of slowdowns by 2 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_A_FIRST = np.array([0.0, 1.0, 1.0, 0.0])
"""The share of arm B in each slot of an ABBA block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One kind of machine; all figures but the first and the probabilities are on the logarithm of a time.

    Attributes:
        name: For tables.
        launch: Deviation from launch to launch.
        spike_probability: Chance that a launch takes 5 to 30 % longer.
        placement: Deviation of an arm from process to process: where its buffers lie.
        session: Deviation of a whole process, both arms alike.
        drift: What a process gains from its first launch to its last.
        slow_clock: What a launch takes longer in the second clock state; 0 when there is only one.
        clock_switch_probability: Chance that the clock state changes before a slot.
        gpu: Deviation of the GPU that a process lands on, one out of `gpus`.
        gpu_by_arm: Deviation of what a GPU changes in one arm only.
        gpus: How many GPUs take turns.
    """

    name: str
    launch: float = 0.005
    spike_probability: float = 0.01
    placement: float = 0.004
    session: float = 0.0
    drift: float = 0.0
    slow_clock: float = 0.0
    clock_switch_probability: float = 0.0
    gpu: float = 0.0
    gpu_by_arm: float = 0.0
    gpus: int = 1


SCENARIOS = (
    Scenario(name="iid"),
    Scenario(name="session offset", session=0.015),
    Scenario(name="drift 3 %", drift=0.03),
    Scenario(name="two clock states", slow_clock=0.08, clock_switch_probability=0.02),
    Scenario(name="other GPU", gpu=0.03, gpu_by_arm=0.001, gpus=4),
)
"""Independent launches, and four kinds of machine that break fixed thresholds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Launch times of many cases in paired blocks.

    Attributes:
        log_seconds: Cases, processes, blocks, four slots, launches.
        is_b_first: Cases, processes, blocks: whether the block is BAAB.
    """

    log_seconds: NDArray[np.float64]
    is_b_first: NDArray[np.bool_]

    def arm_launches(self, arm: Literal["A", "B"]) -> NDArray[np.float64]:
        """Cases, processes, launches: the log times of one arm."""
        is_b = self.is_b_first[..., None] ^ (_A_FIRST == 1)
        taken = self.log_seconds[is_b if arm == "B" else ~is_b]
        by_process: NDArray[np.float64] = taken.reshape(*self.log_seconds.shape[:2], -1)
        return by_process

    def process_log_ratios(self) -> NDArray[np.float64]:
        """Cases by processes: what `estimators.process_log_ratio` says, for many cases at once."""
        slots = np.median(self.log_seconds, axis=-1)
        b_over_a = (slots[..., 1] + slots[..., 2] - slots[..., 0] - slots[..., 3]) / 2
        ratios = np.where(self.is_b_first, -b_over_a, b_over_a)
        first, second = np.triu_indices(ratios.shape[-1])
        walsh = (ratios[..., first] + ratios[..., second]) / 2
        medians: NDArray[np.float64] = np.median(walsh, axis=-1)
        return medians


def measure_paired(
    scenario: Scenario,
    log_effects: Sequence[float] | NDArray[np.float64],
    rng: np.random.Generator,
    *,
    processes: int,
    blocks: int = 6,
    launches: int = 5,
) -> Measured:
    """Measure cases, arm B of each slower by its own effect."""
    effects = np.asarray(log_effects, dtype=float)
    shape = (len(effects), processes, blocks, 4, launches)
    is_b_first = rng.random(shape[:3]) < 0.5
    share_of_b = np.where(is_b_first[..., None], 1 - _A_FIRST, _A_FIRST)
    times = rng.normal(0, scenario.launch, shape)
    spikes = rng.random(shape) < scenario.spike_probability
    times[spikes] += np.log1p(rng.uniform(0.05, 0.30, int(spikes.sum())))
    arms = rng.normal(0, scenario.placement, (*shape[:2], 2))
    arms[..., 1] += effects[:, None]
    arms += _gpu(scenario, shape, rng) + rng.normal(0, scenario.session, (*shape[:2], 1))
    a_level, b_level = arms[..., 0, None, None], arms[..., 1, None, None]
    slots = a_level * (1 - share_of_b) + b_level * share_of_b + _clock(scenario, shape, rng)
    progress = np.linspace(0, 1, blocks * 4 * launches).reshape(shape[2:])
    return Measured(log_seconds=times + slots[..., None] + scenario.drift * progress, is_b_first=is_b_first)


def _gpu(scenario: Scenario, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    """Cases, processes, arms."""
    cases, processes = shape[:2]
    which = rng.integers(0, scenario.gpus, (cases, processes))
    both = rng.normal(0, scenario.gpu, (cases, scenario.gpus, 1))
    of_arm = rng.normal(0, scenario.gpu_by_arm, (cases, scenario.gpus, 2))
    taken: NDArray[np.float64] = np.take_along_axis(both + of_arm, which[..., None], axis=1)
    return taken


def _clock(scenario: Scenario, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
    """Cases, processes, blocks, slots: the state changes now and then, whichever arm runs."""
    slots = (*shape[:2], shape[2] * shape[3])
    switches = rng.random(slots) < scenario.clock_switch_probability
    start = rng.random(slots[:2]) < 0.5
    is_slow = (np.cumsum(switches, axis=-1) + start[..., None]) % 2 == 1
    clock: NDArray[np.float64] = (scenario.slow_clock * is_slow).reshape(shape[:4])
    return clock
