"""L4: AMD's own hiprtc, as Debian packages it, with no GPU: it takes our texts, headers and options as they are.

Optional: `apt-get install libamdhip64-5 libhiprtc-builtins5 rocm-device-libs`. hip-python opens unversioned names,
which that package lacks, so that the test gives it a folder of links.
"""

from __future__ import annotations

import math
import os
import subprocess
from pathlib import Path

import pytest
from shipped_launches import TARGETS, launches

from pytest_miopen_perf.codeobject.arguments import argument_faults, block_faults
from pytest_miopen_perf.codeobject.metadata import kernel_resources

LIBRARY = Path("/usr/lib/x86_64-linux-gnu/libamdhip64.so.5")


@pytest.fixture(scope="module", params=TARGETS)
def target(request):
    return request.param


@pytest.fixture(scope="module")
def child(hip_python, target, tmp_path_factory):
    """What the child printed, and where it left its code objects."""
    if not LIBRARY.exists():
        pytest.skip(f"there is no {LIBRARY}")
    folder = tmp_path_factory.mktemp("hiprtc")
    for name in ("libamdhip64.so", "libhiprtc.so"):
        (folder / name).symlink_to(LIBRARY)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder), "ROCM_PATH": str(folder), "ROCM_HOME": str(folder)}
    command = [hip_python, str(Path(__file__).parent / "real_hiprtc.py"), str(folder), target]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, folder


@pytest.mark.parametrize("layer", ["L4: no GPU, in the runtime's words"])
def test_no_device(child, layer):
    words, _ = child
    assert words.startswith("no AMD GPU can be used: ")
    assert "hipErrorNoDevice" in words


@pytest.mark.parametrize("layer", ["L4: every kernel compiles and reads what launches pass"])
def test_kernels(child, target, layer):
    _, folder = child
    planned = launches(target)
    assert planned
    for number, launch in enumerate(planned):
        resources = kernel_resources((folder / str(number)).read_bytes(), launch.kernel.entry)
        assert resources.target.partition(":")[0] == target
        faults = *argument_faults(launch.args, resources), *block_faults(math.prod(launch.block), resources)
        assert faults == (), launch.kernel
