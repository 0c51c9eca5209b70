"""What is different in what ran: a kernel that got slower is another matter than another kernel that was chosen."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf import statistics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from pytest_miopen_perf.results import Result


class Difference(enum.Enum):
    """The first thing, from the outside in, in which two runs differ."""

    OTHER_SOLVER = "other solver"
    OTHER_CONFIG = "other config"
    OTHER_KERNELS = "other kernels"
    OTHER_COMPILE = "other compile"
    SAME_KERNEL = "same kernel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What ran, as far as a verdict wants to know.

    Attributes:
        solver: The solver's name.
        config: Its performance config.
        compile_key: Identifies text, options and compiler of the kernels; "" where that is not known.
        kernel_seconds: Median time of each kernel name in one execution of the solution, with six significant digits.
    """

    solver: str
    config: str
    compile_key: str = ""
    kernel_seconds: tuple[tuple[str, float], ...] = ()

    def is_same_as(self, other: Execution) -> bool:
        """Whether the same kernels ran, compiled alike; their times may differ."""
        return (self.solver, self.config, self.compile_key) == (other.solver, other.config, other.compile_key)

    @staticmethod
    def of(results: Sequence[Result]) -> Execution:
        """What the results of one version, one a process, have in common; what may differ is that of the last one."""
        names = {kernel.name: None for result in results for kernel in result.kernels}
        medians = {
            name: statistics.median([t for result in results for t in _kernel_seconds(result, name)]) for name in names
        }
        return Execution(
            solver=results[-1].solver,
            config=results[-1].config,
            compile_key=results[-1].compile_key,
            kernel_seconds=tuple((name, float(f"{time:.6g}")) for name, time in medians.items() if time is not None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatChanged:
    """The difference, and a sentence that names both sides."""

    difference: Difference
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return asdict(self) | {"difference": self.difference.value}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> WhatChanged:
        """The inverse of `to_json`."""
        return WhatChanged(difference=Difference(data["difference"]), sentence=data["sentence"])


def what_changed(base: Execution, new: Execution) -> WhatChanged:
    """Tell a changed choice from the same kernel taking another time.

    Solvers are often within a few percent of each other, so another winner alone is no regression; another winner that
    is slower is one, and the sentence names both.
    """
    if base.solver != new.solver:
        return _change(Difference.OTHER_SOLVER, f"solver {base.solver} -> {new.solver}")
    if base.config != new.config:
        return _change(Difference.OTHER_CONFIG, f"{new.solver}: config {base.config or '-'} -> {new.config or '-'}")
    old_names, new_names = (sorted(name for name, _ in side.kernel_seconds) for side in (base, new))
    if old_names and new_names and old_names != new_names:
        sentence = f"{new.solver}: kernels {', '.join(old_names)} -> {', '.join(new_names)}"
        return _change(Difference.OTHER_KERNELS, sentence)
    if base.compile_key and new.compile_key and base.compile_key != new.compile_key:
        return _change(Difference.OTHER_COMPILE, f"{new.solver}: the kernels were compiled differently")
    return _change(Difference.SAME_KERNEL, _kernel_sentence(base, new))


def variable_differences(base: Sequence[tuple[str, str]], new: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Each environment variable that differs: many public regressions are a difference there."""
    before, after = dict(base), dict(new)
    return _differences(before, after, before.keys() | after.keys())


def stated_variable_differences(base: Sequence[tuple[str, str]], new: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """As `variable_differences`, of two logs: what one of them does not state may well be the same."""
    before, after = dict(base), dict(new)
    return _differences(before, after, before.keys() & after.keys())


def _differences(before: Mapping[str, str], after: Mapping[str, str], names: AbstractSet[str]) -> tuple[str, ...]:
    changed = sorted(name for name in names if before.get(name) != after.get(name))
    return tuple(f"{name} {_shown(before.get(name))} -> {_shown(after.get(name))}" for name in changed)


def _shown(value: str | None) -> str:
    return "unset" if value is None else repr(value)


def _change(difference: Difference, sentence: str) -> WhatChanged:
    return WhatChanged(difference=difference, sentence=sentence)


def _kernel_sentence(base: Execution, new: Execution) -> str:
    """Name the kernel that moved most, where there are several."""
    config = f" {new.config}" if new.config else ""
    same = f"{new.solver}{config}: the same kernel"
    before, after = dict(base.kernel_seconds), dict(new.kernel_seconds)
    if len(after) < 2 or len(before) < 2:
        return same
    moved = max(after, key=lambda name: abs(after[name] - before[name]))
    if not before[moved]:
        return same
    return f"{same}s; {moved} moved most, {after[moved] / before[moved] - 1:+.1%}"


def _kernel_seconds(result: Result, name: str) -> list[float]:
    """Per execution, the sum over all launches of that name."""
    launches = [kernel.seconds for kernel in result.kernels if kernel.name == name]
    return [sum(times) for times in zip(*launches, strict=True)]
