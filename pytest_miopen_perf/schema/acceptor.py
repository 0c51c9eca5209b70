"""A schema of plain shape as a predicate: for thousands of small values, where a full validator is too slow.

An acceptor answers True only for what the schema accepts. False means no more than "ask the validator": the acceptor
looks at exact Python types, as `json.loads` makes them, and knows few keywords.
"""

from __future__ import annotations

import functools
import math
import re
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Accepts: TypeAlias = Callable[[Any], bool]
    Schema: TypeAlias = Mapping[str, Any]
    Definitions: TypeAlias = Mapping[str, Schema]

_ANNOTATIONS = frozenset({"title", "description", "$comment", "default", "examples"})
_REFERENCE = "#/$defs/"
_NUMBERS = frozenset({int, float})


def is_finite_number(value: object) -> bool:
    """Whether a value is what JSON calls a number: not a bool, not a nan, not an infinity."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def compile_acceptor(schema: Schema | bool, definitions: Definitions) -> Accepts | None:
    """The acceptor of a schema, or None where the schema uses a keyword that is not known here.

    Args:
        schema: A JSON Schema that does not refer to itself.
        definitions: What its `#/$defs/` references mean.
    """
    schema = _dereferenced(schema, definitions)
    if isinstance(schema, bool):
        return lambda _: schema
    rules = {keyword: value for keyword, value in schema.items() if keyword not in _ANNOTATIONS}
    if rules.keys() == {"if", "then", "else"}:
        return _conditional(rules, definitions)
    if rules.keys() in ({"enum"}, {"const"}):
        return _one_of(rules["enum"] if "enum" in rules else [rules["const"]])
    if "type" in rules:
        return _typed(rules, definitions)
    return None


def _dereferenced(schema: Schema | bool, definitions: Definitions) -> Schema | bool:
    """What a schema that is nothing but a reference refers to; any other as it is."""
    while not isinstance(schema, bool):
        rules = schema.keys() - _ANNOTATIONS
        if rules != {"$ref"} or not schema["$ref"].startswith(_REFERENCE):
            break
        schema = definitions[schema["$ref"].removeprefix(_REFERENCE)]
    return schema


def _conditional(rules: Schema, definitions: Definitions) -> Accepts | None:
    condition, met, unmet = (compile_acceptor(rules[keyword], definitions) for keyword in ("if", "then", "else"))
    if condition is None or met is None or unmet is None:
        return None
    # A condition that says False may only be unsure: then both branches must agree.
    return lambda value: met(value) and (unmet(value) or condition(value))


def _one_of(values: list[Any]) -> Accepts | None:
    if not {type(value) for value in values} <= {int, str}:
        return None
    known = frozenset(values)
    return lambda value: type(value) in (int, str) and value in known


def _typed(rules: Schema, definitions: Definitions) -> Accepts | None:
    names = [rules["type"]] if isinstance(rules["type"], str) else rules["type"]
    if not all(name in _TYPES for name in names):
        return None
    known = {"type"}.union(*(_TYPES[name][0] for name in names))
    acceptors = [_TYPES[name][1](rules, definitions) for name in names]
    sure = [accepts for accepts in acceptors if accepts is not None]
    if not rules.keys() <= known or len(sure) < len(acceptors):
        return None
    return functools.reduce(_either, sure)


def _either(first: Accepts, second: Accepts) -> Accepts:
    return lambda value: first(value) or second(value)


def _null(_rules: Schema, _definitions: Definitions) -> Accepts:
    return lambda value: value is None


def _boolean(_rules: Schema, _definitions: Definitions) -> Accepts:
    return lambda value: value is True or value is False


def _string(rules: Schema, _definitions: Definitions) -> Accepts:
    least = rules.get("minLength", 0)
    if "pattern" in rules:
        found = re.compile(rules["pattern"]).search
        return lambda value: type(value) is str and len(value) >= least and found(value) is not None
    return lambda value: type(value) is str and len(value) >= least


def _integer(rules: Schema, _definitions: Definitions) -> Accepts:
    least, greatest = rules.get("minimum", -math.inf), rules.get("maximum", math.inf)
    return lambda value: type(value) is int and least <= value <= greatest


def _number(rules: Schema, _definitions: Definitions) -> Accepts:
    least, greatest = _bounds(rules)
    return lambda value: type(value) in _NUMBERS and least <= value <= greatest


def _array(rules: Schema, definitions: Definitions) -> Accepts | None:
    accepts_all = _all_items(_dereferenced(rules.get("items", True), definitions), definitions)
    if accepts_all is None:
        return None
    least, most = rules.get("minItems", 0), rules.get("maxItems", math.inf)
    return lambda value: type(value) is list and least <= len(value) <= most and accepts_all(value)


def _all_items(rules: Schema | bool, definitions: Definitions) -> Accepts | None:
    """The acceptor of all items of a list together."""
    item = compile_acceptor(rules, definitions)
    if item is None:
        return None
    if isinstance(rules, bool) or rules.get("type") != "number":
        return lambda values: all(map(item, values))
    least, greatest = _bounds(rules)
    # Times are most of a log: a few calls for the whole list instead of one for each.
    return lambda values: (
        not values
        or (
            _NUMBERS.issuperset(map(type, values))
            and least <= min(values)
            and max(values) <= greatest
            and not any(map(math.isnan, values))
        )
    )


def _bounds(rules: Schema) -> tuple[float, float]:
    return rules.get("minimum", -sys.float_info.max), min(rules.get("maximum", math.inf), sys.float_info.max)


def _nothing(_value: object) -> bool:
    return False


def _object(rules: Schema, definitions: Definitions) -> Accepts | None:
    found = {key: compile_acceptor(rule, definitions) for key, rule in rules.get("properties", {}).items()}
    checks = {key: accepts for key, accepts in found.items() if accepts is not None}
    if rules.get("additionalProperties") is not False or len(checks) < len(found):
        return None
    required = frozenset(rules.get("required", ()))
    in_order = {
        keys: [checks[key] for key in keys] for keys in (tuple(checks), tuple(key for key in checks if key in required))
    }

    def accepts(value: Any) -> bool:
        if type(value) is not dict:
            return False
        # Most objects have their keys in the order of the schema: then no key has to be looked up.
        ordered = in_order.get(tuple(value))
        if ordered is None:
            if not required.issubset(value):
                return False
            ordered = [checks.get(key, _nothing) for key in value]
        for check, part in zip(ordered, value.values(), strict=True):  # noqa: SIM110  # faster than all()
            if not check(part):
                return False
        return True

    return accepts


_TYPES: Mapping[str, tuple[frozenset[str], Callable[[Schema, Definitions], Accepts | None]]] = {
    "null": (frozenset(), _null),
    "boolean": (frozenset(), _boolean),
    "string": (frozenset({"minLength", "pattern"}), _string),
    "integer": (frozenset({"minimum", "maximum"}), _integer),
    "number": (frozenset({"minimum", "maximum"}), _number),
    "array": (frozenset({"items", "minItems", "maxItems"}), _array),
    "object": (frozenset({"properties", "required", "additionalProperties"}), _object),
}
"""Type name to the keywords that bear on it here, and what makes its acceptor."""
