"""Code objects for the tests of this folder: one builder, whose cache outlives the session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_miopen_perf.codeobject import gate
from pytest_miopen_perf.codeobject.cases import StaticCase
from pytest_miopen_perf.codeobject.compile import CodeObjectBuilder
from pytest_miopen_perf.codeobject.metadata import KernelArgument, KernelResources
from pytest_miopen_perf.codeobject.occupancy import Occupancy
from pytest_miopen_perf.codeobject.table import Compiled, StaticRow
from pytest_miopen_perf.codeobject.toolchain import find_amd_compiler
from pytest_miopen_perf.launch import KernelSource, Pointer, Scalar, Slot

_RESOURCES = KernelResources(
    name="scale",
    target="gfx942",
    vgprs=32,
    agprs=0,
    sgprs=24,
    vgpr_spills=0,
    sgpr_spills=0,
    lds_bytes=1024,
    scratch_bytes=0,
    kernarg_bytes=24,
    code_bytes=512,
    wavefront=64,
    most_work_items=256,
    is_processor_mode=False,
    args=(
        KernelArgument(offset=0, size=8, kind="global_buffer"),
        KernelArgument(offset=8, size=4, kind="by_value"),
        KernelArgument(offset=16, size=4, kind="hidden_block_count_x"),
    ),
)
_OCCUPANCY = Occupancy(work_groups=8, waves=32, simds=4, most_waves=32, limited_by=("waves",))
_CASE = StaticCase(
    target="gfx942",
    problem="fp32-F-1x2",
    solver="Scale",
    config="256,8",
    name="scale",
    kernel=KernelSource(file="scale.hip", entry="scale", defines=(("BLOCK", "256"), ("TILE", "a b=c"))),
    work_items=256,
    args=(Pointer("x", Slot.INPUT), Scalar("n", "i32", 3)),
)


def _make_row(*, target="gfx942", compiler="zig clang 22", waves=32, config="256,8", outcome=None, **resources):
    compiled = Compiled(
        resources=replace(_RESOURCES, target=target, **resources), occupancy=replace(_OCCUPANCY, waves=waves)
    )
    case = replace(_CASE, target=target, config=config)
    return StaticRow(case=case, compiler=compiler, outcome=outcome or compiled)


@pytest.fixture(scope="session")
def make_row():
    """A row of the table without a compiler: a clean kernel, with what the test changes of it."""
    return _make_row


@pytest.fixture(scope="session")
def plain_resources():
    """What a clean kernel takes."""
    return _RESOURCES


@pytest.fixture(scope="session")
def builder(request):
    """The compiler of this machine; code objects stay in pytest's cache from one session to the next."""
    if reason := gate.probe():
        pytest.skip(reason)
    made = CodeObjectBuilder(find_amd_compiler(), request.config.cache.mkdir("miopen-perf-codeobject"), threads=2)
    yield made
    made.close()


@pytest.fixture
def hip_file(tmp_path):
    """Write HIP text; returns the kernel to compile."""

    def write(text, entry="k", *, name="kernel.hip", **fields):
        path = tmp_path / name
        path.write_text(text)
        return KernelSource(file=str(path), entry=entry, **fields)

    return write


@pytest.fixture
def stand_in(tmp_path):
    """A program in place of `zig`: a shell script, which sees neither PATH nor environment."""

    def write(script):
        path = tmp_path / "zig"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    return write
