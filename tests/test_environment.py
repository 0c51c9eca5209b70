"""What a record says of the world: variables that matter, versions, and no name of a machine or a person."""

import getpass
import platform

from pytest_miopen_perf.environment import performance_variables, versions


def test_only_variables_that_change_a_kernels_time_are_kept_sorted():
    variables = {"PATH": "x", "ROCR_VISIBLE_DEVICES": "1", "MIOPEN_FIND_MODE": "1", "HOME": "/root", "CUDA_HOME": "c"}
    assert list(performance_variables(variables)) == ["CUDA_HOME", "MIOPEN_FIND_MODE", "ROCR_VISIBLE_DEVICES"]


def test_versions_name_what_carries_weight_and_no_host():
    found = versions()
    assert {"pytest-miopen-perf", "python", "system", "numpy", "pytest", "jsonschema"} <= set(found)
    assert platform.node() not in " ".join(found.values()).split()
    assert getpass.getuser() not in " ".join(found.values()).split()
