import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.errors import DriverLineError
from pytest_miopen_perf.problems.driver_flags import FLAGS, integer, read_flags


def test_no_two_flags_share_a_name():
    assert len({flag.long for flag in FLAGS}) == len(FLAGS)
    assert len({flag.short for flag in FLAGS}) == len(FLAGS)
    assert all(len(flag.short) == 1 for flag in FLAGS)


def test_every_flag_has_a_meaning():
    assert [flag.long for flag in FLAGS if not flag.meaning] == []


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.long)
def test_both_spellings_name_the_same_flag(flag):
    assert read_flags([f"-{flag.short}", "7"]) == ({flag.long: "7"}, [])
    assert read_flags([f"--{flag.long}", "7"]) == ({flag.long: "7"}, [])


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("12abc", 12),
        ("1.", 1),
        ("abc", 0),
        ("", 0),
        ("-3", -3),
        ("+4", 4),
        ("1_000", 1),
        ("٣", 0),
        ("²", 0),
    ],
)
def test_integers_are_read_as_atoi_reads_them(text, number):
    assert integer("batchsize", text) == number


@given(st.text())
def test_integers_follow_the_definition_of_atoi(text):
    prefix = re.match(r"[ \t\n\v\f\r]*[+-]?[0-9]+", text)
    if prefix and abs(int(prefix[0])) > 2**31 - 1:
        return
    assert integer("batchsize", text) == (int(prefix[0]) if prefix else 0)


@pytest.mark.parametrize("text", ["2147483648", "-99999999999", "9" * 5000])
def test_integers_beyond_a_c_int_are_refused(text):
    with pytest.raises(DriverLineError, match=r"-n \(--batchsize\) is .*beyond a C int"):
        integer("batchsize", text)


def test_a_flag_takes_the_next_word_whatever_it_is():
    assert read_flags(["-n", "-c", "-c", "3"]) == ({"batchsize": "-c", "in_channels": "3"}, [])


def test_the_last_of_repeated_flags_wins():
    assert read_flags(["-n", "1", "--batchsize", "2", "-n", "3"]) == ({"batchsize": "3"}, [])


def test_only_the_second_character_of_a_short_flag_counts():
    assert read_flags(["-Fxyz", "1", "-pad_h", "2"]) == ({"forw": "1", "pad_h": "2"}, [])


def test_only_long_layout_flags_are_upper_cased():
    values, _ = read_flags(["--in_layout", "nhwc", "-f", "nhwc", "--out_layout", "Nhwc", "--mode", "conv"])
    assert values == {"in_layout": "NHWC", "fil_layout": "nhwc", "out_layout": "NHWC", "mode": "conv"}


@pytest.mark.parametrize(
    ("words", "shell_words"),
    [
        ("-n 1 ${OPTIONS}", ["${OPTIONS}"]),
        ("-n 1 ${TRACE} ${LAYOUT} -c 2", ["${TRACE}", "${LAYOUT}"]),
        ("-n 1 2>&1 | tee log", ["2>&1", "|", "tee", "log"]),
        ("-n 1 > log.txt", [">", "log.txt"]),
        ("-n 1 && echo done", ["&&", "echo", "done"]),
        ("-n 1 # the stem", ["#", "the", "stem"]),
    ],
)
def test_words_of_a_shell_are_set_aside(words, shell_words):
    values, others = read_flags(words.split())
    assert values["batchsize"] == "1"
    assert others == shell_words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-B 1", r"Input Flag: B Not Found ! MIOpenDriver has no flag -B"),
        ("--batch 1", r"Long Name: batch Not Found ! MIOpenDriver has no flag --batch"),
        ("--in_h=3", r"Long Name: in_h=3 Not Found ! .*a blank belongs between flag and value"),
        ("-- 1", r"Long Name:  Not Found !"),
        ("- 1", r"Long Name:  Not Found !"),
        ("-n 1 2", r"Illegal input flag: '2'"),
        ("-n", r"the flag -n at the end has no value"),
        ("-c 1 --batchsize", r"the flag --batchsize at the end has no value"),
        ("-n ${N}", r"the value of -n is \$\{N\}, a shell variable"),
        ("-in_layout NHWC", r"reads -in_layout as -i \(--iter\), .*write --in_layout"),
        ("-pad_w 1", r"reads -pad_w as -p \(--pad_h\), .*write --pad_w"),
        ("-batchsize 1", r"reads -batchsize as -b \(--bias\), .*write --batchsize"),
        ("--help", r"help"),
        ("-h", r"help"),
        ("-? 1", r"help"),
    ],
)
def test_what_the_driver_rejects_is_named(words, message):
    with pytest.raises(DriverLineError, match=message):
        read_flags(words.split())
