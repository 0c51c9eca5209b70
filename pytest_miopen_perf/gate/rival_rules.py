"""Rules that others use, on the same synthetic times.

They show what the noise model is worth, and what the gate gains.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.gate.noise_model import measure_paired

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pytest_miopen_perf.gate.noise_model import Measured, Scenario


def _fixed_threshold(measured: Measured) -> NDArray[np.bool_]:
    """The medians of two sessions, 5 % apart."""
    base, new = (np.median(times, axis=-1) for times in _two_sessions(measured))
    red: NDArray[np.bool_] = new - base > math.log1p(0.05)
    return red


def _mann_whitney(measured: Measured) -> NDArray[np.bool_]:
    """Mann and Whitney on the launches of two sessions, p < 0.05 against no change at all."""
    from scipy.stats import mannwhitneyu

    base, new = _two_sessions(measured)
    red: NDArray[np.bool_] = mannwhitneyu(new, base, alternative="greater", axis=-1, method="asymptotic").pvalue < 0.05
    return red


def _eight_processes(measured: Measured) -> NDArray[np.bool_]:
    """The paired rule without looks, suite and confirmation: 8 processes, 1 % margin, p < 0.01."""
    from scipy.special import stdtr

    ratios = measured.process_log_ratios()
    error = ratios.std(axis=1, ddof=1) / math.sqrt(ratios.shape[1])
    red: NDArray[np.bool_] = stdtr(ratios.shape[1] - 1, -(ratios.mean(axis=1) - math.log1p(0.01)) / error) < 0.01
    return red


def _two_sessions(measured: Measured) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Arm A of one process and arm B of another, as where two versions are measured one after the other."""
    return measured.arm_launches("A")[:, 0], measured.arm_launches("B")[:, 1]


RIVALS: dict[str, Callable[[Measured], NDArray[np.bool_]]] = {
    "two sessions, medians 5 % apart": _fixed_threshold,
    "two sessions, Mann-Whitney p < 0.05": _mann_whitney,
    "A B B A, 8 processes, p < 0.01": _eight_processes,
}
"""Name to rule: which of the measured cases it calls red."""


def rival_share(name: str, scenario: Scenario, change: float, *, trials: int, seed: int) -> float:
    """The share of red verdicts of a rule on cases of one true change."""
    rng = np.random.default_rng(seed)
    effects = np.full(trials, math.log1p(change))
    return float(RIVALS[name](measure_paired(scenario, effects, rng, processes=8)).mean())
