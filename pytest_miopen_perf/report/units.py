"""Numbers as people read them, in few characters."""

from __future__ import annotations


def short_time(seconds: float) -> str:
    """A time in at most seven characters: `12.3 us`, `4.56 ms`, `78.9 s`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size * 0.9995:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{_three_digits(seconds / 1e-9)} ns"


def percent(share: float) -> str:
    """A share in at most five characters: `0.42%`, `12.3%`, `123%`."""
    return f"{_three_digits(share * 100)}%" if share * 100 >= 0.0995 else f"{share * 100:.2f}%"


def rate(value: float) -> str:
    """A rate in at most five characters: `0.123`, `4.56`, `78.9`, `12345`."""
    return _three_digits(value) if value >= 0.0995 else f"{value:.3f}"


def _three_digits(value: float) -> str:
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
