"""Imports run downwards only, and the lowest layers need nothing but the standard library."""

import ast
import sys
from pathlib import Path

import pytest

import pytest_miopen_perf

PACKAGE = Path(pytest_miopen_perf.__file__).parent

LAYERS = {
    0: (
        "__init__ errors problem problems launch statistics records schema environment settings atomic_file "
        "stored_json moments child_process home_folder severity wording"
    ),
    1: "find_variables perflog kernel_source options",
    2: "codeobject database devices doctor solvers telemetry checking",
    3: "measuring results tuning",
    4: "running canary cases driver gate logged",
    5: "report",
    6: "session ab static_gate items hookspec plugin controller cli __main__",
}
LAYER_OF = {name: layer for layer, names in LAYERS.items() for name in names.split()}
HEAVY = {"numpy", "jsonschema", "rich", "scipy", "hip", "cuda"}


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def modules_of(*layers):
    return [path for path in modules() if LAYER_OF.get(room_of(path)) in layers]


def imports(path, *, at_import_time):
    """Names of the modules that a file imports; with `at_import_time` only those that its import brings along."""
    tree = ast.parse(path.read_text())
    skipped = set()
    if at_import_time:
        for node in ast.walk(tree):
            is_typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            if is_typing or isinstance(node, ast.FunctionDef):
                skipped |= {id(child) for child in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            if node.module == "pytest_miopen_perf":
                yield from (f"pytest_miopen_perf.{alias.name}" for alias in node.names)


def own_rooms(path, **how):
    for name in imports(path, **how):
        parts = name.split(".")
        if parts[0] == "pytest_miopen_perf" and len(parts) > 1 and parts[1] in LAYER_OF:
            yield parts[1]


def test_every_module_has_a_layer():
    assert {room_of(path) for path in modules()} - {"kernels"} == set(LAYER_OF)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downwards(path):
    own = LAYER_OF[room_of(path)]
    upwards = {room for room in own_rooms(path, at_import_time=True) if LAYER_OF[room] > own}
    assert not upwards


@pytest.mark.parametrize("path", [*modules_of(0, 1), PACKAGE / "plugin.py"], ids=lambda path: path.name)
def test_low_layers_import_only_the_standard_library(path):
    outside = {name.split(".")[0] for name in imports(path, at_import_time=True)} - {"pytest_miopen_perf", "pytest"}
    assert outside <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("path", modules_of(0, 1, 2, 3, 4), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_pytest_is_imported_only_at_the_top(path):
    assert "pytest" not in {name.split(".")[0] for name in imports(path, at_import_time=True)}
