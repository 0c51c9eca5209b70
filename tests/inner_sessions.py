"""What an inner session of pytester would import, imported before it starts.

pytester forgets the modules that an inner session imported, and numpy refuses to be imported twice.
"""

import importlib
import pkgutil

import pytest_miopen_perf

_LIBRARIES = (
    *("hypothesis", "numpy", "numpy.fft", "scipy.stats", "scipy.special", "jsonschema", "rich.table", "rich.progress"),
    *("filelock", "platformdirs", "msgpack"),
    *("elftools.elf.elffile", "elftools.elf.sections", "elftools.common.exceptions", "elftools.construct"),
)


def import_all():
    """Import the libraries and every module of the package; what runs as a program is none."""
    for name in _LIBRARIES:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(pytest_miopen_perf.__path__, "pytest_miopen_perf."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
