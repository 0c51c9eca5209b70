"""How MIOpen reads texts, held to the C library that it reads them with."""

import ctypes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_miopen_perf.doctor import readings
from pytest_miopen_perf.doctor.readings import (
    read_enforce,
    read_find_mode,
    read_mask,
    read_one_of,
    read_stoul,
    read_switch,
    read_text,
    read_unsigned,
)

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.strtoull.restype = ctypes.c_ulonglong
_LIBC.strtoull.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_int]

texts = st.text(alphabet="0123456789abcxXfF+- \t.eon", max_size=12) | st.integers(-(2**65), 2**65).map(str)


def c_number(text, base):
    """Value, whether a number was there, and whether it fits, as C has it."""
    ctypes.set_errno(0)
    data = ctypes.c_char_p(text.encode())
    end = ctypes.c_char_p()
    value = _LIBC.strtoull(data, ctypes.byref(end), base)
    is_number = end.value != data.value
    return value, is_number, ctypes.get_errno() == 0


@given(texts)
@example("9" * 5000)
def test_an_unsigned_number_is_what_strtoull_makes_of_it(text):
    assert read_unsigned(text).value == c_number(text, 0)[0]


@given(texts)
def test_a_number_that_is_not_what_the_text_says_is_doubted(text):
    reading = read_unsigned(text)
    if not reading.doubt:
        # What Python takes for a number of any notation but octal is what MIOpen takes it for.
        assert int(text.strip(), 0) == reading.value


@given(texts)
@example("9" * 5000)
def test_the_number_of_a_find_control_is_what_stoul_makes_of_it(text):
    value, is_number, fits = c_number(text, 10)
    assert read_stoul(text) == (value if is_number and fits else None)


@pytest.mark.parametrize(
    ("text", "value", "doubt"),
    [
        ("4", 4, ""),
        ("0x4", 4, ""),
        (" 2", 2, ""),
        ("on", 0, "begins with no number"),
        ("", 0, "empty"),
        ("010", 8, "octal"),
        ("4.9", 4, "ignored"),
        ("1e3", 1, "ignored"),
        ("-1", 2**64 - 1, "wraps around"),
        ("99999999999999999999", 2**64 - 1, "beyond 64 bits"),
        ("18446744073709551615", 2**64 - 1, ""),
        ("0xffffffffffffffffff", 2**64 - 1, "beyond 64 bits"),
    ],
)
def test_a_misread_number_says_why(text, value, doubt):
    reading = read_unsigned(text)
    assert (reading.value, doubt in reading.doubt, bool(reading.doubt)) == (value, True, bool(doubt))


@pytest.mark.parametrize("word", ["1", "on", "YES", "True", "enable", "Enabled"])
def test_words_for_on(word):
    assert read_switch(word).value is True


@pytest.mark.parametrize("word", ["0", "off", "NO", "False", "disable", "Disabled"])
def test_words_for_off(word):
    assert read_switch(word).value is False


@pytest.mark.parametrize("word", ["", " 1", "2", "y", "on ", "truee"])
def test_every_other_word_of_a_switch_throws(word):
    reading = read_switch(word)
    assert reading.is_rejected
    assert "throws" in reading.doubt


@pytest.mark.parametrize(
    ("text", "mode"),
    [("", 5), ("normal", 1), ("Fast", 2), ("HYBRID", 3), ("dynamic_hybrid", 5), ("trust_verify_full", 7), ("3", 3)],
)
def test_find_modes_by_name_and_number(text, mode):
    reading = read_find_mode(text)
    assert (reading.value, reading.doubt) == (mode, "")


@pytest.mark.parametrize("text", ["nonsense", "NORMAL ", " FAST", "reserved", "mode 2", "99999999999999999999"])
def test_a_find_mode_that_is_no_name_and_no_number_throws(text):
    reading = read_find_mode(text)
    assert reading.is_rejected
    assert "stoul" in reading.doubt


@pytest.mark.parametrize("text", ["0", "9", "-1", "010", "0x2"])
def test_a_find_mode_out_of_range_is_the_default(text):
    """The number is decimal here, whatever it begins with: 010 is ten, 0x2 is zero."""
    reading = read_find_mode(text)
    assert reading.value == 5
    assert "takes the default" in reading.doubt


def test_what_follows_the_number_of_a_find_control_is_ignored_and_doubted():
    reading = read_enforce("3 # search")
    assert reading.value == 3
    assert "beginning" in reading.doubt


@pytest.mark.parametrize(("number", "name"), readings.ENFORCE_ACTIONS.items())
def test_enforce_actions_have_names(number, name):
    assert read_enforce(name.lower()).value == read_enforce(str(number)).value == number


def test_a_number_that_stands_for_something_says_so():
    read = read_one_of({1: "one thing"}, other="another thing")
    assert read("1").effective == "1: one thing"
    assert read("0x7").effective == "7: another thing"
    assert read("seven").doubt


def test_a_mask_names_its_bits():
    read = read_mask({1: "first", 4: "third"})
    assert read("0x5").effective == "0x5: first, third"
    assert read("8").effective == "0x8: nothing"


@given(st.text(max_size=5))
def test_a_text_is_taken_as_it_stands(text):
    assert read_text(text).value == text
