"""The two versions of a paired comparison: environment, interpreter, pytest options, or another text of the kernels."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
import tarfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.home_folder import without_tilde

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PROCESS = "{process}"
"""In the arguments of pytest: the number of the process, for a script's session or a GPU of its own."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One version.

    Attributes:
        text: As the user wrote it.
        environment: Variables that are set for it.
        interpreter: Its Python.
        options: Further arguments of its pytest.
        kernels: A folder of kernels or a git revision of them; "" is what the interpreter has installed.
    """

    text: str
    environment: tuple[tuple[str, str], ...] = ()
    interpreter: str = sys.executable
    options: tuple[str, ...] = ()
    kernels: str = ""

    def command(self, arguments: Sequence[str], process: int) -> list[str]:
        """The command line of one process of it.

        Args:
            arguments: Of pytest, the same for both arms; the arm's own come behind them.
            process: The number of the process.
        """
        own = [option.replace(PROCESS, str(process)) for option in (*arguments, *self.options)]
        kernels = [f"--miopen-perf-kernels={self.kernels}"] if self.kernels else []
        return [self.interpreter, "-m", "pytest", *own, *kernels]

    def variables(self, process: int) -> dict[str, str]:
        """The variables that are set for one process of it."""
        return {name: value.replace(PROCESS, str(process)) for name, value in self.environment}


def parse_arm(text: str) -> Arm:
    """An arm from shell words: `NAME=VALUE` variables, `python=PATH`, `kernels=FOLDER|REVISION`, and options.

    Raises:
        SettingsError: a word is none of these, or the interpreter is not there.
    """
    arm = Arm(text=text)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SettingsError(f"the arm {text!r} cannot be split into words: {error}; check its quotes") from error
    for word in words:
        arm = _with_word(arm, word)
    return arm


def _with_word(arm: Arm, word: str) -> Arm:
    name, equals, value = word.partition("=")
    if word.startswith("-"):
        return replace(arm, options=(*arm.options, word))
    if not equals or not _VARIABLE.fullmatch(name):
        raise SettingsError(
            f"{word!r} in the arm {arm.text!r} is no NAME=VALUE, python=PATH, kernels=FOLDER|REVISION or option"
        )
    if name == "python":
        if not without_tilde(value).is_file():
            raise SettingsError(f"the arm {arm.text!r} names the interpreter {value}, which does not exist")
        return replace(arm, interpreter=str(without_tilde(value)))
    if name == "kernels":
        return replace(arm, kernels=value)
    return replace(arm, environment=(*arm.environment, (name, value)))


# --- Kernels ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFolder:
    """A text of the kernels on disk.

    Attributes:
        folder: Where the `.hip` files lie.
        sentence: What it is, for the reader.
    """

    folder: Path
    sentence: str


def kernel_folder(text: str, *, shipped: Path, scratch: Path) -> KernelFolder:
    """The folder that a text names: a folder with `.hip` files in it or in its `kernels`, else a git revision.

    Args:
        text: What the user wrote.
        shipped: The kernels of this installation; a revision is one of the repository that they lie in.
        scratch: Where the files of a revision are put.

    Raises:
        SettingsError: it is neither.
    """
    given = without_tilde(text)
    for folder in (given, given / "kernels"):
        if folder.is_dir() and any(folder.glob("*.hip")):
            return KernelFolder(folder=folder.resolve(), sentence=f"{text}{_uncommitted(folder)}")
    if given.is_dir():
        raise SettingsError(f"the folder {text} holds no .hip file; give a folder of kernels, or a git revision")
    return _revision(text, shipped, scratch)


def _revision(text: str, shipped: Path, scratch: Path) -> KernelFolder:
    top = _git(shipped, "rev-parse", "--show-toplevel")
    if top.words:
        raise SettingsError(
            f"{text!r} is no folder, and git knows no revisions of {shipped}: {top.words}; "
            "give a folder of kernels, or run in a clone"
        )
    commit = _git(shipped, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
    if commit.words:
        raise SettingsError(f"{text!r} is neither a folder of kernels nor a git revision of {top.text}")
    archive = _git(shipped, "archive", commit.text, ".")
    folder = scratch / commit.text
    if archive.words:
        raise SettingsError(f"the revision {text!r} has no folder {shipped.name}; give a later one")
    with tarfile.open(fileobj=io.BytesIO(archive.output)) as files:
        # Files alone, by their names inside the folder: an archive of git holds nothing else.
        for member in files:
            if member.isfile() and (data := files.extractfile(member)) is not None:
                path = folder / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data.read())
    if not any(folder.glob("*.hip")):
        raise SettingsError(f"the revision {text!r} has no .hip file in {shipped.name}; give a later one")
    return KernelFolder(folder=folder, sentence=f"{text} ({commit.text[:12]})")


def _uncommitted(folder: Path) -> str:
    """What a reader must know of a folder in a working tree: that no revision says what is in it."""
    return " with changes that are not committed" if _git(folder, "status", "--porcelain", "--", ".").output else ""


class _Answer(NamedTuple):
    """What git says: its output, or, where it fails or cannot be run, nothing and why."""

    output: bytes
    words: str = ""

    @property
    def text(self) -> str:
        return self.output.decode().strip()


def _git(folder: Path, *words: str) -> _Answer:
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return _Answer(b"", f"it cannot be run: {error}")
    if done.returncode == 0:
        return _Answer(done.stdout)
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return _Answer(b"", said[0] if said else f"it ended with status {done.returncode}")
