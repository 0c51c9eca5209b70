"""The command-line options and their ini twins: one table, parsed into `Settings` once.

Only the standard library is imported here: pytest reads the table at every start, also where the plugin is unused.
"""

from __future__ import annotations

import math
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from pytest_miopen_perf.settings import Settings

LEVEL_VARIABLE = "MIOPEN_PERFORMANCE_LOGS"


def _level(text: str) -> int:
    if text.strip() not in {"0", "1", "2", "3", "4"}:
        raise ValueError("give a level from 0 (off) to 4 (kernels of everything that was tried)")
    return int(text)


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"give one of {', '.join(words)}")
        return text

    return parse


def _backend(text: str) -> str:
    from pytest_miopen_perf.devices import BACKENDS

    return _one_of("auto", *BACKENDS)(text)


def _tune(text: str) -> object:
    from pytest_miopen_perf.settings import TunePolicy

    return TunePolicy(_one_of("off", "missing", "force")(text))


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text.strip()) or int(text) < 1:
        raise ValueError("give a whole number of at least 1")
    return int(text)


def _seed(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text.strip()) or int(text) >= 2**32:
        raise ValueError("give a whole number from 0 to 4294967295")
    return int(text)


_DURATION_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_duration(text: str) -> float:
    """Seconds of a time such as `2s`, `500ms` or `10m`.

    Raises:
        ValueError: with what to give.
    """
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([a-z]*)", text.strip())
    if not found or found[2] not in _DURATION_UNITS or float(found[1]) <= 0:
        raise ValueError("give a time above zero such as 2s, 500ms or 10m")
    return float(found[1]) * _DURATION_UNITS[found[2]]


def _fraction(text: str) -> float:
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(%?)", text.strip())
    value = float(found[1]) / (100 if found[2] else 1) if found else math.nan
    if not 0 < value < 1:
        raise ValueError("give a share between 0 and 1 such as 0.5% or 0.005")
    return value


