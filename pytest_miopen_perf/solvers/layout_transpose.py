"""Solvers that want their tensors channels first, lent to problems whose tensors lie otherwise.

Operands go through the workspace by transposing launches, and the result comes back by one. MIOpen's GTC solvers serve
the layout that they do not have themselves in the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Slot
from pytest_miopen_perf.problem import Layout
from pytest_miopen_perf.solvers.limits import most_blocks
from pytest_miopen_perf.solvers.workspace import aligned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.checking.tensors import TensorSpec
    from pytest_miopen_perf.launch import Argument, DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem, Direction, Shape
    from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig, Solution, Solver

_TILE = 32
_GPU_BLOCK = 256
_CPU_BLOCK = 32
_ENTRIES = {
    1: "batched_transpose_32x32_byte",
    2: "batched_transpose_32x32_half",
    4: "batched_transpose_32x32_dword",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transposition:
    """A batch of matrices to be turned: (batch, rows, columns) in memory becomes (batch, columns, rows)."""

    batch: int
    rows: int
    columns: int
    element_bytes: int

    def tiles(self) -> int:
        """Tiles that the kernel takes through shared memory, one after the other."""
        return self.batch * -(-self.rows // _TILE) * -(-self.columns // _TILE)


def transposition(shape: Shape, source: Layout, target: Layout, element_bytes: int) -> Transposition:
    """What takes a packed tensor from one layout to another.

    Args:
        shape: The logical shape.
        source: The layout that it has.
        target: The layout that it gets.
        element_bytes: Of one element.

    Raises:
        ValueError: no single transposition does it, as between CHWN and NHWC.
    """
    before, after = source.order(), target.order()
    for first in range(len(before)):
        for middle in range(first + 1, len(before)):
            if before[:first] + before[middle:] + before[first:middle] == after:
                batch, rows, columns = (
                    math.prod(shape[axis] for axis in axes)
                    for axes in (before[:first], before[first:middle], before[middle:])
                )
                return Transposition(batch=batch, rows=rows, columns=columns, element_bytes=element_bytes)
    raise ValueError(f"{source.value} and {target.value} are not transposed to each other")


def transposing_launch(wanted: Transposition, info: DeviceInfo, source: Pointer, target: Pointer) -> Launch:
    """The launch of `transpose_layout.hip` that turns a batch of matrices from one place to another."""
    block = _CPU_BLOCK if info.wavefront == 1 else min(_GPU_BLOCK, info.max_block)
    macros = {
        "TRANSPOSE_BATCH": wanted.batch,
        "TRANSPOSE_ROWS": wanted.rows,
        "TRANSPOSE_COLUMNS": wanted.columns,
        "TRANSPOSE_ELEMENT_BYTES": wanted.element_bytes,
        "BLOCK_SIZE": block,
    }
    return Launch(
        kernel=KernelSource(
            file="transpose_layout.hip",
            entry=_ENTRIES[wanted.element_bytes],
            defines=tuple((name, str(value)) for name, value in macros.items()),
        ),
        grid=(min(wanted.tiles(), most_blocks(info, block)), 1, 1),
        block=(block, 1, 1),
        args=(replace(source, name="source"), replace(target, name="target")),
        is_transformation=True,
    )


def channels_first(problem: ConvProblem) -> ConvProblem:
    """The same problem with every tensor in MIOpen's default layout."""
    layout = Layout.default(problem.rank)
    return replace(problem, in_layout=layout, fil_layout=layout, out_layout=layout)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moved:
    """A tensor of the problem that lies in the workspace while the solver works.

    Attributes:
        spec: The tensor as the problem has it.
        offset_bytes: Where in the workspace it lies channels first.
    """

    spec: TensorSpec
    offset_bytes: int

    @property
    def own_place(self) -> Pointer:
        return Pointer(self.spec.slot.value, self.spec.slot)

    @property
    def workspace_place(self) -> Pointer:
        return Pointer(self.spec.slot.value, Slot.WORKSPACE, self.offset_bytes)

    def launch_there(self, info: DeviceInfo) -> Launch:
        """Into the workspace."""
        layout = Layout.default(self.spec.layout.rank)
        there = transposition(self.spec.shape, self.spec.layout, layout, self._element_bytes)
        return transposing_launch(there, info, self.own_place, self.workspace_place)

    def launch_back(self, info: DeviceInfo) -> Launch:
        """Out of the workspace."""
        layout = Layout.default(self.spec.layout.rank)
        back = transposition(self.spec.shape, layout, self.spec.layout, self._element_bytes)
        return transposing_launch(back, info, self.workspace_place, self.own_place)

    @property
    def _element_bytes(self) -> int:
        return self.spec.nbytes // self.spec.elements


