"""The first back-end that has a device is opened; the reasons of the others are told."""

import pytest

from pytest_miopen_perf import devices
from pytest_miopen_perf.devices import DeviceOptions
from pytest_miopen_perf.devices.opening import open_first
from pytest_miopen_perf.errors import DeviceUnavailableError


class _Module:
    """A back-end that has a device, or a reason why not."""

    def __init__(self, reason=""):
        self.reason = reason

    def probe(self, options):
        return self.reason

    def open_device(self, options):
        return self


@pytest.fixture
def backends(monkeypatch):
    def install(**modules):
        monkeypatch.setattr("pytest_miopen_perf.devices.opening.BACKENDS", dict.fromkeys(modules, ""))
        monkeypatch.setattr("pytest_miopen_perf.devices.opening.load_backend", modules.__getitem__)
        return modules

    return install


def test_auto_takes_the_first_that_has_a_device(backends):
    modules = backends(first=_Module("none"), second=_Module(), third=_Module())
    assert open_first("auto", DeviceOptions()) is modules["second"]


def test_auto_never_takes_the_scripted_device(backends):
    backends(first=_Module("no such thing"), scripted=_Module())
    with pytest.raises(DeviceUnavailableError, match="first: no such thing"):
        open_first("auto", DeviceOptions())


def test_a_named_back_end_is_the_only_one_asked(backends):
    modules = backends(first=_Module(), second=_Module("gone"))
    assert open_first("first", DeviceOptions()) is modules["first"]
    with pytest.raises(DeviceUnavailableError, match="second: gone"):
        open_first("second", DeviceOptions())


def test_the_scripted_device_is_opened_by_its_name():
    device = open_first("scripted", DeviceOptions())
    assert device.info.backend == "scripted"
    device.close()


def test_an_unknown_name_is_refused():
    with pytest.raises(DeviceUnavailableError, match=", ".join(devices.BACKENDS)):
        open_first("nonsense", DeviceOptions())
