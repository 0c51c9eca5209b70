"""The static gate in one piece: solutions in, judgements out, and the baseline file behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.codeobject.architectures import ARCHITECTURES
from pytest_miopen_perf.codeobject.baseline import (
    StaticLimits,
    StaticVerdict,
    baseline_of,
    compare,
)
from pytest_miopen_perf.codeobject.baseline_file import load_baseline, save_baseline
from pytest_miopen_perf.codeobject.compile import CodeObjectBuilder
from pytest_miopen_perf.codeobject.metadata import reading_refusal
from pytest_miopen_perf.codeobject.table import resources_table
from pytest_miopen_perf.codeobject.toolchain import find_amd_compiler
from pytest_miopen_perf.devices.host_compiler import wheel_zig
from pytest_miopen_perf.errors import DeviceUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pytest_miopen_perf.codeobject.baseline import Baseline, StaticJudgement
    from pytest_miopen_perf.codeobject.cases import StaticCase


def probe() -> str:
    """Why there can be no static gate here, in words; "" when there can. Starts no process, never raises."""
    if wheel_zig() is None:
        return "the static gate needs a compiler; install the extra: pip install 'pytest-miopen-perf[amdgpu]'"
    return reading_refusal()


class StaticGate:
    """A compiler, the targets to look at, and what kernels took before. Any thread may call `judge`.

    Args:
        targets: Target IDs, for example `gfx942`.
        builder: Who compiles.
        baseline: What kernels took; empty where there is none yet.
        limits: How much worse is still a pass.

    Raises:
        SettingsError: a target is no target ID.
        DeviceUnavailableError: the compiler cannot build for one of the targets; the message is its reason.
    """

    def __init__(
        self,
        targets: Sequence[str],
        builder: CodeObjectBuilder,
        baseline: Baseline | None = None,
        limits: StaticLimits | None = None,
    ) -> None:
        for target in targets:
            if reason := builder.refusal(target):
                raise DeviceUnavailableError(reason)
        self._targets = tuple(targets)
        self._builder = builder
        self._baseline = dict(baseline or {})
        self._limits = limits or StaticLimits()

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets to look at, for `cases.planned_cases`."""
        return self._targets

    @property
    def compiler(self) -> str:
        """Name and version."""
        return self._builder.compiler.version

    def judge(self, cases: Iterable[StaticCase]) -> tuple[StaticJudgement, ...]:
        """Compile, read and compare.

        Raises:
            CodeObjectError: a code object cannot be read.
            SettingsError: the architecture of a target is not in the table of architectures.
            DeviceUnavailableError: what reads code objects is not installed.
        """
        return compare(resources_table(cases, self._builder), self._baseline, self._limits)

    def close(self) -> None:
        """Give back what the builder kept on disk for itself."""
        self._builder.close()


def open_gate(
    targets: Sequence[str] = (),
    *,
    baseline_path: Path | None = None,
    limits: StaticLimits | None = None,
    cache_dir: Path | None = None,
    compile_timeout_s: float = 120.0,
) -> StaticGate:
    """A gate with the compiler of this machine.

    Args:
        targets: Target IDs; none stands for every tabled architecture that the compiler can build for.
        baseline_path: The baseline's file; None, or a file that does not exist yet, is an empty baseline.
        limits: How much worse is still a pass.
        cache_dir: Where code objects are kept; None is the user's cache directory.
        compile_timeout_s: Seconds after which the compilation of one kernel is stopped.

    Raises:
        DeviceUnavailableError: no compiler, no reader, or no support of a target; the message says what to do.
        SettingsError: a target is no target ID, or the baseline cannot be read.
    """
    if reason := probe():
        raise DeviceUnavailableError(reason)
    baseline = load_baseline(baseline_path) if baseline_path and baseline_path.exists() else {}
    builder = CodeObjectBuilder(find_amd_compiler(), cache_dir, compile_timeout_s)
    return StaticGate(targets or buildable_targets(builder), builder, baseline, limits)


def buildable_targets(builder: CodeObjectBuilder) -> tuple[str, ...]:
    """The tabled architectures that a compiler can build for, as it shows itself."""
    return tuple(name for name in ARCHITECTURES if not builder.refusal(name))


def failure_of(judgements: Iterable[StaticJudgement]) -> str:
    """Why an item fails, a line for each kernel and target that is worse or faulty; "" when it passes."""
    return "\n".join(
        f"{judgement.row.case.kernel.entry} [{judgement.row.case.config}] on {judgement.row.case.target}: {sentence}"
        for judgement in judgements
        for sentence in (
            *(judgement.reasons if judgement.verdict is StaticVerdict.REGRESSION else ()),
            *judgement.faults,
        )
    )


def accept(path: Path, judgements: Iterable[StaticJudgement]) -> None:
    """Put the figures of today into a baseline file; what it holds of other kernels, targets and compilers stays.

    Raises:
        SettingsError: the file is there and is no baseline.
        OSError: it cannot be written.
    """
    before = load_baseline(path) if path.exists() else {}
    save_baseline(path, before | baseline_of(judgement.row for judgement in judgements))
