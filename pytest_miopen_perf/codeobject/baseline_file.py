"""The file of a code-object baseline: JSON, sorted, a block a kernel and a line a target.

One file may hold the figures of several compilers.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.codeobject.baseline import StaticFigures, StaticKey
from pytest_miopen_perf.stored_json import (
    SHAPE_ERRORS,
    FileKind,
    damaged,
    decoded,
    named_path,
    read_text,
    write_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pytest_miopen_perf.codeobject.baseline import Baseline

KIND = FileKind(
    noun="code-object baseline",
    format="pytest-miopen-perf code-object baseline",
    version=1,
    how_to_make="--miopen-perf-static-save or miopen-perf codeobject --save",
)
SUFFIX = ".static.json"
"""Of a baseline by name: times under the same name lie beside it."""
_BLOCK = ("problem", "solver", "config", "kernel")
_MOST = 2**53
"""No figure is larger: a damaged one that a float cannot hold is not computed with."""


def baseline_path(text: str, folder: Path) -> Path:
    """The file that a name or path means: a word is a name in the folder, the rest is a path.

    Raises:
        SettingsError: a name that no file can have.
    """
    return named_path(text, folder, SUFFIX)


def load_baseline(path: Path) -> Baseline:
    """A baseline from its file.

    Raises:
        BaselineError: there is none, it cannot be read, is damaged, of another kind, or of a newer version.
    """
    document = decoded(read_text(path, KIND), str(path), KIND)
    try:
        return _each_once(_parsed(document))
    except SHAPE_ERRORS as error:
        raise damaged(error, str(path), KIND) from error


def save_baseline(path: Path, baseline: Mapping[StaticKey, StaticFigures]) -> None:
    """Write all or nothing, sorted, a block a kernel and a line a target, so that a change of one reads as one line.

    Raises:
        BaselineError: the file cannot be written; the old one is as it was.
    """
    write_text(path, _text(baseline), KIND)


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
    head = f'{{"format": {json.dumps(KIND.format)}, "version": {KIND.version}, "compilers": {{\n'
    return head + ",\n".join(sections) + "\n}}\n"


def _block(key: StaticKey, lines: list[str]) -> str:
    names = {name: getattr(key, name) for name in _BLOCK}
    return f"  {json.dumps(names)[:-1]},\n  " + '"targets": {\n' + ",\n".join(lines) + "\n  }}"


def _each_once(pairs: Iterable[tuple[StaticKey, StaticFigures]]) -> Baseline:
    """Refuse what a merge that kept both sides leaves: one of the two would be compared, and nobody said which."""
    baseline: Baseline = {}
    for key, figures in pairs:
        if key in baseline:
            raise ValueError(f"{key.name} for {key.target} stands in it twice")
        baseline[key] = figures
    return baseline


def _parsed(document: Mapping[str, Any]) -> Iterator[tuple[StaticKey, StaticFigures]]:
    for compiler, blocks in document["compilers"].items():
        if not isinstance(blocks, list):
            raise TypeError(f"{blocks!r:.40} stands where the kernels of {compiler} belong")
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
