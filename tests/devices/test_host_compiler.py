"""Which compiler is found, what it is asked, and how it fails."""

import contextlib
import os
import shutil
import stat
import time
from pathlib import Path

import numpy as np
import pytest
from cpu_launch import i32, run, source

from pytest_miopen_perf.devices import DeviceOptions, cpu, host_compiler
from pytest_miopen_perf.devices.host_compiler import (
    COMPILER_VARIABLE,
    HostCompiler,
    compiler_version,
    find_host_compiler,
    suited_to,
)
from pytest_miopen_perf.errors import CompileError, DeviceUnavailableError
from pytest_miopen_perf.launch import KernelSource

ZIG = host_compiler.wheel_zig()
needs_zig = pytest.mark.skipif(ZIG is None, reason="the ziglang package is not installed")


def _program(folder, name, text="#!/bin/sh\necho 'fake compiler 1.2'\n"):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def without_zig(monkeypatch):
    monkeypatch.setattr(host_compiler, "wheel_zig", lambda: None)


@needs_zig
def test_the_wheel_is_taken_before_the_compilers_on_the_path(tmp_path):
    _program(tmp_path, "clang++")
    compiler = find_host_compiler({"PATH": str(tmp_path)})
    assert compiler.command[:2] == (ZIG, "clang")
    assert find_host_compiler({}) == compiler


def test_clang_is_taken_before_gcc(without_zig, tmp_path):
    gcc = _program(tmp_path, "g++")
    assert find_host_compiler({"PATH": str(tmp_path)}).command == (str(gcc),)
    clang = _program(tmp_path, "clang++")
    assert find_host_compiler({"PATH": str(tmp_path)}).command == (str(clang),)


def test_no_compiler_names_the_package_and_what_was_looked_for(without_zig, monkeypatch):
    with pytest.raises(DeviceUnavailableError, match=r"pip install 'ziglang>=.*ziglang.*clang\+\+.*g\+\+"):
        find_host_compiler({"PATH": "/nowhere"})
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv(COMPILER_VARIABLE, raising=False)
    assert "pip install" in cpu.probe(DeviceOptions())


@pytest.mark.parametrize("command", ["{0}", "{0} -O1 '-D A'", "  {0}  "])
def test_the_variable_comes_first_and_may_hold_arguments(tmp_path, command):
    program = _program(tmp_path, "my-cxx")
    compiler = find_host_compiler({COMPILER_VARIABLE: command.format(program), "PATH": ""})
    assert compiler.command == ((str(program), "-O1", "-D A") if "-O1" in command else (str(program),))
    assert compiler_version(compiler) == "fake compiler 1.2"


def test_a_name_in_the_variable_is_looked_up_on_the_path(tmp_path):
    program = _program(tmp_path, "my-cxx")
    assert find_host_compiler({COMPILER_VARIABLE: "my-cxx", "PATH": str(tmp_path)}).command == (str(program),)


@pytest.mark.parametrize(
    ("command", "words"), [("no-such-cxx -O1", "no-such-cxx"), ("'open quote", "not a command line")]
)
def test_a_wrong_variable_is_no_silent_fall_back(command, words):
    with pytest.raises(DeviceUnavailableError, match=rf"{COMPILER_VARIABLE}.*{words}"):
        find_host_compiler({COMPILER_VARIABLE: command, "PATH": "/usr/bin"})


def test_an_empty_variable_is_none(tmp_path):
    assert find_host_compiler({COMPILER_VARIABLE: " ", "PATH": os.environ["PATH"]}) == find_host_compiler(
        {"PATH": os.environ["PATH"]}
    )


@needs_zig
def test_zig_in_the_variable_is_driven_as_the_wheel_is():
    assert find_host_compiler({COMPILER_VARIABLE: ZIG}) == find_host_compiler({"PATH": ""})


@needs_zig
def test_the_version_of_zig_names_clang_and_the_package():
    assert compiler_version(find_host_compiler({})).startswith("zig clang ")
    assert "(ziglang " in compiler_version(find_host_compiler({}))


@pytest.mark.parametrize("text", ["#!/bin/sh\n", "#!/bin/sh\necho no\nexit 3\n", "not a program"])
def test_a_compiler_that_does_not_say_its_version_is_unavailable(tmp_path, text):
    program = str(_program(tmp_path, "cxx", text))
    with pytest.raises(DeviceUnavailableError, match="does not say its version"):
        compiler_version(HostCompiler(command=(program,), version_command=(program, "--version")))