def _factor(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ValueError("give a factor above zero such as 1 or 2.5")
    return value


_SIZE_UNITS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _size(text: str) -> int:
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    value = float(found[1]) * _SIZE_UNITS[found[2].upper()] if found else 0.0
    if not 1 <= value < 2.0**63:
        raise ValueError("give a size such as 512M or 4G")
    return int(value)


def _margin(text: str) -> float:
    from pytest_miopen_perf.gate.margins import parse_margin

    return parse_margin(text)


def _margin_of_files(text: str) -> tuple[str, float]:
    glob, equals, margin = text.rpartition("=")
    if not equals or not glob.strip():
        raise ValueError("give a glob of test files and their margin, such as 'tests/perf/*.py = 2%'")
    return glob.strip(), _margin(margin)


def _switch(text: str) -> bool:
    words = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    if text.lower() not in words:
        raise ValueError("give on or off")
    return words[text.lower()]


def _output_file(text: str) -> Path:
    if not text.strip():
        raise ValueError("it is empty; give the path of a file")
    path = Path(text).expanduser().absolute()
    if path.is_dir():
        raise ValueError("it is a folder; give the path of a file")
    if not path.parent.is_dir():
        raise ValueError(f"the folder {path.parent} does not exist; make it, or give another path")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError("it cannot be written; give a path that you may write")
    return path


def _folder(text: str) -> Path:
    path = Path(text).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise ValueError("it is a file; give the path of a folder")
    return path


def _device(text: str) -> str:
    # Processes of a paired comparison are started with their number in its place; this is the one that leads.
    return _text(text).replace("{process}", "0")


def _arms(text: str) -> tuple[str, str]:
    first, comma, second = text.partition(",")
    if not comma or not first.strip() or not second.strip() or "," in second:
        raise ValueError("give two arms with a comma between them, such as main,. or old/kernels,new/kernels")
    return first.strip(), second.strip()


def _kernels(text: str) -> Path:
    path = _folder(text)
    if not any(path.glob("*.hip")):
        raise ValueError("it holds no .hip file; give a folder of kernels")
    return path


def _program(text: str) -> Path:
    found = shutil.which(str(Path(text).expanduser()) if text.startswith("~") else text)
    if found is None:
        raise ValueError("it is no program that can be run; give the path of a MIOpenDriver")
    return Path(found).absolute()


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text.strip()


@dataclass(frozen=True, slots=True)
class Option:
    """One option: `--miopen-perf-<name>`, its ini twin `miopen_perf_<name>`, and the field of `Settings` it fills.

    `parse` raises ValueError with what to give instead. `flag` is the value of an option that takes none.
    """

    name: str
    field: str
    metavar: str
    parse: Callable[[str], Any]
    help: str
    repeats: bool = False
    flag: str | None = None

    @property
    def option(self) -> str:
        """The command-line spelling."""
        return f"--miopen-perf-{self.name}"

    @property
    def key(self) -> str:
        """The ini name, which is also pytest's name of the option's value."""
        return f"miopen_perf_{self.name.replace('-', '_')}"


OPTIONS: tuple[Option, ...] = (
    Option(
        "level",
        "level",
        "0..4",
        _level,
        f"level of the performance log: 0 off, 1 executed solution, 2 with kernels, 3 also everything tried, "
        f"4 with kernels (default: the variable {LEVEL_VARIABLE}, else 0)",
    ),
    Option(
        "backend",
        "backend",
        "NAME",
        _backend,
        "where kernels run: auto (hip, cuda, cpu in this order), hip, cuda, cpu or scripted",
    ),
    Option("device", "device", "N|PATH", _device, "which device of the back-end; the script of the scripted one"),
    Option("solver", "solvers", "GLOB", _text, "only solvers whose name matches; may be repeated", repeats=True),
    Option("config", "config", "TEXT", _text, "performance config of the tunable solvers, in MIOpen's comma form"),
    Option(
        "problems",
        "problems",
        "WHAT",
        _text,
        "problems instead of those the tests name: a workload file, a bundled list or a MIOpenDriver line in quotes; "
        "may be repeated",
        repeats=True,
    ),
    Option(
        "tune",
        "tune",
        "WHEN",
        _tune,
        "search the configs of tunable solvers: off, missing (where none is known) or force (default: off)",
    ),
    Option("db", "db_dir", "DIR", _folder, "keep tuned configs and Find results there (default: for the session)"),
    Option("tune-budget", "tune_budget_seconds", "TIME", parse_duration, "time for one search (default: 60s)"),
    Option("tune-configs", "tune_max_configs", "N", _count, "most configs of one search (default: 50)"),
    Option("tune-patience", "tune_patience", "N", _count, "end a search after N configs without improvement"),
    Option(
        "tune-strategy",
        "tune_strategy",
        "WHAT",
        _one_of("neighbours", "random"),
        "what a search tries next: neighbours of the best so far, or random (default: neighbours)",
    ),
    Option("iter", "iterations", "N", _count, "a fixed count of timed runs, as MIOpenDriver's -i (default: by noise)"),
    Option("case-budget", "case_budget_seconds", "TIME", parse_duration, "device time for one timed run (default: 1s)"),
    Option("noise", "target_noise", "SHARE", _fraction, "stop at this noise of the median (default: 0.5%%)"),
    Option("seed", "seed", "N", _seed, "seed of data and search (default: 12345678, as MIOpenDriver)"),
    Option("data", "data", "KIND", _one_of("miopen", "integers"), "data: miopen or integers (default: miopen)"),
    Option("tolerance", "tolerance", "FACTOR", _factor, "factor on the tolerances of the check (default: 1)"),
    Option("memory", "memory_bytes", "SIZE", _size, "skip problems that need more (default: what the device has free)"),
    Option(
        "order",
        "work_item_order",
        "ORDER",
        _one_of("forward", "reverse", "strided"),
        "CPU: order of work-items between two barriers: forward, reverse or strided; a race shows in one of them",
    ),
    Option(
        "guard",
        "guard",
        "on|off",
        _switch,
        "CPU: run every launch in a child process whose buffers end at an unmapped page",
        flag="on",
    ),
    Option("cache", "cache_dir", "DIR", _folder, "where compiled kernels are kept (default: the user's cache)"),
    Option(
        "compile-timeout", "compile_timeout_seconds", "TIME", parse_duration, "stop a compiler after it (default: 120s)"
    ),
    Option("log", "log_path", "PATH", _output_file, "write the performance log there (default: stderr)"),
    Option("json", "json_path", "PATH", _output_file, "write the results file there"),
    Option(
        "driver", "driver_path", "PATH", _program, "the MIOpenDriver of the fixture miopen_driver (default: on PATH)"
    ),
    Option(
        "driver-timeout",
        "driver_timeout_seconds",
        "TIME",
        parse_duration,
        "stop a MIOpenDriver after it (default: 10m)",
    ),
    Option(
        "run-by",
        "run_by",
        "WHO",
        _one_of("solvers", "driver"),
        "who runs workload files: our solvers, or MIOpenDriver (default: solvers)",
    ),
    Option("save", "save", "NAME|PATH", _text, "keep the times of this session as a baseline, unless a test fails"),
    Option("compare", "compare", "NAME|PATH", _text, "fail tests whose kernels are slower than in a baseline"),
    Option(
        "baselines",
        "baselines_dir",
        "DIR",
        _text,
        "the folder of baselines by name and of noise floors, below the rootdir (default: .miopen-perf)",
    ),
    Option(
        "ab", "ab", "A,B", _arms, "compare two kernels folders or git revisions of them, and fail what B made slower"
    ),
    Option("aa", "aa", "", _switch, "measure what identical code differs by, and keep it for later margins", flag="on"),
    Option("canary", "canary", "SHARE", _fraction, "slow half of the cases by this share, and demand red there alone"),
    Option("budget", "budget_seconds", "TIME", parse_duration, "time for the processes of --miopen-perf-ab"),
    Option("processes", "processes", "N", _count, "processes of --miopen-perf-ab at most, of --miopen-perf-aa (8)"),
    Option("margin", "margin", "SHARE", _margin, "the slowdown that does not matter (default: 1%%)"),
    Option(
        "margins",
        "margins",
        "GLOB=SHARE",
        _margin_of_files,
        "the margin of the test files that match, relative to the rootdir; the first match counts; may be repeated",
        repeats=True,
    ),
    Option(
        "strict",
        "strict",
        "",
        _switch,
        "fail also what has no baseline, what could not be decided, and cases of the baseline that did not run",
        flag="on",
    ),
    Option(
        "kernels", "kernels_dir", "DIR", _kernels, "take the HIP text of the kernels from there (default: the shipped)"
    ),
    Option("part", "part_path", "FILE", _text, "run the part of a comparison in this order; miopen-perf ab writes it"),
    Option("verdicts", "verdicts_path", "PATH", _output_file, "write the verdicts there, as JSON"),
)


def add_options(parser: pytest.Parser) -> None:
    """Register every option and its ini twin."""
    group = parser.getgroup("miopen-perf", "HIP convolution kernels: test, time, log (pytest-miopen-perf)")
    for option in OPTIONS:
        extra: dict[str, Any] = {}
        if option.repeats:
            extra["action"] = "append"
        if option.flag:
            extra |= {"action": "store_const", "const": option.flag}
        else:
            extra["metavar"] = option.metavar
        group.addoption(option.option, dest=option.key, default=None, help=option.help, **extra)
        kind: Literal["linelist", "string"] = "linelist" if option.repeats else "string"
        parser.addini(
            option.key,
            type=kind,
            default=[] if option.repeats else "",
            help=f"default of {option.option}",
        )


def are_options_given(config: pytest.Config) -> bool:
    """Whether the command line names any of ours: then wrong values are to be told at once."""
    return any(getattr(config.option, option.key, None) is not None for option in OPTIONS)


def read_settings(config: pytest.Config, environment: dict[str, str]) -> Settings:
    """The settings of a session: command line over the level variable over the ini file over the defaults.

    Raises:
        SettingsError: a value is wrong; the message names the option, the value and what to give.
    """
    from pytest_miopen_perf.settings import Settings

    values: dict[str, Any] = {}
    for option in OPTIONS:
        given = getattr(config.option, option.key, None)
        spelling = option.option
        if option.field == "level" and given is None and LEVEL_VARIABLE in environment:
            values |= _level_of_variable(environment[LEVEL_VARIABLE])
            continue
        if given is None:
            given, spelling = config.getini(option.key) or None, f"ini value {option.key}"
        if given is None:
            continue
        values[option.field] = _parsed(option, given, spelling)
        if option.field == "level":
            values["level_source"] = "option" if spelling == option.option else "ini"
    return Settings(**values)


def _level_of_variable(text: str) -> dict[str, Any]:
    from pytest_miopen_perf.perflog import parse_level

    return {"level": parse_level(text), "level_source": "variable"}


def _parsed(option: Option, given: str | list[str], spelling: str) -> object:
    from pytest_miopen_perf.errors import SettingsError

    texts = given if isinstance(given, list) else [given]
    parsed = []
    for text in texts:
        try:
            parsed.append(option.parse(text))
        except ValueError as error:
            raise SettingsError(f"{spelling} is {text!r}: {error}") from error
    return tuple(parsed) if option.repeats else parsed[0]
