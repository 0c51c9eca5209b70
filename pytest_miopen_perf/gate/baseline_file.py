"""A baseline on disk: JSON that lives well in git.

Cases are sorted, each in a block of its own with one field a line and one process a line, and nothing in the head of
the file changes from save to save: a changed case is a changed block, and branches that touch different cases merge.
Version 1 knows no phases beside the time; it is read, and its cases have none.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf import statistics
from pytest_miopen_perf.errors import BaselineError
from pytest_miopen_perf.gate.baseline import Baseline, Entry
from pytest_miopen_perf.gate.phases import Phase
from pytest_miopen_perf.gate.stored_fields import fingerprint_of, items_of, key_of, number, numbers, pairs_of, text_of
from pytest_miopen_perf.gate.what_changed import Execution
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.stored_json import SHAPE_ERRORS, FileKind, damaged, decoded, joined, read_text, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint

KIND = FileKind(noun="baseline", format="pytest-miopen-perf baseline", version=2, how_to_make="--miopen-perf-save=NAME")
UNIT = "seconds"

_MOST_SECONDS = 1e9
"""No launch takes thirty years; the middle of two times that a float can just hold is none."""


def save_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline, all or nothing; to keep what an older file holds, write `load_baseline(path).updated(...)`.

    Raises:
        BaselineError: the file cannot be written.
    """
    write_text(path, baseline_text(baseline), KIND)


def load_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        BaselineError: the file is not there, or `parse_baseline` refuses its text.
    """
    return parse_baseline(read_text(path, KIND), str(path))


def parse_baseline(text: str, where: str) -> Baseline:
    """A baseline from its text.

    Args:
        text: Of the file.
        where: The file's name, for messages.

    Raises:
        BaselineError: the text is damaged, no baseline, of a newer version, in other units, or a case has no times;
            the message says where and what to do.
    """
    data = decoded(text, where, KIND)
    if data.get("unit") != UNIT:
        raise BaselineError(f"the baseline {where} is in {data.get('unit')!r}, not in {UNIT}; save a new one")
    try:
        devices = {name: fingerprint_of(device) for name, device in pairs_of(data, "devices")}
        return Baseline.of(_entry(case, devices) for case in items_of(data, "cases"))
    except BaselineError as error:
        raise BaselineError(f"the baseline {where}: {error}") from error
    except SHAPE_ERRORS as error:
        raise damaged(error, where, KIND) from error


def baseline_text(baseline: Baseline) -> str:
    """The text of the file, with its closing line end."""
    devices = {entry.device.key: asdict(entry.device) for entry in baseline.entries}
    lines = [
        "{",
        *KIND.head_lines,
        f' "unit": {json.dumps(UNIT)},',
        ' "devices": {',
        *joined(f"  {json.dumps(name)}: {json.dumps(devices[name])}" for name in sorted(devices)),
        " },",
        ' "cases": [',
        *joined("\n".join(_block(entry)) for entry in baseline.entries),
        " ]",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _block(entry: Entry) -> Iterator[str]:
    head: dict[str, Any] = {
        **asdict(entry.key),
        "device": entry.device.key,
        "saved": entry.saved,
        "execution": {**asdict(entry.execution), "kernel_seconds": dict(entry.execution.kernel_seconds)},
        "environment": dict(entry.environment),
        "phases": {phase.value: list(values) for phase, values in entry.phases},
        "summary": _summary(entry),
    }
    yield "  {"
    yield from (f"   {json.dumps(name)}: {json.dumps(value, allow_nan=False)}," for name, value in head.items())
    yield '   "seconds": ['
    yield from joined(f"    {json.dumps(list(times), allow_nan=False)}" for times in entry.seconds)
    yield "   ]"
    yield "  }"


def _summary(entry: Entry) -> dict[str, float | int | None]:
    """For the human reader of a diff; computed anew from the times when the file is read."""
    times = [t for process in entry.seconds for t in process]
    noise = statistics.relative_iqr(times)
    return {
        "median_seconds": float(f"{entry.median_seconds:.6g}"),
        "min_seconds": min(times),
        "max_seconds": max(times),
        "relative_noise": None if noise is None else float(f"{noise:.3g}"),
        "processes": len(entry.seconds),
        "count": len(times),
    }


def _entry(data: Mapping[str, Any], devices: Mapping[str, Fingerprint]) -> Entry:
    key = key_of(data)
    problems = ConvProblem.from_driver(key.problem)
    if len(problems) != 1:
        raise BaselineError(f"the case {key.sentence} is of {len(problems)} directions, not of one; save it again")
    device = text_of(data, "device")
    if device not in devices:
        raise BaselineError(f"the case {key.sentence} names the device {device!r}, which the file lacks")
    seconds = tuple(numbers(times, "seconds") for times in data["seconds"])
    wrong = [t for times in seconds for t in times if not (statistics.is_time(t) and t < _MOST_SECONDS)]
    if wrong:
        raise BaselineError(f"the case {key.sentence} has the time {wrong[0]!r}, which is none; save it again")
    saved = text_of(data, "saved")
    if datetime.fromisoformat(saved).tzinfo is None:
        raise BaselineError(f"the case {key.sentence} was saved at {saved}, which names no time zone")
    phases = pairs_of(data, "phases") if "phases" in data else ()
    return Entry(
        key=key,
        device=devices[device],
        saved=saved,
        seconds=seconds,
        execution=_execution(data["execution"]),
        environment=tuple((name, text_of(data["environment"], name)) for name, _ in pairs_of(data, "environment")),
        phases=tuple((Phase(name), _amounts(key, name, values)) for name, values in phases),
    )


def _execution(data: Mapping[str, Any]) -> Execution:
    kernels = pairs_of(data, "kernel_seconds")
    return Execution(
        solver=text_of(data, "solver"),
        config=text_of(data, "config"),
        compile_key=text_of(data, "compile_key"),
        kernel_seconds=tuple((name, _kernel_time(name, seconds)) for name, seconds in kernels),
    )


def _kernel_time(name: str, value: object) -> float:
    seconds = number(value, f"the time of {name}")
    if not 0 <= seconds < math.inf:  # a log tells of kernels that took no time it could print
        raise BaselineError(f"the kernel {name} has the time {seconds!r}, which is none; save it again")
    return seconds


def _amounts(key: CaseKey, name: str, values: object) -> tuple[float, ...]:
    """Seconds, bytes or errors: at least one, none below zero."""
    amounts = numbers(values, name)
    wrong = [amount for amount in amounts if not (math.isfinite(amount) and amount >= 0)]
    if wrong or not amounts:
        what = f"{wrong[0]!r} as its {name}" if wrong else f"no value of its {name}"
        raise BaselineError(f"the case {key.sentence} has {what}; save it again")
    return amounts
