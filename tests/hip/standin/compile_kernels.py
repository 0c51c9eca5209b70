"""The compiler behind the stand-in's hiprtc: a folder with `name`, `text`, `headers` and `options` becomes `code`.

Every kernel of the text is compiled for this CPU, as the CPU device does it. What is printed is the log.
"""

import os
import re
import shutil
import struct
import sys
from pathlib import Path

from pytest_miopen_perf.devices.compile_cache import CompileCache
from pytest_miopen_perf.devices.host_compiler import compile_unit, find_host_compiler
from pytest_miopen_perf.devices.host_source import host_unit
from pytest_miopen_perf.errors import CompileError
from pytest_miopen_perf.kernel_text import COMMENT
from pytest_miopen_perf.launch import KernelSource

KERNEL = re.compile(r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\s*\([^()]*\)\s*)?(\w+)\s*\(')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)
HEADER, ENTRY = struct.Struct("8s64sQQ"), struct.Struct("128sQQ")
TAKEN = ("-std=c++17", "-O3")


def main(folder):
    name = (folder / "name").read_text()
    options = (folder / "options").read_text().splitlines()
    path = folder / "headers" / Path(name).name
    shutil.copy(folder / "text", path)
    refuse_absent_headers(folder / "headers")
    (arch,) = (option.partition("=")[2] for option in options if option.startswith("--offload-arch="))
    macros = [tuple(option[2:].split("=", 1)) for option in options if option.startswith("-D")]
    others = [each for each in options if not each.startswith(("-D", "--offload-arch=")) and each not in TAKEN]
    entries = KERNEL.findall(COMMENT.sub(" ", path.read_text()))
    sources = [KernelSource(file=str(path), entry=entry, defines=tuple(macros), options=tuple(others)) for entry in entries]
    (folder / "code").write_bytes(bundle(arch, {source.entry: binary_of(source) for source in sources}))


def refuse_absent_headers(folder):
    """The CPU device would find our headers where they lie; hiprtc has only those that it is given."""
    for path in folder.iterdir():
        for header in INCLUDE.findall(path.read_text()):
            if not (folder / header).is_file():
                raise CompileError(f"{path.name}: fatal error: '{header}' file not found")


def binary_of(source):
    compiler = find_host_compiler()
    unit = host_unit(source)
    cache = CompileCache(Path(os.environ["STANDIN_HIP_CACHE"]))
    binary = cache.get(unit.digest)
    if binary is None:
        binary = compile_unit(compiler, unit, source.entry, timeout_s=300)
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
