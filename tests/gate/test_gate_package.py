"""What the gate costs when nobody uses it, and what it says without scipy."""

import importlib.util
import subprocess
import sys

from pytest_miopen_perf import gate


def test_without_scipy_it_says_what_to_install(monkeypatch):
    assert gate.why_unavailable() == ""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install 'scipy>=1.11'" in gate.why_unavailable()


def test_importing_the_gate_loads_no_scipy():
    names = ("baseline_file", "compare", "noise_floor", "paired", "plan", "report", "unpaired")
    imports = "; ".join(f"import pytest_miopen_perf.gate.{name}" for name in names)
    code = f"import sys; {imports}; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
