"""Where the log and the files of a session go."""

from __future__ import annotations

from pytest_miopen_perf.options.option import Option
from pytest_miopen_perf.options.values import parse_output_file

OPTIONS: tuple[Option, ...] = (
    Option("log", "log_path", "PATH", parse_output_file, "write the performance log there (default: stderr)"),
    Option("json", "json_path", "PATH", parse_output_file, "write the results file there"),
    Option("verdicts", "verdicts_path", "PATH", parse_output_file, "write the verdicts there, as JSON"),
)
