"""The file of a code-object baseline: JSON, sorted, a block a kernel and a line a target.

One file may hold the figures of several compilers.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.atomic_file import write_atomically
from pytest_miopen_perf.codeobject.baseline import StaticFigures, StaticKey
from pytest_miopen_perf.errors import BaselineError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_miopen_perf.codeobject.baseline import Baseline

FORMAT = "pytest-miopen-perf code-object baseline"
VERSION = 1
SUFFIX = ".static.json"
"""Of a baseline by name: times under the same name lie beside it."""
_BLOCK = ("problem", "solver", "config", "kernel")
_ANEW = "remove it and save it anew"
_MOST = 2**53
"""No figure is larger: a damaged one that a float cannot hold is not computed with."""


def baseline_path(text: str, folder: Path) -> Path:
    """The file that a name or path means: a word is a name in the folder, the rest is a path.

    Raises:
        SettingsError: a name that no file can have.
    """
    if "/" in text or text.endswith(".json"):
        return Path(text).expanduser().absolute()
    if not re.fullmatch(r"\w[\w.+@-]*", text):
        raise SettingsError(f"{text!r} is no name of a baseline; give a word such as main, or the path of a file")
    return folder / f"{text}{SUFFIX}"


def load_baseline(path: Path) -> Baseline:
    """A baseline from its file.

    Raises:
        BaselineError: there is none, it cannot be read, is damaged, of another kind, or of a newer version.
    """
    document = _decoded(_read(path), path)
    try:
        return dict(_parsed(document))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise BaselineError(f"the code-object baseline {path} is damaged: {what}; {_ANEW}") from error


def save_baseline(path: Path, baseline: Mapping[StaticKey, StaticFigures]) -> None:
    """Write all or nothing, sorted, a block a kernel and a line a target, so that a change of one reads as one line.

    Raises:
        BaselineError: the file cannot be written; the old one is as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, _text(baseline))
    except OSError as error:
        raise BaselineError(
            f"the code-object baseline {path} cannot be written: {error}; what was there is unchanged"
        ) from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BaselineError(f"there is no code-object baseline {path}; save one first") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BaselineError(f"the code-object baseline {path} cannot be read: {error}") from error


def _decoded(text: str, path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        is_unmerged = any(line.startswith("<<<<<<< ") for line in text.splitlines())
        advice = "it holds the marks of a merge conflict; resolve it" if is_unmerged else _ANEW
        raise BaselineError(f"the code-object baseline {path} is damaged: {error}; {advice}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BaselineError(f"{path} is JSON, but no code-object baseline; give another file")
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise BaselineError(f"the code-object baseline {path} is damaged: its version is {version!r}; {_ANEW}")
    if version > VERSION:
        raise BaselineError(
            f"the code-object baseline {path} has format version {version}, and this program knows {VERSION}; "
            f"update pytest-miopen-perf, or {_ANEW}"
        )
    return document


def _text(baseline: Mapping[StaticKey, StaticFigures]) -> str:
    """JSON, laid out by hand where `json` knows only all lines or one."""
    by_compiler: dict[str, dict[StaticKey, list[str]]] = {}
    for key in sorted(baseline, key=lambda key: (key.compiler, key.launch, key.target)):
        block = by_compiler.setdefault(key.compiler, {}).setdefault(replace(key, target=""), [])
        block.append(f"   {json.dumps(key.target)}: {json.dumps(asdict(baseline[key]))}")
    sections = [
        f" {json.dumps(compiler)}: [\n" + ",\n".join(_block(key, lines) for key, lines in blocks.items()) + "\n ]"
        for compiler, blocks in by_compiler.items()
    ]
    head = f'{{"format": {json.dumps(FORMAT)}, "version": {VERSION}, "compilers": {{\n'
    return head + ",\n".join(sections) + "\n}}\n"


def _block(key: StaticKey, lines: list[str]) -> str:
    names = {name: getattr(key, name) for name in _BLOCK}
    return f"  {json.dumps(names)[:-1]},\n  " + '"targets": {\n' + ",\n".join(lines) + "\n  }}"


def _parsed(document: Mapping[str, Any]) -> Iterator[tuple[StaticKey, StaticFigures]]:
    for compiler, blocks in document["compilers"].items():
        for block in blocks:
            names = {name: _text_of(block[name]) for name in _BLOCK}
            for target, figures in block["targets"].items():
                yield StaticKey(compiler=compiler, target=target, **names), _parsed_figures(figures)


def _parsed_figures(figures: Mapping[str, Any]) -> StaticFigures:
    return StaticFigures(**{name: _count_of(value) for name, value in figures.items()})


def _text_of(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} stands where a text belongs")
    return value


def _count_of(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise ValueError(f"{value!r:.40} stands where a count belongs")
    return value
