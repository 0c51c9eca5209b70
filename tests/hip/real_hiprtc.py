"""Compile the kernels that ship with the hiprtc that is found; run in a child process only.

An architecture that hiprtc does not know can end the process: Debian's 5.2.3 is known to.
"""

import sys
from pathlib import Path

from shipped_launches import launches

from pytest_miopen_perf.devices import DeviceOptions, hip
from pytest_miopen_perf.devices.hip_bindings import load_bindings


def main(folder, target):
    print(hip.probe(DeviceOptions()))
    bindings = load_bindings()
    for number, launch in enumerate(launches(target)):
        code = hip.build_code_object(bindings, launch.kernel, target)
        (Path(folder) / str(number)).write_bytes(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
