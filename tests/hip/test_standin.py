"""L3: the real hip-python, of both generations, on a stand-in for the HIP libraries.

It proves that our driver calls hip-python rightly: signatures, types, packed arguments, errors, and that everything is
given back. It proves nothing about AMD's runtime or compiler, and its times are those of a CPU.
"""

from __future__ import annotations

import ctypes

import pytest
from standin_library import ROOT, Standin, build_library

HERE = "tests/hip"
CONTRACT = sorted((ROOT / "tests" / "devices").glob("test_contract*.py"))
PROBE = "from pytest_miopen_perf.devices import DeviceOptions, hip; print(hip.probe(DeviceOptions()))"


def run_tests(standin, python, *words):
    return standin.run(["-m", "pytest", "-q", "-p", "no:cacheprovider", *words], python)


def assert_clean(run):
    assert run.status == 0, run.output
    assert run.ledger["launches"]["made"] > 0
    assert min(count["made"] for count in run.ledger.values()) > 0
    assert run.alive() == {}


def has_library():
    try:
        ctypes.CDLL("libamdhip64.so")
    except OSError:
        return False
    return True


@pytest.mark.parametrize("layer", ["L3: contract of every device"])
def test_contract(standin, hip_python, layer):
    run = run_tests(standin, hip_python, *CONTRACT, "-k", "hip", "-rs")
    assert_clean(run)
    assert " skipped" not in run.output


@pytest.mark.parametrize("layer", ["L3: failures as typed errors, nothing leaked"])
def test_faults(standin, hip_python, layer):
    run = run_tests(standin, hip_python, f"{HERE}/standin_faults.py")
    assert_clean(run)


@pytest.mark.parametrize("layer", ["L3: a session from problem to report"])
def test_session(standin, hip_python, layer, tmp_path):
    workload = tmp_path / "small.miopen.txt"
    workload.write_text("conv -n 1 -c 4 -H 5 -W 5 -k 4 -y 3 -x 3 -p 1 -q 1 -F 7\n")
    results = tmp_path / "results.json"
    options = ["--miopen-perf-backend=hip", "--miopen-perf-level=2", "--miopen-perf-solver=HipConvNaive*"]
    run = run_tests(standin, hip_python, workload, *options, f"--miopen-perf-json={results}")
    assert run.status == 0, run.output
    assert "3 passed" in run.output
    assert "stand-in (CPU) (hip, gfx90a)" in run.output
    assert "stand-in (CPU)" in results.read_text()
    assert run.alive() == {}


@pytest.mark.parametrize("layer", ["L3: a library that is too old"])
def test_a_missing_symbol_is_the_reason(standin_parts, hip_python, layer, tmp_path):
    old = Standin(build_library(tmp_path / "old", "-DSTANDIN_WITHOUT_PROPERTIES"), standin_parts)
    run = old.run(["-c", PROBE], hip_python)
    assert run.status == 0, run.output
    assert run.output.startswith("the AMD GPU 0 cannot be used: ")
    assert "hipGetDevicePropertiesR0600" in run.output


@pytest.mark.parametrize("layer", ["L3: a runtime with no compiler beside it"])
def test_a_missing_compiler_is_the_reason(standin_parts, standin, hip_python, layer, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libamdhip64.so").symlink_to(standin.home / "lib" / "libamdhip64.so")
    run = Standin(tmp_path, standin_parts).run(["-c", PROBE], hip_python)
    assert run.status == 0, run.output
    assert "libhiprtc.so" in run.output


@pytest.mark.parametrize("layer", ["L3: no library"])
def test_a_missing_library_is_the_reason(standin_parts, hip_python, layer, tmp_path):
    if has_library():
        pytest.skip("this machine has a HIP library that the loader finds")
    run = Standin(tmp_path, standin_parts).run(["-c", PROBE], hip_python)
    assert run.status == 0, run.output
    assert run.output.startswith("no AMD GPU can be used: ")
    assert "libamdhip64.so" in run.output