@pytest.mark.parametrize(
    ("version", "is_too_old"),
    [
        ("Debian clang version 14.0.6", True),
        ("clang version 15.0.0 (https://example.org/llvm 1234)", False),
        ("clang version 22.1.8", False),
        ("g++ (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0", True),
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", False),
        ("x86_64-linux-gnu-g++-9 (Debian 9.3.0-1) 9.3.0", True),
        ("g++ (GCC) 15.1.1 20250425 (Red Hat 15.1.1-1)", False),
        ("another compiler 1.0.0", False),
    ],
)
def test_a_compiler_without_16_bit_floats_is_too_old(tmp_path, version, is_too_old):
    program = str(_program(tmp_path, "cxx", f"#!/bin/sh\necho '{version}'\n"))
    compiler = HostCompiler(command=(program,), version_command=(program, "--version"))
    if is_too_old:
        with pytest.raises(DeviceUnavailableError, match=r"too old.*clang 15 or g\+\+ 12.*pip install"):
            compiler_version(compiler)
    else:
        assert compiler_version(compiler) == version


def test_only_gcc_is_told_that_thread_local_arrays_need_no_initialiser():
    compiler = HostCompiler(command=("cxx",), version_command=("cxx",))
    assert suited_to(compiler, "c++ (Debian 12.2.0-14) 12.2.0").command == ("cxx", "-fno-extern-tls-init")
    for version in ("Debian clang version 16.0.6", "zig clang 22.1.8 (ziglang 0.17.1)", "another compiler 1.0.0"):
        assert suited_to(compiler, version) == compiler


def _open(tmp_path, **options):
    return cpu.open_device(DeviceOptions(cache_dir=tmp_path / "cache", **options))


def _reverse(device):
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    run(device, source("shared.hip", "reverse"), (32, 1, 1), x, y, i32(100), shared_bytes=400)
    np.testing.assert_array_equal(y, x[::-1])


