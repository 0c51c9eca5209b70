"""The level variable, held against C's own `strtoull`."""

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.perflog import parse_level


@pytest.mark.parametrize(
    ("text", "level"),
    [
        *[(None, 0), ("", 0), ("0", 0), ("on", 0), ("true", 0), ("1", 1), ("01", 1), ("1e3", 1), ("2", 2), ("2 ", 2)],
        *[(" 2", 2), ("+2", 2), ("0x2", 2), ("2abc", 2), ("3", 3), ("4", 4), ("0x4", 4), ("04", 4), ("4.9", 4)],
        *[("5", 5), ("7", 7), ("010", 8), ("258", 258), ("-1", 2**64 - 1), ("99999999999999999999", 2**64 - 1)],
        *[("0x", 0), ("0xg", 0), ("08", 0), ("-", 0), ("+-2", 0), ("\v\f\r\n\t2", 2), ("\u00a02", 0), ("\u0662", 0)],
        *[("-99999999999999999999", 2**64 - 1), ("-18446744073709551615", 1), ("-0", 0), ("0X1f", 31), ("1_0", 1)],
    ],
)
def test_the_text_of_the_variable(text, level):
    assert parse_level(text) == level


LIBC = ctypes.CDLL(None)
LIBC.strtoull.restype = ctypes.c_ulonglong
LIBC.strtoull.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int]

number_texts = st.one_of(
    st.text(" \t\n\v\f\r+-0123456789abcdefABCDEFxX._e", max_size=24),
    st.from_regex(r"[ \t]{0,2}[+-]?(0[xX])?[0-9a-f]{1,24}[ x.]?", fullmatch=True),
    st.integers(-(2**66), 2**66).map(str),
    st.integers(2**64 - 3, 2**64 + 3).flatmap(lambda n: st.sampled_from([str(n), f"-{n}", hex(n), f"0{n:o}"])),
)


@given(number_texts)
def test_the_level_is_strtoulls(text):
    assert parse_level(text) == LIBC.strtoull(text.encode(), None, 0)
