"""The compiler is asked what it knows, and what it is not is said in words."""

import importlib.util

import pytest

from pytest_miopen_perf.codeobject.architectures import ARCHITECTURES
from pytest_miopen_perf.codeobject.toolchain import amd_compiler, find_amd_compiler, processor_of, target_refusal
from pytest_miopen_perf.errors import DeviceUnavailableError, SettingsError

KNOWING = """
case "$*" in
  "clang --version") echo "clang version 30.0.1 (somewhere)";;
  version) echo 0.99.0;;
  *-print-supported-cpus*) printf "Available CPUs for this target:\n\n\tgfx90a\n\tgfx9-4-generic\n\ttonga\n";;
  *) exit 3;;
esac
"""


def test_the_wheel_names_itself_and_its_targets(builder):
    compiler = builder.compiler
    assert compiler.version.startswith("zig clang ")
    assert "ziglang" in compiler.version
    assert {"gfx90a", "gfx942", "gfx1100", "gfx1201"} <= compiler.processors
    assert not {name for name in compiler.processors if not name.startswith("gfx")}


def test_without_the_wheel_the_reason_says_what_to_install(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ziglang" else find_spec(name))
    with pytest.raises(DeviceUnavailableError, match="pip install 'ziglang>="):
        find_amd_compiler()


def test_targets_come_from_the_compiler(stand_in):
    compiler = amd_compiler(stand_in(KNOWING))
    assert compiler.version == "zig clang 30.0.1 (zig 0.99.0)"
    assert compiler.processors == {"gfx90a", "gfx9-4-generic"}
    assert target_refusal(compiler, "gfx90a:sramecc+:xnack-") == ""
    assert target_refusal(compiler, "gfx942") == "zig clang 30.0.1 (zig 0.99.0) does not know gfx942"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 1", "does not say its version"),
        ("echo clang version 99", "knows no AMD GPU"),
        ('case "$*" in *print*) echo no such target; exit 1;; *) echo 1;; esac', "does not list its AMD targets"),
    ],
)
def test_a_compiler_that_cannot_is_not_available(stand_in, script, words):
    with pytest.raises(DeviceUnavailableError, match=words):
        amd_compiler(stand_in(script))


@pytest.mark.parametrize(
    ("target", "processor"),
    [(name, name) for name in ARCHITECTURES]
    + [("gfx90a:sramecc+:xnack-", "gfx90a"), ("gfx942:xnack+", "gfx942"), ("gfx11-generic", "gfx11-generic")],
)
def test_the_processor_of_a_target(target, processor):
    assert processor_of(target) == processor


@pytest.mark.parametrize(
    "target", ["", "sm_90", "gfx", "gfx90a:", "gfx90a:xnack", "gfx90a:tea+", "gfx942 -O0", "x86_64"]
)
def test_what_is_no_target_is_refused(target):
    with pytest.raises(SettingsError, match="is no AMD GPU target"):
        processor_of(target)
