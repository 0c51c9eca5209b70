"""Why there is no AMD GPU, in words, where there is no library to ask; needs none."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from pytest_miopen_perf.devices import BACKENDS, DeviceOptions, hip
from pytest_miopen_perf.devices.hip_bindings import HipBindings, text_of
from pytest_miopen_perf.errors import DeviceError, DeviceUnavailableError


def test_hip_is_asked_first():
    assert next(iter(BACKENDS)) == "hip"


def test_without_hip_python_the_reason_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hip", None)
    reason = hip.probe(DeviceOptions())
    assert reason.startswith("hip-python is not installed")
    assert "pip install 'hip-python>=7.2'" in reason
    with pytest.raises(DeviceUnavailableError, match="hip-python is not installed"):
        hip.open_device(DeviceOptions())


def test_another_package_called_hip_is_not_taken_for_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "hip", SimpleNamespace())
    assert hip.probe(DeviceOptions()).startswith("hip-python is not installed")


def test_what_hides_devices_is_named(tmp_path):
    node = tmp_path / "kfd"
    node.touch()
    variables = {"HIP_VISIBLE_DEVICES": "", "ROCR_VISIBLE_DEVICES": "3", "PATH": "/bin"}
    assert hip._circumstances(variables, node) == [
        "ROCR_VISIBLE_DEVICES='3' is set",
        "HIP_VISIBLE_DEVICES='' is set",
    ]


def test_a_driver_that_is_not_there_is_named(tmp_path):
    (sentence,) = hip._circumstances({}, tmp_path / "kfd")
    assert sentence.startswith(f"there is no {tmp_path / 'kfd'}")


def test_a_driver_that_may_not_be_opened_is_named(tmp_path, monkeypatch):
    node = tmp_path / "kfd"
    node.touch()
    monkeypatch.setattr(hip.os, "access", lambda path, mode: False)  # the tests may run as root, who may open all
    (sentence,) = hip._circumstances({}, node)
    assert "may not open" in sentence
    assert "render" in sentence


@pytest.mark.parametrize(("number", "text"), [(70226015, "7.2.26015"), (50221153, "5.2.21153"), (71500000, "7.15.0")])
def test_versions_are_read_as_hip_counts_them(number, text):
    assert hip._version_text(number) == text


@pytest.mark.parametrize(
    ("number", "identity"),
    [
        (b"9a1b2c3d4e5f6071", "9a1b2c3d4e5f6071"),
        (bytes(range(1, 17)), "0102030405060708090a0b0c0d0e0f10"),
        (bytes(16), "0001:c3:00"),
    ],
)
def test_a_device_is_known_by_its_serial_number_or_its_place(number, identity):
    properties = SimpleNamespace(uuid=SimpleNamespace(bytes=number), pciDomainID=1, pciBusID=0xC3, pciDeviceID=0)
    assert hip._identity(properties) == identity


@pytest.mark.parametrize("value", ["gfx90a", b"gfx90a"])
def test_texts_of_both_generations_are_text(value):
    assert text_of(value) == "gfx90a"


def test_no_text_is_an_empty_text():
    assert text_of(None) == ""


def test_what_the_bindings_raise_becomes_an_error_of_the_device():
    def fail():
        raise RuntimeError("failed to dlopen 'libamdhip64.so'")

    bindings = HipBindings(SimpleNamespace(hipInit=fail), None)
    with pytest.raises(DeviceError, match="failed to dlopen"):
        bindings.ask("hipInit")
