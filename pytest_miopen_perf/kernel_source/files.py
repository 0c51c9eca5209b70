"""Where the HIP text of the kernels lies: inside an installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def kernels_dir() -> Path:
    """The folder of the `.hip` files: in the wheel below the package, in an editable install beside it."""
    installed = _PACKAGE / "kernels"
    return installed if installed.is_dir() else _PACKAGE.parent / "kernels"


def include_dir() -> Path:
    """The folder of the small headers that kernels include by name."""
    return kernels_dir() / "include"


def include_dirs(path: Path) -> tuple[Path, ...]:
    """Where the headers of a kernel file lie: beside it, then in the `include` folder beside it, else the shipped one.

    So a copy of the whole kernels folder, of another revision for example, is compiled with headers of its own.
    """
    own = path.parent / "include"
    return path.parent, own if own.is_dir() else include_dir()


def kernel_path(file: str) -> Path:
    """The path of a kernel file: below `kernels_dir()`, or `file` itself when it is absolute."""
    return kernels_dir() / file
