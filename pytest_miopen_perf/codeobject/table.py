"""Every case compiled and read: the rows that reports show, baselines keep, and search spaces are pruned by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.codeobject.architectures import architecture_of
from pytest_miopen_perf.codeobject.arguments import argument_faults, block_faults
from pytest_miopen_perf.codeobject.metadata import kernel_resources
from pytest_miopen_perf.codeobject.occupancy import occupancy
from pytest_miopen_perf.errors import CodeObjectError, CompileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pytest_miopen_perf.codeobject.cases import StaticCase
    from pytest_miopen_perf.codeobject.compile import CodeObjectBuilder
    from pytest_miopen_perf.codeobject.limits import StaticLimits
    from pytest_miopen_perf.codeobject.metadata import KernelResources
    from pytest_miopen_perf.codeobject.occupancy import Occupancy


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What the compiler made of a case.

    Attributes:
        resources: What the kernel takes.
        occupancy: What follows for a compute unit.
        shared_bytes: Dynamic shared memory of a work-group, which the compiler does not know of.
    """

    resources: KernelResources
    occupancy: Occupancy
    shared_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticRow:
    """One case as one compiler sees it.

    Attributes:
        case: Kernel, target and launch.
        compiler: Name and version; figures of two compilers are never compared.
        outcome: What the kernel takes, or why it does not compile or cannot be read.
    """

    case: StaticCase
    compiler: str
    outcome: Compiled | CompileError | CodeObjectError


def resources_table(
    cases: Iterable[StaticCase], builder: CodeObjectBuilder, on_built: Callable[[], None] | None = None
) -> tuple[StaticRow, ...]:
    """A row for every case in order; kernels are compiled several at once.

    Args:
        cases: What to look at.
        builder: Who compiles.
        on_built: Called once for every distinct kernel and target when it has been built, by any thread.

    Raises:
        SettingsError: the architecture of a target is not in the table of architectures.
        DeviceUnavailableError: what reads code objects is not installed.
    """
    wanted = list(cases)
    code_objects = builder.build_all(((case.kernel, case.target) for case in wanted), on_built)
    return tuple(
        StaticRow(case=case, compiler=builder.compiler.version, outcome=_outcome(case, code_object))
        for case, code_object in zip(wanted, code_objects, strict=True)
    )


def _outcome(case: StaticCase, code_object: bytes | CompileError) -> Compiled | CompileError | CodeObjectError:
    if isinstance(code_object, CompileError):
        return code_object
    try:
        resources = kernel_resources(code_object, case.kernel.entry)
    except CodeObjectError as error:
        return error
    architecture = architecture_of(case.target)
    if resources.wavefront < architecture.wavefront:
        return CodeObjectError(
            f"the code object is damaged: {case.kernel.entry} has waves of {resources.wavefront}, "
            f"and those of {case.target} are of {architecture.wavefront}"
        )
    held = occupancy(
        resources,
        architecture,
        work_items=case.work_items or resources.most_work_items,
        shared_bytes=case.shared_bytes,
    )
    return Compiled(resources=resources, occupancy=held, shared_bytes=case.shared_bytes)


def misfits(row: StaticRow) -> tuple[str, ...]:
    """Why a kernel cannot run as it is launched, a sentence each: no baseline excuses that."""
    if not isinstance(row.outcome, Compiled):
        return (str(row.outcome),)
    case, taken, held = row.case, row.outcome.resources, row.outcome.occupancy
    fits = held.work_groups > 0
    return (
        *(() if fits else (f"not one work-group fits a compute unit, by {', '.join(held.limited_by)}",)),
        *(() if case.args is None else argument_faults(case.args, taken)),
        *block_faults(case.work_items or 0, taken),
    )


def memory_faults(row: StaticRow, limits: StaticLimits) -> Iterator[str]:
    """What a kernel with no baseline keeps in memory that belongs in registers, past what limits grant, in words."""
    if not isinstance(row.outcome, Compiled):
        return
    taken = row.outcome.resources
    if limits.spills is not None and not limits.spills.allows(0, taken.vgpr_spills):
        yield f"it spills {taken.vgpr_spills} vector registers"
    if limits.scratch is not None and not limits.scratch.allows(0, taken.scratch_bytes):
        yield f"it keeps {taken.scratch_bytes} bytes of each work-item in scratch"