def _moved_tensors(problem: ConvProblem, first_byte: int) -> Iterator[_Moved]:
    """The tensors that do not lie channels first, one behind the other from a byte of the workspace on."""
    from pytest_miopen_perf.checking.tensors import tensor_spec  # brings numpy, which a list of solvers does without

    for slot in (Slot.INPUT, Slot.WEIGHTS, Slot.OUTPUT):
        spec = tensor_spec(problem, slot)
        if spec.layout is not Layout.default(problem.rank):
            first_byte = aligned(first_byte)
            yield _Moved(spec=spec, offset_bytes=first_byte)
            first_byte += spec.nbytes


@dataclass(frozen=True, slots=True)
class AnyLayout:
    """A solver of channels-first tensors that serves every layout, mixed ones too: its name, number and configs stay.

    Attributes:
        plain: The solver, which needs no transposition where all tensors lie channels first.
    """

    plain: Solver

    @property
    def name(self) -> str:
        """The plain solver's."""
        return self.plain.name

    @property
    def solver_id(self) -> int:
        """The plain solver's."""
        return self.plain.solver_id

    @property
    def algorithm(self) -> Algorithm:
        """The plain solver's."""
        return self.plain.algorithm

    @property
    def directions(self) -> frozenset[Direction]:
        """The plain solver's."""
        return self.plain.directions

    @property
    def is_deterministic(self) -> bool:
        """As the plain solver: to move bits changes none."""
        return self.plain.is_deterministic

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why the plain solver cannot compute the problem channels first; what lies otherwise is brought there."""
        return self.plain.refusal(channels_first(problem), info)

    def workspace_bytes(self, problem: ConvProblem) -> int:
        """The plain solver's, and the tensors that do not lie channels first."""
        end = self.plain.workspace_bytes(channels_first(problem))
        for moved in _moved_tensors(problem, end):
            end = moved.offset_bytes + moved.spec.nbytes
        return end

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> PerformanceConfig:
        """The plain solver's for the problem channels first."""
        return self.plain.default_config(channels_first(problem), info)

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[PerformanceConfig]:
        """The plain solver's for the problem channels first."""
        return self.plain.configs(channels_first(problem), info)

    def parse_config(self, text: str) -> PerformanceConfig:
        """The plain solver's."""
        return self.plain.parse_config(text)

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """The plain solver's launches, on tensors in the workspace where the problem's do not lie channels first.

        Raises:
            ConfigError: the config is of another solver, or not valid for the problem on the device.
        """
        from pytest_miopen_perf.checking.tensors import operand_slots  # as above

        plain = self.plain.solution(channels_first(problem), info, config)
        moved = tuple(_moved_tensors(problem, plain.workspace_bytes))
        operands = operand_slots(problem)
        return replace(
            plain,
            workspace_bytes=self.workspace_bytes(problem),
            launches=(
                *(tensor.launch_there(info) for tensor in moved if tensor.spec.slot in operands),
                *(_on_moved(launch, moved) for launch in plain.launches),
                *(tensor.launch_back(info) for tensor in moved if tensor.spec.slot not in operands),
            ),
        )


def _on_moved(launch: Launch, moved: tuple[_Moved, ...]) -> Launch:
    """The same launch on the tensors as they lie in the workspace."""
    places = {tensor.spec.slot: tensor.offset_bytes for tensor in moved}

    def placed(argument: Argument) -> Argument:
        if not isinstance(argument, Pointer) or argument.slot not in places:
            return argument
        offset = places[argument.slot] + argument.offset_bytes
        return replace(argument, slot=Slot.WORKSPACE, offset_bytes=offset)

    return replace(launch, args=tuple(placed(argument) for argument in launch.args))
