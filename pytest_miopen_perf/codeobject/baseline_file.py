"""The file of a code-object baseline: JSON, sorted, a block a kernel and a line a target.

One file may hold the figures of several compilers.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.atomic_file import write_atomically
from pytest_miopen_perf.codeobject.baseline import StaticFigures, StaticKey
from pytest_miopen_perf.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_miopen_perf.codeobject.baseline import Baseline

FORMAT = "pytest-miopen-perf code-object baseline"
VERSION = 1


def load_baseline(path: Path) -> Baseline:
    """A baseline from its file.

    Raises:
        SettingsError: the file cannot be read, or is no baseline of this version.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot read the code-object baseline {path}: {error}") from error
    if not isinstance(document, dict) or (document.get("format"), document.get("version")) != (FORMAT, VERSION):
        raise SettingsError(f"{path} is no code-object baseline of version {VERSION}; save one with this version")
    try:
        return dict(_parsed(document))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SettingsError(
            f"the code-object baseline {path} is damaged ({type(error).__name__}: {error}); save it anew"
        ) from error


def save_baseline(path: Path, baseline: Mapping[StaticKey, StaticFigures]) -> None:
    """Write all or nothing, sorted, a block a kernel and a line a target, so that a change of one reads as one line.

    Raises:
        OSError: the file cannot be written; the old one is as it was.
    """
    write_atomically(path, _text(baseline))


def _text(baseline: Mapping[StaticKey, StaticFigures]) -> str:
    """JSON, laid out by hand where `json` knows only all lines or one."""
    by_compiler: dict[str, dict[StaticKey, list[str]]] = {}
    for key in sorted(baseline, key=lambda key: (key.compiler, key.kernel(), key.target)):
        block = by_compiler.setdefault(key.compiler, {}).setdefault(replace(key, target=""), [])
        block.append(f"   {json.dumps(key.target)}: {json.dumps(asdict(baseline[key]))}")
    sections = [
        f" {json.dumps(compiler)}: [\n" + ",\n".join(_block(key, lines) for key, lines in blocks.items()) + "\n ]"
        for compiler, blocks in by_compiler.items()
    ]
    head = f'{{"format": {json.dumps(FORMAT)}, "version": {VERSION}, "compilers": {{\n'
    return head + ",\n".join(sections) + "\n}}\n"


def _block(key: StaticKey, lines: list[str]) -> str:
    kernel = {
        "file": key.file,
        "entry": key.entry,
        "defines": [f"{name}={value}" for name, value in key.defines],
        "options": key.options,
        "work_items": key.work_items,
        "shared_bytes": key.shared_bytes,
    }
    return f"  {json.dumps(kernel)[:-1]},\n  " + '"targets": {\n' + ",\n".join(lines) + "\n  }}"


def _parsed(document: Mapping[str, Any]) -> Iterator[tuple[StaticKey, StaticFigures]]:
    for compiler, blocks in document["compilers"].items():
        for block in blocks:
            for target, figures in block["targets"].items():
                yield _parsed_key(compiler, target, block), _parsed_figures(figures)


def _parsed_key(compiler: str, target: str, block: Mapping[str, Any]) -> StaticKey:
    defines = [_text_of(define).partition("=") for define in block["defines"]]
    return StaticKey(
        compiler=compiler,
        target=target,
        file=_text_of(block["file"]),
        entry=_text_of(block["entry"]),
        defines=tuple((name, value) for name, _, value in defines),
        options=tuple(map(_text_of, block["options"])),
        work_items=_count_of(block["work_items"]),
        shared_bytes=_count_of(block["shared_bytes"]),
    )


def _parsed_figures(figures: Mapping[str, Any]) -> StaticFigures:
    return StaticFigures(**{name: _count_of(value) for name, value in figures.items()})


def _text_of(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} stands where a text belongs")
    return value


def _count_of(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} stands where a count belongs")
    return value
