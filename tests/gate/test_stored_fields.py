"""Fields that are what they should be, and no others."""

from dataclasses import asdict

import pytest

from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint
from pytest_miopen_perf.gate.stored_fields import fingerprint_of, key_of, number, numbers, pairs_of, text_of


def test_keys_and_devices_come_back(make_result):
    result = make_result()
    key, device = CaseKey.of(result), Fingerprint.of(result.device)
    assert key_of(asdict(key)) == key
    assert fingerprint_of(asdict(device)) == device


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"compute_units": "8"}, "compute_units is '8', which is no count"),
        ({"compute_units": True}, "compute_units is True, which is no count"),
        ({"name": 5}, "name is 5, which is no text"),
        ({"colour": "red"}, "a device has no field 'colour'"),
    ],
)
def test_a_device_of_other_types_is_none(make_result, change, words):
    with pytest.raises(TypeError, match=words):
        fingerprint_of(asdict(Fingerprint.of(make_result().device)) | change)


def test_numbers_are_no_flags_and_no_words():
    assert numbers([1, 2.5], "seconds") == (1.0, 2.5)
    for wrong in (True, "1", None, [1]):
        with pytest.raises(TypeError, match="which is no number"):
            number(wrong, "seconds")
    with pytest.raises(TypeError, match="which is no list"):
        numbers("12", "seconds")
    with pytest.raises(OverflowError):
        number(10**400, "seconds")


def test_messages_stay_short():
    with pytest.raises(TypeError) as caught:
        text_of({"policy": list(range(10_000))}, "policy")
    assert len(str(caught.value)) < 100
    with pytest.raises(TypeError, match="which is no object"):
        pairs_of({"phases": []}, "phases")
    with pytest.raises(KeyError):
        text_of({}, "policy")
