"""What the words of options mean: each function parses one text, and raises ValueError with what to give instead."""

from __future__ import annotations

import math
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_miopen_perf.gate.phases import PhaseRule


def parse_level(text: str) -> int:
    """A level of the performance log, 0 to 4."""
    if text.strip() not in {"0", "1", "2", "3", "4"}:
        raise ValueError("give a level from 0 (off) to 4 (kernels of everything that was tried)")
    return int(text)


def one_of(*words: str) -> Callable[[str], str]:
    """A parser that takes these words alone."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"give one of {', '.join(words)}")
        return text

    return parse


def parse_backend(text: str) -> str:
    """The name of a back-end, or `auto`."""
    from pytest_miopen_perf.devices import BACKENDS

    return one_of("auto", *BACKENDS)(text)


def parse_tune(text: str) -> object:
    """A `TunePolicy`."""
    from pytest_miopen_perf.settings import TunePolicy

    return TunePolicy(one_of("off", "missing", "force")(text))


def parse_count(text: str) -> int:
    """A whole number of at least 1."""
    if not re.fullmatch(r"[0-9]+", text.strip()) or int(text) < 1:
        raise ValueError("give a whole number of at least 1")
    return int(text)


def parse_seed(text: str) -> int:
    """A seed that MIOpenDriver takes too: 32 bits without a sign."""
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


def parse_fraction(text: str) -> float:
    """A share between 0 and 1, exclusive, such as `0.5%` or `0.005`."""
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(%?)", text.strip())
    value = float(found[1]) / (100 if found[2] else 1) if found else math.nan
    if not 0 < value < 1:
        raise ValueError("give a share between 0 and 1 such as 0.5% or 0.005")
    return value


def parse_factor(text: str) -> float:
    """A finite factor above zero."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ValueError("give a factor above zero such as 1 or 2.5")
    return value


_SIZE_UNITS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_size(text: str) -> int:
    """Bytes of a size such as `512M` or `4G`, in powers of 1024."""
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    value = float(found[1]) * _SIZE_UNITS[found[2].upper()] if found else 0.0
    if not 1 <= value < 2.0**63:
        raise ValueError("give a size such as 512M or 4G")
    return int(value)


def parse_margin(text: str) -> float:
    """A margin, as the gate reads it."""
    from pytest_miopen_perf.gate.margins import parse_margin

    return parse_margin(text)


def parse_phases(text: str) -> tuple[PhaseRule, ...]:
    """What the gate judges."""
    from pytest_miopen_perf.gate.phases import parse_phases

    return parse_phases(text)


def parse_margin_of_files(text: str) -> tuple[str, float]:
    """A glob of test files and their margin, from `GLOB=SHARE`."""
    glob, equals, margin = text.rpartition("=")
    if not equals or not glob.strip():
        raise ValueError("give a glob of test files and their margin, such as 'tests/perf/*.py = 2%'")
    return glob.strip(), parse_margin(margin)


def parse_switch(text: str) -> bool:
    """On or off, in the words of ini files."""
    words = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    if text.lower() not in words:
        raise ValueError("give on or off")
    return words[text.lower()]


def parse_problems(text: str) -> str:
    """A MIOpenDriver line, the name of a bundled list, or the absolute path of a workload file.

    What is named is read, and thrown away: that it cannot be is to be known before the first test.
    """
    from pytest_miopen_perf.errors import WorkloadError
    from pytest_miopen_perf.problems.driver_line import parse_command
    from pytest_miopen_perf.problems.workload import bundled, is_command, read_workload

    name = parse_text(text)
    path = _path(name).absolute()
    try:
        if is_command(name):
            parse_command(name)
        elif path.is_file():
            read_workload(path)
            return str(path)
        elif name not in bundled():
            raise ValueError(
                "it is no file, no bundled workload and no MIOpenDriver line; "
                f"bundled workloads are {', '.join(bundled())}"
            )
    except WorkloadError as error:
        raise ValueError(str(error)) from error
    return name


def parse_output_file(text: str) -> Path:
    """The absolute path of a file that can be written."""
    if not text.strip():
        raise ValueError("it is empty; give the path of a file")
    path = _path(text).absolute()
    if path.is_dir():
        raise ValueError("it is a folder; give the path of a file")
    if not path.parent.is_dir():
        raise ValueError(f"the folder {path.parent} does not exist; make it, or give another path")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError("it cannot be written; give a path that you may write")
    return path


def parse_folder(text: str) -> Path:
    """The absolute path of a folder, which need not exist yet."""
    if not text.strip():  # an unset variable of a shell; the current folder is .
        raise ValueError("give the path of a folder")
    path = _path(text).absolute()
    if path.exists() and not path.is_dir():
        raise ValueError("it is a file; give the path of a folder")
    return path


def parse_folder_below(text: str) -> str:
    """A folder, absolute or below one that is not known yet."""
    return str(_path(parse_text(text)))


def parse_device(text: str) -> str:
    """A device, as the back-end names it."""
    # Processes of a paired comparison are started with their number in its place; this is the one that leads.
    return parse_text(text).replace("{process}", "0")


def parse_arms(text: str) -> tuple[str, str]:
    """The two arms of a comparison, from `A,B`."""
    first, comma, second = text.partition(",")
    if not comma or not first.strip() or not second.strip() or "," in second:
        raise ValueError("give two arms with a comma between them, such as main,. or old/kernels,new/kernels")
    return first.strip(), second.strip()


def parse_kernels(text: str) -> Path:
    """The absolute path of a folder of kernels."""
    path = parse_folder(text)
    if not any(path.glob("*.hip")):
        raise ValueError("it holds no .hip file; give a folder of kernels")
    return path


def parse_program(text: str) -> Path:
    """The absolute path of a program that can be run."""
    found = shutil.which(str(_path(text)) if text.startswith("~") else text)
    if found is None:
        raise ValueError("it is no program that can be run; give the path of a MIOpenDriver")
    return Path(found).absolute()


def parse_text(text: str) -> str:
    """Text that is not empty, without the blanks around it."""
    if not text.strip():
        raise ValueError("it is empty")
    return text.strip()


def _path(text: str) -> Path:
    from pytest_miopen_perf.home_folder import without_tilde

    return without_tilde(text)
