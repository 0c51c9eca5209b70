"""The static gate in one piece: kernels in, judgements out, and the baseline file behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.codeobject.architectures import ARCHITECTURES
from pytest_miopen_perf.codeobject.baseline_file import load_baseline, save_baseline
from pytest_miopen_perf.codeobject.compile import CodeObjectBuilder
from pytest_miopen_perf.codeobject.judgement import compare
from pytest_miopen_perf.codeobject.limits import StaticLimits
from pytest_miopen_perf.codeobject.metadata import reading_refusal
from pytest_miopen_perf.codeobject.table import resources_table
from pytest_miopen_perf.codeobject.toolchain import find_amd_compiler
from pytest_miopen_perf.devices.host_compiler import wheel_zig
from pytest_miopen_perf.errors import DeviceUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pytest_miopen_perf.codeobject.baseline import Baseline
    from pytest_miopen_perf.codeobject.cases import StaticCase
    from pytest_miopen_perf.codeobject.judgement import StaticJudgement


def probe() -> str:
    """Why there can be no static gate here, in words; "" when there can. Starts no process, never raises."""
    if wheel_zig() is None:
        return "the static gate needs a compiler: pip install 'ziglang>=0.15.2' 'pyelftools>=0.30' 'msgpack>=1.0'"
    return reading_refusal()


class StaticGate:
    """A compiler, what kernels took before, and how much worse is still a pass. Any thread may call any method.

    Args:
        builder: Who compiles.
        baseline: What kernels took; None where nothing is compared.
        limits: How much worse is still a pass.
    """

    def __init__(
        self, builder: CodeObjectBuilder, baseline: Baseline | None = None, limits: StaticLimits | None = None
    ) -> None:
        self._builder = builder
        self._baseline = baseline
        self._limits = limits or StaticLimits()
        self._refusals: dict[str, str] = {}

    @property
    def compiler(self) -> str:
        """Name and version."""
        return self._builder.compiler.version

    @property
    def builder(self) -> CodeObjectBuilder:
        """Who compiles."""
        return self._builder

    def refusal(self, target: str) -> str:
        """Why the compiler cannot build for a target, in words; "" when it can. It is asked once.

        Raises:
            SettingsError: it is no target ID.
        """
        if target not in self._refusals:
            self._refusals[target] = self._builder.refusal(target)
        return self._refusals[target]

    def judge(
        self, cases: Iterable[StaticCase], on_built: Callable[[], None] | None = None
    ) -> tuple[StaticJudgement, ...]:
        """Compile, read and compare.

        Args:
            cases: Kernels of targets that are not refused.
            on_built: Called once for every distinct kernel and target when it has been built, by any thread.

        Raises:
            SettingsError: the architecture of a target is not in the table of architectures.
            DeviceUnavailableError: what reads code objects is not installed.
        """
        return compare(resources_table(cases, self._builder, on_built), self._baseline, self._limits)

    def close(self) -> None:
        """Give back what the builder kept on disk for itself."""
        self._builder.close()


def open_gate(
    *,
    baseline: Baseline | None = None,
    limits: StaticLimits | None = None,
    cache_dir: Path | None = None,
    compile_timeout_s: float = 120.0,
) -> StaticGate:
    """A gate with the compiler of this machine.

    Args:
        baseline: What kernels took; None where nothing is compared.
        limits: How much worse is still a pass.
        cache_dir: Where code objects are kept; None is the user's cache directory.
        compile_timeout_s: Seconds after which the compilation of one kernel is stopped.

    Raises:
        DeviceUnavailableError: no compiler or no reader; the message says what to do.
    """
    if reason := probe():
        raise DeviceUnavailableError(reason)
    return StaticGate(CodeObjectBuilder(find_amd_compiler(), cache_dir, compile_timeout_s), baseline, limits)


def targets_of(baseline: Baseline | None) -> tuple[str, ...]:
    """The targets of a baseline whose architecture is known, in the order of the table; () without a baseline."""
    order = list(ARCHITECTURES)
    held = {
        (order.index(name), key.target) for key in baseline or () if (name := key.target.partition(":")[0]) in order
    }
    return tuple(target for _, target in sorted(held))


def complaint(judgement: StaticJudgement) -> str:
    """Why a test fails: verdict, kernel, target, and what was found."""
    key = judgement.key
    return f"{judgement.verdict.value} {key.name} on {key.target}: {'; '.join(judgement.reasons)}"


def accept(path: Path, judgements: Iterable[StaticJudgement]) -> int:
    """Put the figures of today into a baseline file; what it holds of other kernels, targets and compilers stays.

    Returns:
        How many were put there.

    Raises:
        BaselineError: the file is there and is no baseline, or it cannot be written.
    """
    before = load_baseline(path) if path.exists() else {}
    new = {judgement.key: judgement.now for judgement in judgements if judgement.now is not None}
    save_baseline(path, before | new)
    return len(new)
