"""The fast check of lines agrees with the plain one of the schema."""

import copy
import json
import math
import re

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from records.miopen_lines import (
    BROKEN,
    LINES,
    SEARCH,
    broken,
)

from pytest_miopen_perf import schema
from pytest_miopen_perf.errors import InvalidRecordError
from pytest_miopen_perf.records import (
    from_json,
    validate,
)
from pytest_miopen_perf.schema.acceptor import compile_acceptor

# --- The fast check of list items agrees with the plain one -----------------------------------------------------------


def plain_validator(kind):
    """The unchanged Draft 2020-12, but for numbers being finite."""
    cls = jsonschema.Draft202012Validator
    types = cls.TYPE_CHECKER.redefine(
        "number", lambda _, v: cls.TYPE_CHECKER.is_type(v, "number") and v not in (math.inf, -math.inf) and v == v
    )
    plain = jsonschema.validators.extend(cls, type_checker=types)
    return plain({"$defs": schema.load_schema()["$defs"], "$ref": f"#/$defs/{kind}"})


PLAIN = {kind: plain_validator(kind) for kind in schema.LINE_KINDS.values()}


def is_valid(data):
    try:
        validate(data)
    except InvalidRecordError:
        return False
    return True


odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0, 1, 2**64 - 1, 2**64, 10**400, 0.0, 1.0, -0.0, "", "x", "execution", [], {}]),
    st.floats(allow_nan=True),
    st.lists(st.one_of(st.floats(allow_nan=True), st.integers(-1, 3), st.booleans(), st.just("1")), max_size=3),
)


def places(data):
    """Every (container, key) below a decoded line."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield data, key
        yield from places(value)


def test_every_keyword_below_items_has_a_fast_check():
    definitions = schema.load_schema()["$defs"]
    assert compile_acceptor(definitions["config"], definitions)({}) is False


@pytest.mark.parametrize("kind", ["config", "performance_2d", "verification"])
def test_keys_in_any_order_have_a_fast_check(kind):
    definitions = schema.load_schema()["$defs"]
    lines = [json.loads(line) for line in LINES.values()]
    parts = {
        "config": next(line["performance_configs"][0] for line in lines if "solution" in line),
        "performance_2d": next(
            line["performance"] for line in lines if line.get("performance", {}).get("dimensions") == 2
        ),
        "verification": next(line for line in lines if "verification" in line),
    }
    accepts = compile_acceptor(definitions[kind], definitions)
    assert accepts(parts[kind])
    assert accepts(dict(reversed(parts[kind].items())))
    assert not accepts({**parts[kind], "new": 1})
    assert not accepts(dict(list(parts[kind].items())[1:]))


@st.composite
def disturbed(draw):
    data = json.loads(LINES[draw(st.sampled_from(["solution with kernels", SEARCH]))])
    for _ in range(draw(st.integers(0, 2))):
        container, key = draw(st.sampled_from(list(places(data))))
        if draw(st.booleans()):
            container[key] = draw(odd_values)
        elif isinstance(container, dict):
            container.pop(key)
        else:
            container.append(draw(odd_values))
    return data


@given(disturbed())
def test_fast_and_plain_validation_agree(data):
    if "solution" in data:
        assert is_valid(data) == PLAIN["solution_record"].is_valid(data)


@pytest.mark.parametrize("broken_line", BROKEN, ids=lambda b: f"{b[0]} {b[1]} {b[2]!r:.12}")
def test_fast_and_plain_validation_agree_on_broken_lines(broken_line):
    data = broken(*broken_line[:3])
    kind = next(kind for key, kind in schema.LINE_KINDS.items() if key in data)
    assert not PLAIN[kind].is_valid(data)


SMALL = {
    "boolean": {"type": "boolean"},
    "either": {"type": ["array", "null"], "items": {"type": "integer", "minimum": 0, "maximum": 2}, "maxItems": 2},
    "object": {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": False},
    "choice": {"if": {"$ref": "#/$defs/object"}, "then": True, "else": {"type": "string", "minLength": 1}},
    "strict choice": {"if": {"type": "integer"}, "then": {"enum": [1, "x"]}, "else": {"type": "number", "minimum": 0}},
    "never": {"if": True, "then": False, "else": True},
}


@given(st.sampled_from(sorted(SMALL)), st.one_of(odd_values, st.dictionaries(st.sampled_from("ab"), odd_values)))
def test_an_acceptor_accepts_nothing_that_the_schema_refuses(name, data):
    accepts = compile_acceptor(SMALL[name], SMALL)
    if accepts(data):
        jsonschema.validate(data, {"$defs": SMALL, "$ref": f"#/$defs/{name}"})


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "string", "maxLength": 3},
        {"type": "number", "multipleOf": 2},
        {"type": "object", "properties": {}},
        {"type": "array", "items": {"pattern": "x"}},
        {"type": "object", "properties": {"a": {"pattern": "x"}}, "additionalProperties": False},
        {"type": ["string", "thing"]},
        {"enum": [1.5]},
        {"const": None},
        {"if": {"pattern": "x"}, "then": True, "else": True},
        {"minimum": 1},
        {},
    ],
    ids=json.dumps,
)
def test_what_an_acceptor_does_not_know_it_leaves_alone(rule):
    assert compile_acceptor(rule, {}) is None


@given(disturbed())
def test_whatever_validates_is_read_and_printed_and_validates_again(data):
    if is_valid(data):
        line = from_json(copy.deepcopy(data)).to_line()
        validate(json.loads(line))
        # JSON's -0 is an integer to Python, and has no sign; below the normal float32 six digits are too many.
        if not re.search(r"-0[,\]}]|e-(3[89]|4\d)", line):
            assert from_json(json.loads(line)).to_line() == line
