"""What runs, and where."""

from __future__ import annotations

from pytest_miopen_perf.options.option import Option
from pytest_miopen_perf.options.values import (
    one_of,
    parse_backend,
    parse_device,
    parse_duration,
    parse_folder,
    parse_kernels,
    parse_level,
    parse_problems,
    parse_size,
    parse_switch,
    parse_text,
)

LEVEL_VARIABLE = "MIOPEN_PERFORMANCE_LOGS"

OPTIONS: tuple[Option, ...] = (
    Option(
        "level",
        "level",
        "0..4",
        parse_level,
        f"level of the performance log: 0 off, 1 executed solution, 2 with kernels, 3 also everything tried, "
        f"4 with kernels (default: the variable {LEVEL_VARIABLE}, else 0)",
    ),
    Option(
        "backend",
        "backend",
        "NAME",
        parse_backend,
        "where kernels run: auto (hip, cuda, cpu in this order), hip, cuda, cpu or scripted",
    ),
    Option("device", "device", "N|PATH", parse_device, "which device of the back-end; the script of the scripted one"),
    Option("solver", "solvers", "GLOB", parse_text, "only solvers whose name matches; may be repeated", repeats=True),
    Option("config", "config", "TEXT", parse_text, "performance config of the tunable solvers, in MIOpen's comma form"),
    Option(
        "problems",
        "problems",
        "WHAT",
        parse_problems,
        "problems instead of those the tests name: a workload file, a bundled list or a MIOpenDriver line in quotes; "
        "may be repeated",
        repeats=True,
    ),
    Option(
        "memory", "memory_bytes", "SIZE", parse_size, "skip problems that need more (default: what the device has free)"
    ),
    Option(
        "order",
        "work_item_order",
        "ORDER",
        one_of("forward", "reverse", "strided"),
        "CPU: order of work-items between two barriers: forward, reverse or strided; a race shows in one of them",
    ),
    Option(
        "guard",
        "guard",
        "on|off",
        parse_switch,
        "CPU: run every launch in a child process whose buffers end at an unmapped page",
        flag="on",
    ),
    Option(
        "kernels",
        "kernels_dir",
        "DIR",
        parse_kernels,
        "take the HIP text of the kernels from there (default: the shipped)",
    ),
    Option("cache", "cache_dir", "DIR", parse_folder, "where compiled kernels are kept (default: the user's cache)"),
    Option(
        "compile-timeout", "compile_timeout_seconds", "TIME", parse_duration, "stop a compiler after it (default: 120s)"
    ),
)
