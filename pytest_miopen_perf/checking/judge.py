"""Judges the results of one problem, and does not judge the same bits twice.

The float64 reference of a large problem takes the host seconds where the device takes a millisecond. So what passed is
remembered by the digest of its bits, on disk too: a kernel that gives the same bits for the same data is as right as it
was. The reference is computed when the first other bits come. What failed is always judged anew.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.atomic_file import write_atomically
from pytest_miopen_perf.checking import check, reference, tensors, verification
from pytest_miopen_perf.checking.check import Check, Reason

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_miopen_perf.checking.reference import Distribution, Operands, Reference
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import Algorithm


class Judge:
    """Judges results of one canonical problem and its data."""

    def __init__(
        self, problem: ConvProblem, *, seed: int, distribution: Distribution, tolerance_factor: float, folder: Path
    ) -> None:
        """Draw the data.

        Args:
            problem: The canonical problem.
            seed: Of the data.
            distribution: Of the data.
            tolerance_factor: The user's multiplier of what both measures allow.
            folder: Where checks that passed are kept.
        """
        self.operands: Operands = reference.make_operands(problem, seed=seed, distribution=distribution)
        self._problem = problem
        self.tolerance_factor = tolerance_factor
        self._passed = PassedChecks(folder / _data_key(problem, seed, distribution))

    def check(self, algorithm: Algorithm, memory: NDArray[np.generic]) -> Check:
        """Judge a result as it was downloaded, as `verification.check_result` does.

        Raises:
            SettingsError: the tolerance factor asks for more than the result's type can hold.
        """
        digest = hashlib.sha256(np.ascontiguousarray(memory).view(np.uint8).data).hexdigest()
        key = f"{algorithm.name} {self.tolerance_factor!r} {digest}"
        known = self._passed.get(key)
        if known is not None:
            return known
        found = verification.check_result(
            self._problem, algorithm, self._reference, memory, tolerance_factor=self.tolerance_factor
        )
        if found.passed:
            self._passed.put(key, found)
        return found

    @functools.cached_property
    def _reference(self) -> Reference:
        return reference.compute_reference(self._problem, self.operands)


class PassedChecks:
    """Checks of one problem and its data by key, in memory and in one file. A file that is damaged holds none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._checks = _kept(path)

    def get(self, key: str) -> Check | None:
        """The check; None where the key is not known."""
        return self._checks.get(key)

    def put(self, key: str, passed: Check) -> None:
        """Keep a check; where the folder cannot be written, for the life of this object."""
        self._checks[key] = passed
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, json.dumps({key: check.to_json() for key, check in self._checks.items()}))


def _kept(path: Path) -> dict[str, Check]:
    """The checks of a file; none of one that is not there, is no JSON, or holds anything but checks that passed."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        checks = {key: Check.from_json(data) for key, data in document.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}
    return checks if all(map(_is_right, checks.values())) else {}


def _is_right(kept: Check) -> bool:
    """Whether every field is what the check of a right result has: a file may hold anything."""
    error, tolerance, got, want, bound = map(
        _figure, (kept.rms_error, kept.rms_tolerance, kept.got, kept.want, kept.bound)
    )
    return (
        kept.reason is Reason.RIGHT
        and isinstance(kept.sentence, str)
        and all(type(place) is int for place in kept.worst)
        and 0 <= error <= tolerance
        and abs(got - want) <= bound
    )


def _figure(value: object) -> float:
    """A finite float as it is; NaN, which no comparison holds for, in place of all else."""
    return value if isinstance(value, float) and math.isfinite(value) else math.nan


def _data_key(problem: ConvProblem, seed: int, distribution: Distribution) -> str:
    """Names the data and the truth about them, the code that makes both included."""
    words = (_code_digest(), np.__version__, problem.to_driver(), str(seed), distribution.value)
    return hashlib.sha256("\n".join(words).encode()).hexdigest() + ".json"


@functools.cache
def _code_digest() -> str:
    files = (module.__file__ for module in (check, reference, tensors, verification))
    return hashlib.sha256(b"".join(Path(str(file)).read_bytes() for file in files)).hexdigest()
