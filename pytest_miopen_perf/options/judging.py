"""What times are held against, and what may differ."""

from __future__ import annotations

from pytest_miopen_perf.options.option import Option
from pytest_miopen_perf.options.values import (
    parse_arms,
    parse_count,
    parse_duration,
    parse_folder_below,
    parse_fraction,
    parse_margin,
    parse_margin_of_files,
    parse_phases,
    parse_switch,
    parse_text,
)

OPTIONS: tuple[Option, ...] = (
    Option(
        "save", "save", "NAME|PATH", parse_text, "keep the times of this session as a baseline, unless a test fails"
    ),
    Option("compare", "compare", "NAME|PATH", parse_text, "fail tests whose kernels are slower than in a baseline"),
    Option(
        "baselines",
        "baselines_dir",
        "DIR",
        parse_folder_below,
        "the folder of baselines by name and of noise floors, below the rootdir (default: .miopen-perf)",
    ),
    Option(
        "ab",
        "ab",
        "A,B",
        parse_arms,
        "compare two kernels folders or git revisions of them, and fail what B made slower",
    ),
    Option(
        "aa", "aa", "", parse_switch, "measure what identical code differs by, and keep it for later margins", flag="on"
    ),
    Option(
        "canary", "canary", "SHARE", parse_fraction, "slow half of the cases by this share, and demand red there alone"
    ),
    Option(
        "log-overhead",
        "log_overhead",
        "",
        parse_switch,
        "measure what the log costs, level 4 against level 0, and fail where kernels are slower for it",
        flag="on",
    ),
    Option("budget", "budget_seconds", "TIME", parse_duration, "time for the processes of --miopen-perf-ab"),
    Option(
        "processes", "processes", "N", parse_count, "processes of --miopen-perf-ab at most, of --miopen-perf-aa (8)"
    ),
    Option(
        "part", "part_path", "FILE", parse_text, "run the part of a comparison in this order; miopen-perf ab writes it"
    ),
    Option("margin", "margin", "SHARE", parse_margin, "the slowdown that does not matter (default: 1%%)"),
    Option(
        "margins",
        "margins",
        "GLOB=SHARE",
        parse_margin_of_files,
        "the margin of the test files that match, relative to the rootdir; the first match counts; may be repeated",
        repeats=True,
    ),
    Option(
        "gate",
        "gate",
        "WHAT",
        parse_phases,
        "what is judged: some of time, compile, tuning, first-launch, workspace and accuracy, with margins such as "
        "time,compile=80%%,workspace,accuracy=3 (default: time)",
    ),
    Option(
        "strict",
        "strict",
        "",
        parse_switch,
        "fail also what has no baseline, what could not be decided, and cases of the baseline that did not run",
        flag="on",
    ),
)
