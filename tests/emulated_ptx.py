"""Kernels of NVIDIA GPUs on the CPU device: their inline PTX becomes calls, which `solvers/ptx_emulation.h` answers."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kernel_mutants import headers_of, with_texts

from pytest_miopen_perf.devices import cpu, host_source
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.kernel_source.files import kernels_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pytest_miopen_perf.checking.check import Check
    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.solvers import Solution

ORDERS = ("forward", "reverse", "strided")
_HEADERS = tuple(Path(__file__).with_name("solvers").glob("ptx_*.h"))
_STRING = r'"(?:\\.|[^"\\])*"'
_PARENTHESES = r"\((?:[^()]|\([^()]*\))*\)"
_STATEMENT = re.compile(rf'\basm(?:\s+volatile)?\s*\(((?:[^()"]|{_STRING}|{_PARENTHESES})*)\)')
_COLON = re.compile(rf"({_STRING})|:")
_CONSTRAINT = re.compile(r'"[=+]?([flnr])"\(')
_UNROLLING = re.compile(r'_Pragma\("unroll[ \d]*"\)')
_SECTIONS = ("template", "outputs", "inputs")


def with_ptx_called(text: str) -> str:
    """Each `asm(template : outputs : inputs : clobbers)` as `ptx(template, operands...)`, operands in their order.

    An operand `"+f"(place)` becomes `ptx_f(place)`, wherever it stands: lists of them are macros.
    """
    return _CONSTRAINT.sub(r"ptx_\1(", _STATEMENT.sub(_call_of, text))


def _call_of(statement: re.Match[str]) -> str:
    sections = _COLON.sub(lambda found: found[1] or "\0", statement[1]).split("\0")
    operands = [section for section in sections[: len(_SECTIONS)] if section.strip(" \\\n")]
    return f"ptx({','.join(operands)})"


def emulated(solution: Solution, file: str, folder: Path, changes: Mapping[str, str] | None = None) -> Solution:
    """A solution for an NVIDIA GPU whose kernels of `file` suit the CPU, from texts of which some may be others.

    Little is optimized, no loop unrolled: the compiler takes longer than the kernels.
    """
    texts = {each: (kernels_dir() / each).read_text() for each in (file, *headers_of(file))} | (changes or {})
    called = {each: _UNROLLING.sub("", with_ptx_called(text)) for each, text in texts.items()}
    called[file] = f'#include "ptx_emulation.h"\n{called[file]}'
    emulation = {f"include/{header.name}": header.read_text() for header in _HEADERS}
    moved = with_texts(solution, file, called | emulation, folder)
    launches = (replace(launch, kernel=replace(launch.kernel, options=("-O1",))) for launch in moved.launches)
    return replace(moved, launches=tuple(launches))


@contextmanager
def emulating_devices(open_cpu: Callable[..., Device], shared_bytes: int) -> Iterator[dict[str, Device]]:
    """CPU devices by order of work-items, with a GPU's shared memory, which is NaN before each block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "_LDS_BYTES", shared_bytes)
        patch.setattr(host_source, "DYNAMIC_SHARED_BYTES", shared_bytes)
        yield {order: open_cpu(work_item_order=order, guard=True) for order in ORDERS}


def are_right(devices: Mapping[str, Device], execute_on: Callable[[Device], Check]) -> Iterator[bool]:
    """Of each order of work-items, whether the result is right; a kernel that breaks down gives none."""
    for device in devices.values():
        try:
            yield execute_on(device).passed
        except LaunchError:
            yield False
