"""Compile one launch's kernel with the hiprtc that is found, for every target given; run in a child process only.

An architecture that hiprtc does not know can end the process: Debian's 5.2.3 is known to.
"""

import sys
from pathlib import Path

from real_hiprtc_launch import planned_launch

from pytest_miopen_perf.devices import DeviceOptions, hip
from pytest_miopen_perf.devices.hip_bindings import load_bindings


def main(folder, *targets):
    bindings = load_bindings()
    print(f"hiprtc {bindings.compiler_version()}; {hip.probe(DeviceOptions())}")
    for target in targets:
        for direction in "FBW":
            code = hip.build_code_object(bindings, planned_launch(direction).kernel, target)
            (Path(folder) / f"{target}-{direction}").write_bytes(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