@needs_zig
def test_zig_needs_nothing_on_the_path(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv(COMPILER_VARIABLE, raising=False)
    device = _open(tmp_path)
    _reverse(device)
    device.close()


@pytest.fixture(params=["g++", "clang++"])
def system_device(request, monkeypatch, tmp_path):
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    monkeypatch.setenv(COMPILER_VARIABLE, request.param)
    try:
        device = _open(tmp_path)
    except DeviceUnavailableError as error:
        pytest.skip(str(error))
    yield device
    device.close()


def test_a_compiler_of_the_system_builds_the_same_text(system_device):
    _reverse(system_device)
    assert system_device.compile(source("shared.hip", "reverse")).compile_seconds == 0
    x = np.random.default_rng(7).integers(0, 100, (3, 64)).astype(np.int32)
    y = np.zeros_like(x)
    run(system_device, source("synchronised.hip", "reverse_then_shift"), (64, 1, 1), x, y, grid=(3, 1, 1))
    np.testing.assert_array_equal(y, x[:, ::-1] + np.roll(x[:, ::-1], -1, axis=1)[:, ::-1])
    votes = np.zeros((8, 64), np.int32)
    run(system_device, source("waves.hip", "shuffles"), (64, 1, 1), np.arange(64, dtype=np.int32), votes)
    np.testing.assert_array_equal(votes[6], np.arange(64) ^ 1)
    with pytest.raises(CompileError, match="private memory"):
        system_device.compile(source("frame.hip", "large_frame"))


@pytest.mark.parametrize("options", [(), ("-march=x86-64",)], ids=["native", "baseline"])
def test_a_compiler_of_the_system_converts_halves(system_device, options):
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    wide, back = np.zeros(65536, np.float32), np.zeros(65536, np.float16)
    for entry, x, y in (("half_to_float", halves, wide), ("float_to_half", wide, back)):
        run(system_device, source("halves.hip", entry, options=options), (64, 1, 1), x, y, i32(65536))
    np.testing.assert_array_equal(wide, halves.astype(np.float32))
    np.testing.assert_array_equal(back, halves)


def test_headers_of_the_system_are_out_of_reach(system_device, tmp_path):
    (tmp_path / "k.hip").write_text('#include <stdlib.h>\nextern "C" __global__ void k() {}\n')
    with pytest.raises(CompileError) as error:
        system_device.compile(source(str(tmp_path / "k.hip"), "k"))
    assert "stdlib.h" in error.value.log


SLOW = """#!/bin/sh
if [ "$1" = --version ]; then echo slow 1; exit; fi
sleep 60 &
echo $! > {pid}
wait
"""


def test_a_compiler_that_takes_too_long_is_stopped_with_all_it_started(monkeypatch, tmp_path):
    pid_file = tmp_path / "pid"
    monkeypatch.setenv(COMPILER_VARIABLE, str(_program(tmp_path, "slow", SLOW.format(pid=pid_file))))
    device = _open(tmp_path, compile_timeout_s=1.0)
    with pytest.raises(CompileError, match=r"reverse of .*shared\.hip was stopped after 1 s"):
        device.compile(source("shared.hip", "reverse"))
    pid = int(pid_file.read_text())
    for _ in range(100):
        if not _is_running(pid):
            break
        time.sleep(0.02)
    assert not _is_running(pid)
    device.close()


def _is_running(pid):
    """Whether the process is there and no zombie that nobody has waited for yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo 'the words of the compiler'; exit 1", "does not compile\nthe words of the compiler"),
        ("exit 0", "reported success and wrote no shared object"),
        ("kill -9 $$", "does not compile"),
        ("echo junk > kernel.so", "does not load"),
    ],
)
def test_a_compiler_that_fails_is_quoted(monkeypatch, tmp_path, text, words):
    script = f'#!/bin/sh\nif [ "$1" = --version ]; then echo odd 1; exit; fi\n{text}\n'
    monkeypatch.setenv(COMPILER_VARIABLE, str(_program(tmp_path, "odd", script)))
    device = _open(tmp_path)
    with pytest.raises(CompileError, match=words):
        device.compile(source("shared.hip", "reverse"))
    device.close()


def test_a_compiler_that_vanishes_is_an_error_of_the_compile(monkeypatch, tmp_path):
    program = _program(tmp_path, "vanishing")
    monkeypatch.setenv(COMPILER_VARIABLE, str(program))
    device = _open(tmp_path)
    program.unlink()
    with pytest.raises(CompileError, match=r"the compiler of reverse of .*shared\.hip does not start"):
        device.compile(source("shared.hip", "reverse"))
    device.close()


def test_variables_that_would_change_a_binary_silently_are_kept_from_the_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", "/somewhere")
    script = (
        '#!/bin/sh\nif [ "$1" = --version ]; then echo odd 1; exit; fi\necho "path=<$CPLUS_INCLUDE_PATH>"; exit 1\n'
    )
    monkeypatch.setenv(COMPILER_VARIABLE, str(_program(tmp_path, "odd", script)))
    device = _open(tmp_path)
    with pytest.raises(CompileError, match="path=<>"):
        device.compile(source("shared.hip", "reverse"))
    device.close()


OWN = 'extern "C" __global__ void own_fwd(float* y) { y[threadIdx.x] = 1; }\n'


def _refusal(device, folder, text, entry):
    path = folder / "own.hip"
    path.write_text(text)
    with pytest.raises(CompileError) as caught:
        device.compile(KernelSource(file=str(path), entry=entry))
    return str(caught.value)


@needs_zig
def test_an_entry_that_the_text_does_not_hold_is_one_sentence(tmp_path):
    with contextlib.closing(_open(tmp_path)) as device:
        said = _refusal(device, tmp_path, OWN, "own_bwd")
    place = tmp_path / "own.hip"
    assert said == f"own_bwd of {place} does not compile: the text holds no kernel 'own_bwd'; it holds: own_fwd"


def test_compilers_of_the_system_say_it_as_well(system_device, tmp_path):
    said = _refusal(system_device, tmp_path, OWN, "own_bwd")
    assert said.endswith("the text holds no kernel 'own_bwd'; it holds: own_fwd")


@needs_zig
def test_a_text_that_is_wrong_itself_keeps_the_compilers_words(tmp_path):
    with contextlib.closing(_open(tmp_path)) as device:
        said = _refusal(device, tmp_path, OWN.replace("= 1", "= nothing"), "own_bwd")
    assert "undeclared identifier 'nothing'" in said
