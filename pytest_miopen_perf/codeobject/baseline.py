"""What kernels took when somebody last agreed to it, and a verdict of what they take now.

The figures are a compiler's and hold for that compiler only: its name and version are part of their key.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.codeobject.table import Compiled, faults

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_miopen_perf.codeobject.table import StaticRow


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticKey:
    """What makes two figures comparable.

    Attributes:
        compiler: Name and version.
        target: For example `gfx942`.
        file: The kernel's file.
        entry: The kernel.
        defines: Macro names and values.
        options: Further compiler options.
        work_items: Of a work-group.
        shared_bytes: Dynamic shared memory of a work-group.
    """

    compiler: str
    target: str
    file: str
    entry: str
    defines: tuple[tuple[str, str], ...]
    options: tuple[str, ...]
    work_items: int
    shared_bytes: int

    def kernel(self) -> tuple[str, str, tuple[tuple[str, str], ...], tuple[str, ...], int, int]:
        """Everything but compiler and target."""
        return self.file, self.entry, self.defines, self.options, self.work_items, self.shared_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFigures:
    """What a kernel takes: the figures of `KernelResources` and `Occupancy` that a baseline keeps."""

    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    lds_bytes: int
    scratch_bytes: int
    kernarg_bytes: int
    code_bytes: int
    waves: int
    simds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticLimits:
    """How much worse than its baseline a kernel may become.

    Attributes:
        spills: Further spilled registers.
        scratch_bytes: Further bytes of scratch of a work-item.
        waves: Fewer waves of a compute unit.
        lds_bytes: Further bytes of static shared memory, where the waves stay as they are.
    """

    spills: int = 0
    scratch_bytes: int = 0
    waves: int = 0
    lds_bytes: int = 1024


class StaticVerdict(enum.Enum):
    """What a comparison says."""

    PASS = "pass"  # noqa: S105  a word, not a password
    REGRESSION = "regression"
    IMPROVED = "improved"
    NO_BASELINE = "no baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticJudgement:
    """The verdict on one row.

    Attributes:
        row: What the kernel takes now.
        before: What it took; None without a baseline.
        verdict: The word.
        reasons: Sentences for it: what grew past a limit, what became better, or why there is no baseline.
        faults: What is wrong whatever the baseline says; see `table.faults`.
    """

    row: StaticRow
    before: StaticFigures | None
    verdict: StaticVerdict
    reasons: tuple[str, ...]
    faults: tuple[str, ...]


Baseline = dict[StaticKey, StaticFigures]
"""Figures by key."""


def key_of(row: StaticRow) -> StaticKey:
    """What a row is compared by."""
    kernel = row.case.kernel
    return StaticKey(
        compiler=row.compiler,
        target=row.case.target,
        file=kernel.file,
        entry=kernel.entry,
        defines=kernel.defines,
        options=kernel.options,
        work_items=row.case.work_items,
        shared_bytes=row.case.launch.shared_bytes,
    )


def figures_of(compiled: Compiled) -> StaticFigures:
    """What a baseline keeps of a kernel."""
    taken, held = compiled.resources, compiled.occupancy
    return StaticFigures(
        vgprs=taken.vgprs,
        agprs=taken.agprs,
        sgprs=taken.sgprs,
        vgpr_spills=taken.vgpr_spills,
        sgpr_spills=taken.sgpr_spills,
        lds_bytes=taken.lds_bytes,
        scratch_bytes=taken.scratch_bytes,
        kernarg_bytes=taken.kernarg_bytes,
        code_bytes=taken.code_bytes,
        waves=held.waves,
        simds=held.simds,
    )


def baseline_of(rows: Iterable[StaticRow]) -> Baseline:
    """The figures of every row that compiled."""
    return {key_of(row): figures_of(row.outcome) for row in rows if isinstance(row.outcome, Compiled)}


def compare(
    rows: Iterable[StaticRow], baseline: Mapping[StaticKey, StaticFigures], limits: StaticLimits | None = None
) -> tuple[StaticJudgement, ...]:
    """A verdict for every row, in order.

    Args:
        rows: What kernels take now.
        baseline: What they took.
        limits: How much worse is still a pass.
    """
    return tuple(_judgement(row, baseline, limits or StaticLimits()) for row in rows)


def _judgement(row: StaticRow, baseline: Mapping[StaticKey, StaticFigures], limits: StaticLimits) -> StaticJudgement:
    key = key_of(row)
    before = baseline.get(key)
    if before is None:
        verdict, reasons = StaticVerdict.NO_BASELINE, [_why_no_baseline(key, baseline)]
    elif isinstance(row.outcome, Compiled):
        verdict, reasons = compare_figures(before, figures_of(row.outcome), limits)
    else:
        verdict, reasons = StaticVerdict.REGRESSION, ["it compiled before, and does not now"]
    return StaticJudgement(row=row, before=before, verdict=verdict, reasons=tuple(reasons), faults=faults(row))


def _why_no_baseline(key: StaticKey, baseline: Mapping[StaticKey, StaticFigures]) -> str:
    others = {other.compiler for other in baseline if other.target == key.target and other.kernel() == key.kernel()}
    if others:
        return f"the baseline is of {', '.join(sorted(others))}; this compiler is {key.compiler}"
    return "the baseline does not hold this kernel with these macros for this target"


def compare_figures(before: StaticFigures, now: StaticFigures, limits: StaticLimits) -> tuple[StaticVerdict, list[str]]:
    """The verdict of two sets of figures, and its sentences.

    Worse past a limit is a regression, whatever became better beside it. Better without anything worse is an
    improvement. Registers and code bytes alone decide nothing: what they cost shows in the waves and the spills.
    """
    spills = (before.vgpr_spills + before.sgpr_spills, now.vgpr_spills + now.sgpr_spills)
    changes = [
        ("spilled registers", *spills, limits.spills),
        ("bytes of scratch", before.scratch_bytes, now.scratch_bytes, limits.scratch_bytes),
        ("bytes of LDS", before.lds_bytes, now.lds_bytes, limits.lds_bytes),
    ]
    waves = f"waves on {now.simds} SIMDs: {before.waves}, now {now.waves}"
    worse = [f"{what}: {old}, now {new}" for what, old, new, limit in changes if new - old > limit]
    better = [f"{what}: {old}, now {new}" for what, old, new, _ in changes if new < old]
    worse += [waves] if before.waves - now.waves > limits.waves else []
    better += [waves] if now.waves > before.waves else []
    if worse:
        return StaticVerdict.REGRESSION, worse
    is_worse_within = now.waves < before.waves or any(new > old for _, old, new, _ in changes)
    return (StaticVerdict.PASS, []) if is_worse_within or not better else (StaticVerdict.IMPROVED, better)
