"""The noise floor: what identical code differs by on this machine, measured by running one version against itself.

A paired comparison sees what is left when both arms are the same: a bias of the method. A comparison with a stored
baseline also sees what whole sessions are off by, which is far more, and which no single session can tell.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import BaselineError
from pytest_miopen_perf.gate.estimators import estimate_over_units, t_quantile
from pytest_miopen_perf.gate.stored_fields import fingerprint_of, items_of, key_of, number, pairs_of, text_of
from pytest_miopen_perf.stored_json import SHAPE_ERRORS, FileKind, damaged, decoded, joined, read_text, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint

KIND = FileKind(noun="noise file", format="pytest-miopen-perf noise", version=1, how_to_make="--miopen-perf-aa")

_CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFloor:
    """What an A/A run says of one case on one kind of device.

    Attributes:
        key: What was measured.
        device: On what.
        measured: When, ISO 8601 in UTC.
        processes: How many processes ran.
        paired: The least margin that a paired comparison can be held to: 0.004 is 0.4 %.
        session: The least margin between two sessions of one process each.
    """

    key: CaseKey
    device: Fingerprint
    measured: str
    processes: int
    paired: float
    session: float

    def __post_init__(self) -> None:
        if not (0 <= self.paired < math.inf and 0 <= self.session < math.inf):
            raise BaselineError(f"the noise floor of {self.key.sentence} is no share of a time; measure it again")


def paired_floor(log_ratios: Sequence[float]) -> float | None:
    """The greatest change, either way, that an A/A run of so many processes leaves possible; None of fewer than two."""
    if len(log_ratios) < 2:
        return None
    estimate = estimate_over_units(log_ratios)
    assert estimate.standard_error is not None, "two units have a spread"
    return math.expm1(abs(estimate.log_ratio) + t_quantile(_CONFIDENCE, estimate.degrees) * estimate.standard_error)


def session_floor(log_medians: Sequence[float]) -> float | None:
    """How far apart the medians of two single processes of one version may lie; None of fewer than two.

    The one-sided prediction bound of a difference, from the deviation between processes.
    """
    if len(log_medians) < 2:
        return None
    estimate = estimate_over_units(log_medians)
    assert estimate.standard_error is not None, "two units have a spread"
    deviation = estimate.standard_error * math.sqrt(estimate.units)
    return math.expm1(t_quantile(_CONFIDENCE, estimate.degrees) * math.sqrt(2) * deviation)


def noise_text(floors: Iterable[NoiseFloor]) -> str:
    """The text of the file: sorted, one case a line."""
    ordered = sorted(floors, key=lambda floor: (floor.key, floor.device))
    devices = {floor.device.key: asdict(floor.device) for floor in ordered}
    cases = (
        {**asdict(floor.key), **{name: getattr(floor, name) for name in _PLAIN}, "device": floor.device.key}
        for floor in ordered
    )
    lines = [
        "{",
        *KIND.head_lines,
        ' "devices": {',
        *joined(f"  {json.dumps(name)}: {json.dumps(devices[name])}" for name in sorted(devices)),
        " },",
        ' "cases": [',
        *joined(f"  {json.dumps(case, allow_nan=False)}" for case in cases),
        " ]",
        "}",
    ]
    return "\n".join(lines) + "\n"


def save_noise(path: Path, floors: Iterable[NoiseFloor]) -> None:
    """Write a noise file, all or nothing.

    Raises:
        BaselineError: it cannot be written.
    """
    write_text(path, noise_text(floors), KIND)


def load_noise(path: Path) -> tuple[NoiseFloor, ...]:
    """Read a noise file.

    Raises:
        BaselineError: it is not there, damaged, of another kind, or of a newer version.
    """
    data = decoded(read_text(path, KIND), str(path), KIND)
    try:
        devices = {name: fingerprint_of(device) for name, device in pairs_of(data, "devices")}
        return tuple(
            NoiseFloor(
                key=key_of(case),
                device=devices[text_of(case, "device")],
                measured=text_of(case, "measured"),
                processes=int(number(case["processes"], "processes")),
                paired=number(case["paired"], "paired"),
                session=number(case["session"], "session"),
            )
            for case in items_of(data, "cases")
        )
    except SHAPE_ERRORS as error:
        raise damaged(error, str(path), KIND) from error


_PLAIN = ("measured", "processes", "paired", "session")
