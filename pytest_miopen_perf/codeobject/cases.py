"""What is looked at without a device: the kernels of solutions, each with the work-group that it is launched with."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.codeobject.architectures import planned_device
from pytest_miopen_perf.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_miopen_perf.launch import Argument, Dim3, KernelSource
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import PerformanceConfig, Solution, Solver


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticCase:
    """One kernel for one target.

    Attributes:
        target: What it is compiled for, for example `gfx942`.
        problem: The problem's short name; the file of a kernel that belongs to no solver.
        solver: Who launches it; "" for a kernel that belongs to no solver.
        config: The performance config, in MIOpen's text; what specialises a kernel that belongs to no solver.
        name: The kernel's entry point, and a number where a solution has it with other macros too: `transpose#2`.
        kernel: What is compiled.
        work_items: Of a work-group; None is what the kernel was compiled for.
        shared_bytes: Dynamic shared memory of a work-group.
        args: What the launch passes, in the kernel's order; None where nobody said.
    """

    target: str
    problem: str
    solver: str
    config: str
    name: str
    kernel: KernelSource
    work_items: int | None
    shared_bytes: int = 0
    args: tuple[Argument, ...] | None = None


def solution_cases(solution: Solution, target: str, problem: str) -> tuple[StaticCase, ...]:
    """The kernels of a solution that was planned for a target; one that is launched several times stands once."""
    unique = {(launch.kernel, math.prod(launch.block), launch.shared_bytes): launch for launch in solution.launches}
    seen: Counter[str] = Counter()
    return tuple(
        StaticCase(
            target=target,
            problem=problem,
            solver=solution.solver,
            config=solution.config.serialize(),
            name=_numbered(kernel.entry, seen),
            kernel=kernel,
            work_items=work_items,
            shared_bytes=shared_bytes,
            args=launch.args,
        )
        for (kernel, work_items, shared_bytes), launch in unique.items()
    )


def _numbered(entry: str, seen: Counter[str]) -> str:
    """The name of an entry point, with a number where it was seen before."""
    seen[entry] += 1
    return entry if seen[entry] == 1 else f"{entry}#{seen[entry]}"


def planned_cases(
    solver: Solver,
    problem: ConvProblem,
    targets: Iterable[str],
    config: PerformanceConfig | None = None,
    kernels: Path | None = None,
) -> Iterator[StaticCase]:
    """The kernels that a solver would launch for a problem on each target; none where it refuses the problem.

    Args:
        solver: Who plans.
        problem: Any problem that is not empty.
        targets: Target IDs.
        config: For every target; None takes each target's default.
        kernels: A folder of kernel texts in place of the shipped one.

    Raises:
        SettingsError: the architecture of a target is not in the table.
        ConfigError: the config does not suit the problem on a target.
    """
    plain = problem.canonical()
    for target in targets:
        info = planned_device(target)
        if plain.direction in solver.directions and solver.refusal(plain, info) is None:
            chosen = solver.default_config(plain, info) if config is None else config
            solution = solver.solution(plain, info, chosen)
            yield from solution_cases(
                solution if kernels is None else solution.with_kernels(kernels), target, str(problem)
            )


def own_case(
    kernel: KernelSource,
    block: int | Dim3 | None = None,
    shared_bytes: int = 0,
    *,
    target: str = "",
    args: tuple[Argument, ...] | None = None,
    name: str = "",
) -> StaticCase:
    """A kernel that belongs to no solver.

    Args:
        kernel: What is compiled.
        block: Work-items of a work-group; None is what the kernel was compiled for.
        shared_bytes: Dynamic shared memory of a work-group.
        target: For what; "" is filled in later.
        args: What a launch passes; None where nobody said.
        name: What the baseline calls it, whatever its macros; "" is file, macros and work-group.

    Raises:
        SettingsError: the work-group has no work-item, or less than no shared memory.
    """
    work_items = block if isinstance(block, int) or block is None else math.prod(block)
    if (work_items is not None and work_items < 1) or shared_bytes < 0:
        raise SettingsError(
            f"a work-group of {work_items} work-items and {shared_bytes} bytes of shared memory cannot be launched; "
            "give at least one work-item and no negative size"
        )
    words = [f"{macro}={value}" for macro, value in kernel.defines] + list(kernel.options)
    words += [] if work_items is None else [f"block={work_items}"]
    words += [f"shared={shared_bytes}"] if shared_bytes else []
    return StaticCase(
        target=target,
        problem=name or Path(kernel.file).name,
        solver="",
        config="" if name else " ".join(words),
        name=kernel.entry,
        kernel=kernel,
        work_items=work_items,
        shared_bytes=shared_bytes,
        args=args,
    )
