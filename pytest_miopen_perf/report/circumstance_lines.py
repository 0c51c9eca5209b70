"""The footer's lines on what the times were taken under: caches, launches, the device's clock, its sensors, others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.report.units import short_time
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_miopen_perf.results import Result
    from pytest_miopen_perf.telemetry import Reading


def circumstance_lines(results: Sequence[Result]) -> Iterator[str]:
    """The lines; none where nothing was timed here.

    Args:
        results: Of all cases.
    """
    timed = [result for result in results if result.sample is not None]
    yield from _cache_lines(timed)
    yield from _launch_lines(timed)
    yield from _clock_lines(timed)
    yield from _sensor_lines(timed)
    tainted = [result.taint for result in timed if result.taint]
    if tainted:
        yield f"tainted  {counted(len(tainted), 'case')}: {'; '.join(dict.fromkeys(tainted))}"


def cache_words(results: Sequence[Result]) -> str:
    """The cache states of the times; "warm" where there are none."""
    return ", ".join(dict.fromkeys(result.cache_mode or "not known" for result in results)) or "warm"


def seed_words(results: Sequence[Result]) -> str:
    """The seeds of the data, as far as they are known."""
    return ", ".join(f"seed {seed}" for seed in dict.fromkeys(result.seed for result in results) if seed is not None)


def _cache_lines(results: Sequence[Result]) -> Iterator[str]:
    notes = list(
        dict.fromkeys(result.circumstances.cache_note for result in results if result.circumstances.cache_note)
    )
    if notes:
        yield f"caches   {notes[0]}" + (f"; {len(notes) - 1} more in the results file" if len(notes) > 1 else "")


def _launch_lines(results: Sequence[Result]) -> Iterator[str]:
    reasons = {
        "batched": "shorter than 100 steps of the timer, and one time taken around",
        "back-to-back": "back-to-back, one time around",
    }
    for mode, reason in reasons.items():
        lengths = [
            result.sample.batch for result in results if result.sample and result.circumstances.launch_mode == mode
        ]
        if lengths:
            yield f"launches {counted(len(lengths), 'case')} {reason} {_span(lengths)} executions"
            yield "         their kernels' own times are of executions by themselves"


def _clock_lines(results: Sequence[Result]) -> Iterator[str]:
    seen = dict.fromkeys(
        (result.circumstances.timer_step_seconds, result.circumstances.empty_launch_seconds) for result in results
    )
    for step, empty in seen:
        words = []
        if step is not None:
            words.append(f"timer step {short_time(step)}")
        if empty is not None:
            words.append(f"an empty launch takes {short_time(empty)}, which is not subtracted")
        if words:
            yield f"clock    {', '.join(words)}"


def _sensor_lines(results: Sequence[Result]) -> Iterator[str]:
    for name in dict.fromkeys(result.circumstances.sensor for result in results if result.circumstances.sensor):
        blocks = [
            block for result in results if result.circumstances.sensor == name for block in result.circumstances.blocks
        ]
        readings = [reading for block in blocks for reading in (block.before, block.after)]
        yield f"sensor   {', '.join([name, *_spans(readings)])}"


def _spans(readings: Sequence[Reading]) -> Iterator[str]:
    """What was read, from the least to the most."""
    units = {
        "clock_mhz": "MHz",
        "memory_clock_mhz": "MHz memory",
        "power_watts": "W",
        "temperature_celsius": "°C",
        "load": "load",
    }
    for field, unit in units.items():
        values = [value for reading in readings if (value := getattr(reading, field)) is not None]
        if values:
            yield f"{_span(values)} {unit}"


def _span(values: Sequence[float]) -> str:
    least, most = f"{min(values):.4g}", f"{max(values):.4g}"
    return least if least == most else f"{least} to {most}"
