"""What baselines on disk have in common: names, a head that says what they are, and blocks that git can merge."""

from __future__ import annotations

import json
import re
import reprlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.atomic_file import write_atomically
from pytest_miopen_perf.errors import BaselineError, SettingsError
from pytest_miopen_perf.home_folder import without_tilde

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """One kind of file.

    Attributes:
        noun: How messages call it.
        format: The word in its head.
        version: The newest version that is known.
        how_to_make: What makes a new one.
    """

    noun: str
    format: str
    version: int
    how_to_make: str

    @property
    def head_lines(self) -> tuple[str, str]:
        """The first two fields of the file, one a line."""
        return f' "format": {json.dumps(self.format)},', f' "version": {self.version},'


def named_path(text: str, folder: Path, suffix: str) -> Path:
    """The file that a name or path means: a word is a name in the folder, the rest is a path.

    Raises:
        SettingsError: a name that no file can have, or a path without a home.
    """
    if "/" in text or text.endswith(".json"):
        return without_tilde(text).absolute()
    if not re.fullmatch(r"\w[\w.+@-]*", text):
        raise SettingsError(f"{text!r} is no name of a baseline; give a word such as main, or the path of a file")
    return folder / f"{text}{suffix}"


def write_text(path: Path, text: str, kind: FileKind) -> None:
    """Write a file and the folders above it, all or nothing.

    Raises:
        BaselineError: it cannot be written; the old one is as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError as error:
        raise BaselineError(
            f"the {kind.noun} {path} cannot be written: {error}; what was there is unchanged"
        ) from error


def read_text(path: Path, kind: FileKind) -> str:
    """The text of a file.

    Raises:
        BaselineError: it is not there, or cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BaselineError(f"there is no {kind.noun} {path}; make it with {kind.how_to_make}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BaselineError(f"the {kind.noun} {path} cannot be read: {error}") from error


def decoded(text: str, where: str, kind: FileKind) -> Mapping[str, Any]:
    """The document, its head checked.

    Raises:
        BaselineError: it is damaged, of another kind, or of a newer version.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        is_unmerged = any(line.startswith("<<<<<<< ") for line in text.splitlines())
        advice = "it holds the marks of a merge conflict; resolve it" if is_unmerged else _advice(kind)
        raise BaselineError(
            f"the {kind.noun} {where} is damaged: line {error.lineno}: {error.msg}; {advice}"
        ) from error
    except RecursionError as error:
        raise BaselineError(f"the {kind.noun} {where} is damaged: it is nested too deeply; {_advice(kind)}") from error
    except ValueError as error:  # of an integer with more digits than Python reads
        raise BaselineError(f"the {kind.noun} {where} is damaged: a number is too long; {_advice(kind)}") from error
    if not isinstance(data, dict) or data.get("format") != kind.format:
        raise BaselineError(f"{where} is JSON, but no {kind.noun} of pytest-miopen-perf; give another file")
    version = data.get("version")
    if type(version) is not int or version < 1:
        raise BaselineError(
            f"the {kind.noun} {where} is damaged: its version is {reprlib.repr(version)}; {_advice(kind)}"
        )
    if version > kind.version:
        raise BaselineError(
            f"the {kind.noun} {where} has format version {reprlib.repr(version)}, "
            f"and this program knows {kind.version}; "
            f"update pytest-miopen-perf, or make a new one with {kind.how_to_make}"
        )
    return data


def damaged(error: Exception, where: str, kind: FileKind) -> BaselineError:
    """What to raise when a document with a sound head has another shape than it should."""
    what = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
    return BaselineError(f"the {kind.noun} {where} is damaged: {what}; {_advice(kind)}")


SHAPE_ERRORS = (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError)
"""What reading a document of a wrong shape raises."""


def joined(items: Iterable[str]) -> Iterator[str]:
    """The items, a comma behind each but the last."""
    listed = list(items)
    return (item + ("," if index < len(listed) - 1 else "") for index, item in enumerate(listed))


def _advice(kind: FileKind) -> str:
    return f"restore it, or make a new one with {kind.how_to_make}"
