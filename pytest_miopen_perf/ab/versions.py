"""The two arms of a comparison made ready: their kernels on disk, and whether one process can run both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.gate.arms import kernel_folder
from pytest_miopen_perf.kernel_source.files import kernels_dir

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_miopen_perf.gate.arms import Arm


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Both arms.

    Attributes:
        base: Arm A; where one process runs both, what the two have in common.
        new: Arm B.
        kernels: The kernel folders of both, where one process can run both; None where each has its own process.
        sentence: What arm A is, for the reader.
    """

    base: Arm
    new: Arm
    kernels: tuple[Path, Path] | None
    sentence: str


def versions_of(base: Arm, new: Arm, scratch: Path, shipped: Path | None = None) -> Versions:
    """Make the arms ready.

    Args:
        base: Arm A.
        new: Arm B.
        scratch: Where the kernels of a git revision are put.
        shipped: The kernels that revisions are of, and those of an arm that names none; None is this installation's.

    Raises:
        SettingsError: kernels that an arm names are not there.
    """
    shipped = shipped or kernels_dir()
    found = [
        kernel_folder(arm.kernels, shipped=shipped, scratch=scratch) if arm.kernels else None for arm in (base, new)
    ]
    sentences = [arm.text if one is None else one.sentence for arm, one in zip((base, new), found, strict=True)]
    sentence = f"A {sentences[0] or 'as installed'}; B is {sentences[1] or 'as installed'}"
    if any(found) and replace(base, text="", kernels="") == replace(new, text="", kernels=""):
        first, second = (shipped if one is None else one.folder for one in found)
        common = replace(base, kernels="")
        return Versions(base=common, new=common, kernels=(first, second), sentence=sentence)
    ready = [
        arm if one is None else replace(arm, kernels=str(one.folder))
        for arm, one in zip((base, new), found, strict=True)
    ]
    return Versions(base=ready[0], new=ready[1], kernels=None, sentence=sentence)
