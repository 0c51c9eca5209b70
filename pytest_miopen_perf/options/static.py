"""What kernels may take, as their compiler sees them with no GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.options.option import Option
from pytest_miopen_perf.options.values import one_of, parse_output_file, parse_text

if TYPE_CHECKING:
    from pytest_miopen_perf.codeobject.limits import StaticLimits


def _targets(text: str) -> tuple[str, ...]:
    from pytest_miopen_perf.codeobject.toolchain import parse_targets

    return parse_targets(text)


def _limits(text: str) -> StaticLimits:
    from pytest_miopen_perf.codeobject.limits import parse_limits

    return parse_limits(text)


OPTIONS: tuple[Option, ...] = (
    Option(
        "static",
        "static_targets",
        "TARGET,...",
        _targets,
        "compile the kernels of every case for these AMD targets (gfx942,gfx1201; or all) and fail what spills, needs "
        "no GPU; a test a kernel, config and target; -m miopen_perf_static runs these tests alone",
    ),
    Option(
        "static-configs",
        "static_configs",
        "WHICH",
        one_of("known", "all"),
        "known: the default config, and the tuned one of --miopen-perf-db; all: every valid config (default: known)",
    ),
    Option(
        "static-save",
        "static_save",
        "NAME|PATH",
        parse_text,
        "keep what kernels take as a baseline, unless a test fails",
    ),
    Option(
        "static-compare",
        "static_compare",
        "NAME|PATH",
        parse_text,
        "fail kernels that spill more, lose occupancy or grow past the limits, against a baseline",
    ),
    Option(
        "static-limits",
        "static_limits",
        "NAME=MORE,...",
        _limits,
        "how much worse is a pass: counts, shares or off, such as lds=10%%,waves=2,code=off "
        "(default: spills=0,scratch=0,waves=0,lds=1K, code by half)",
    ),
    Option("static-json", "static_json_path", "PATH", parse_output_file, "write what kernels take there, as JSON"),
)
