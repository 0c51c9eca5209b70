"""A verdict on what a kernel takes: against what it took before, and against what no kernel should do."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.codeobject.baseline import StaticFigures, StaticKey, figures_of, key_of
from pytest_miopen_perf.codeobject.limits import StaticLimits
from pytest_miopen_perf.codeobject.occupancy import Occupancy
from pytest_miopen_perf.codeobject.table import Compiled, memory_faults, misfits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_miopen_perf.codeobject.baseline import Baseline
    from pytest_miopen_perf.codeobject.limits import Growth
    from pytest_miopen_perf.codeobject.table import StaticRow


class StaticVerdict(enum.Enum):
    """What a judgement says; the value is the word that people and machines read, the worst first."""

    REGRESSION = "REGRESSION"
    FAULTY = "FAULTY"
    NO_BASELINE = "NO_BASELINE"
    IMPROVED = "IMPROVED"
    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    NOT_COMPARED = "NOT_COMPARED"


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticJudgement:
    """The verdict on one kernel for one target.

    Attributes:
        key: What was compared.
        now: What the kernel takes; None when it does not compile.
        before: What it took; None without a baseline.
        occupancy: How many waves a compute unit holds now, and what limits them; None when it does not compile.
        verdict: The word.
        reasons: Sentences for it: what grew past a limit, what is faulty, what became better, why there is no baseline.
    """

    key: StaticKey
    now: StaticFigures | None
    before: StaticFigures | None
    occupancy: Occupancy | None
    verdict: StaticVerdict
    reasons: tuple[str, ...]

    def is_red(self, *, is_strict: bool) -> bool:
        """Whether it fails its test; strictly, also what has no baseline does."""
        red = {StaticVerdict.REGRESSION, StaticVerdict.FAULTY, *([StaticVerdict.NO_BASELINE] if is_strict else [])}
        return self.verdict in red

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return {
            **asdict(self.key),
            "now": None if self.now is None else asdict(self.now),
            "before": None if self.before is None else asdict(self.before),
            "occupancy": None
            if self.occupancy is None
            else asdict(self.occupancy) | {"limited_by": list(self.occupancy.limited_by)},
            "verdict": self.verdict.value,
            "reasons": list(self.reasons),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> StaticJudgement:
        """The inverse of `to_json`."""
        held = data["occupancy"]
        return StaticJudgement(
            key=StaticKey(**{name: data[name] for name in StaticKey.__dataclass_fields__}),
            now=None if data["now"] is None else StaticFigures(**data["now"]),
            before=None if data["before"] is None else StaticFigures(**data["before"]),
            occupancy=None if held is None else Occupancy(**{**held, "limited_by": tuple(held["limited_by"])}),
            verdict=StaticVerdict(data["verdict"]),
            reasons=tuple(data["reasons"]),
        )


def compare(
    rows: Iterable[StaticRow], baseline: Baseline | None, limits: StaticLimits | None = None
) -> tuple[StaticJudgement, ...]:
    """A verdict for every row, in order.

    Args:
        rows: What kernels take now.
        baseline: What they took; None where nothing is compared.
        limits: How much worse is still a pass.
    """
    return tuple(_judgement(row, baseline, limits or StaticLimits()) for row in rows)


def _judgement(row: StaticRow, baseline: Baseline | None, limits: StaticLimits) -> StaticJudgement:
    key = key_of(row)
    before = None if baseline is None else baseline.get(key)
    outcome = row.outcome
    now = figures_of(outcome) if isinstance(outcome, Compiled) else None
    verdict, reasons = _compared(key, before, now, baseline, limits)
    # What the baseline has already granted is no news; a kernel that cannot run is, whatever the baseline says.
    faults = (*misfits(row), *(memory_faults(row, limits) if before is None else ()))
    if faults and verdict is not StaticVerdict.REGRESSION:
        verdict, reasons = StaticVerdict.FAULTY, []
    return StaticJudgement(
        key=key,
        now=now,
        before=before,
        occupancy=outcome.occupancy if isinstance(outcome, Compiled) else None,
        verdict=verdict,
        reasons=(*reasons, *faults),
    )


def _compared(
    key: StaticKey,
    before: StaticFigures | None,
    now: StaticFigures | None,
    baseline: Baseline | None,
    limits: StaticLimits,
) -> tuple[StaticVerdict, list[str]]:
    if baseline is None:
        return StaticVerdict.NOT_COMPARED, []
    if before is None:
        return StaticVerdict.NO_BASELINE, [_why_no_baseline(key, baseline)]
    if now is None:
        return StaticVerdict.REGRESSION, ["it compiled before, and does not now"]
    return compare_figures(before, now, limits)


def _why_no_baseline(key: StaticKey, baseline: Baseline) -> str:
    others = {other.compiler for other in baseline if (other.target, other.launch) == (key.target, key.launch)}
    if others - {key.compiler}:
        return f"the baseline is of {', '.join(sorted(others))}; this compiler is {key.compiler}"
    return "the baseline does not hold this kernel with this config for this target"


def compare_figures(before: StaticFigures, now: StaticFigures, limits: StaticLimits) -> tuple[StaticVerdict, list[str]]:
    """The verdict of two sets of figures, and its sentences.

    Worse past a limit is a regression, whatever became better beside it. Better without anything worse is an
    improvement. Registers alone decide nothing: what they cost shows in the waves and the spills. Waves are compared on
    the SIMDs that there are now: a work-group that spreads over two units of RDNA has twice as many as before.
    """
    had = before.waves * now.simds // before.simds
    lost = had - now.waves
    changes: list[tuple[str, int, int, Growth | None]] = [
        (
            "spilled registers",
            before.vgpr_spills + before.sgpr_spills,
            now.vgpr_spills + now.sgpr_spills,
            limits.spills,
        ),
        ("bytes of scratch", before.scratch_bytes, now.scratch_bytes, limits.scratch),
        ("bytes of LDS", before.lds_bytes, now.lds_bytes, limits.lds),
        ("bytes of code", before.code_bytes, now.code_bytes, limits.code),
    ]
    worse = [
        f"{what}: {old}, now {new} (limit {limit} more)"
        for what, old, new, limit in changes
        if limit is not None and not limit.allows(old, new)
    ]
    if limits.waves is not None and not limits.waves.allows(had, had + lost):
        worse.append(f"waves on {now.simds} SIMDs: {had}, now {now.waves} (limit {limits.waves} fewer)")
    if worse:
        return StaticVerdict.REGRESSION, worse
    # Shorter code by itself is no better kernel.
    better = [f"{what}: {old}, now {new}" for what, old, new, _ in changes[:-1] if new < old]
    better += [f"waves on {now.simds} SIMDs: {had}, now {now.waves}"] if lost < 0 else []
    is_worse_within = lost > 0 or any(new > old for _, old, new, _ in changes[:-1])
    return (StaticVerdict.PASS, []) if is_worse_within or not better else (StaticVerdict.IMPROVED, better)
