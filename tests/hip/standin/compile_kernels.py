"""The compiler behind the stand-in's hiprtc: a folder with `name`, `text`, `headers` and `options` becomes `code`.

Every kernel that the preprocessor leaves in the text is compiled for this CPU, as the CPU device does it, but in less
time: nobody looks at how fast a kernel of the stand-in is. What is printed is the log.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from pytest_miopen_perf.devices.compile_cache import CompileCache
from pytest_miopen_perf.devices.compiler_process import run_compiler
from pytest_miopen_perf.devices.host_compiler import compile_unit, find_host_compiler
from pytest_miopen_perf.devices.host_source import host_unit
from pytest_miopen_perf.errors import CompileError
from pytest_miopen_perf.launch import KernelSource

KERNEL = re.compile(r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\s*\([^()]*\)\s*)?(\w+)\s*\(')
HEADER, ENTRY = struct.Struct("8s64sQQ"), struct.Struct("128sQQ")
REPLACED = {"-std=c++17", "-O3"}
TIMEOUT_S = 300


def main(folder):
    path = folder / "headers" / Path((folder / "name").read_text()).name
    shutil.copy(folder / "text", path)
    options = (folder / "options").read_text().splitlines()
    (arch,) = (option.partition("=")[2] for option in options if option.startswith("--offload-arch="))
    macros = [option[2:].partition("=") for option in options if option.startswith("-D")]
    others = [o for o in options if not o.startswith(("-D", "--offload-arch=")) and o not in REPLACED]
    defines = tuple((name, value) for name, _, value in macros)
    binaries = {}
    for entry in entries_of(path, defines):
        source = KernelSource(file=str(path), entry=entry, defines=defines, options=("-O1", *others))
        binaries[entry] = binary_of(source)
    (folder / "code").write_bytes(bundle(arch, binaries))


def entries_of(path, defines):
    """The preprocessor decides; it sees the headers that hiprtc was given and, unlike the CPU device, no others."""
    macros = (f"-D{name}={value}" for name, value in defines)
    command = (*find_host_compiler().command, "-x", "c++", "-E", "-P", "-nostdinc", *macros, str(path))
    try:
        return KERNEL.findall(run_compiler(command, path.parent, TIMEOUT_S))
    except subprocess.CalledProcessError as error:
        raise CompileError(f"{path.name} cannot be preprocessed", error.output) from error


def binary_of(source):
    unit = host_unit(source)
    cache = CompileCache(Path(os.environ["STANDIN_HIP_CACHE"]))
    binary = cache.get(unit.digest)
    if binary is None:
        binary = compile_unit(find_host_compiler(), unit, source.entry, TIMEOUT_S)
        cache.put(unit.digest, binary)
    return binary


def bundle(arch, binaries):
    """What hipModuleLoadData of the stand-in reads: header, table, shared objects."""
    offset = HEADER.size + ENTRY.size * len(binaries)
    table = b""
    for entry, binary in binaries.items():
        table += ENTRY.pack(entry.encode(), offset, len(binary))
        offset += len(binary)
    return HEADER.pack(b"HIPSTAND", arch.encode(), offset, len(binaries)) + table + b"".join(binaries.values())


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except CompileError as error:
        sys.exit(error.log or str(error))
