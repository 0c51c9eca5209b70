"""A schema of plain shape as a predicate: for thousands of small values, where a full validator is too slow.

An acceptor answers True only for what the schema accepts. False means no more than "ask the validator": the acceptor
looks at exact Python types, as `json.loads` makes them, and knows few keywords.

A schema becomes the text of Python functions, as a dataclass becomes that of its `__init__`: a log has millions of
values, and a call for each of them would take most of the time.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
        schema: A JSON Schema that does not refer to itself; one that was shipped, for its text becomes a program.
        definitions: What its `#/$defs/` references mean.
    """
    program = _Program(definitions)
    test = _test(schema, "value", program)
    return None if test is None else program.compiled(program.function([f"return {test}"]))


@dataclass(slots=True)
class _Program:
    """The functions of one acceptor, and the constants that they name.

    Attributes:
        definitions: What references mean.
        names: The constants, by their names.
        texts: The functions, each before those that call it.
    """

    definitions: Definitions
    names: dict[str, Any] = field(default_factory=lambda: {"all_numbers": _all_numbers, "NUMBERS": _NUMBERS})
    texts: list[str] = field(default_factory=list)

    def constant(self, value: Any) -> str:
        """The name of a constant."""
        name = f"constant_{len(self.names)}"
        self.names[name] = value
        return name

    def function(self, body: Sequence[str]) -> str:
        """The name of a new function of `value`."""
        name = f"accepts_{len(self.texts)}"
        self.texts.append("\n    ".join([f"def {name}(value):", *(line.replace("SELF", name) for line in body)]))
        return name

    def compiled(self, name: str) -> Accepts:
        """The function of that name."""
        exec("\n".join(self.texts), self.names)  # noqa: S102  # its text is made here, of a schema that is shipped
        accepts: Accepts = self.names[name]
        return accepts


def _test(schema: Schema | bool, value: str, program: _Program) -> str | None:
    """The expression that tests what a name holds, or None where the schema is not known."""
    schema = _dereferenced(schema, program.definitions)
    if isinstance(schema, bool):
        return str(schema)
    rules = {keyword: rule for keyword, rule in schema.items() if keyword not in _ANNOTATIONS}
    if rules.keys() == {"if", "then", "else"}:
        return _conditional(rules, value, program)
    if rules.keys() in ({"enum"}, {"const"}):
        return _one_of(rules["enum"] if "enum" in rules else [rules["const"]], value, program)
    if "type" in rules:
        return _typed(rules, value, program)
    return None


def _dereferenced(schema: Schema | bool, definitions: Definitions) -> Schema | bool:
    """What a schema that is nothing but a reference refers to; any other as it is."""
    while not isinstance(schema, bool):
        rules = schema.keys() - _ANNOTATIONS
        if rules != {"$ref"} or not schema["$ref"].startswith(_REFERENCE):
            break
        schema = definitions[schema["$ref"].removeprefix(_REFERENCE)]
    return schema


def _conditional(rules: Schema, value: str, program: _Program) -> str | None:
    condition, met, unmet = (_test(rules[keyword], value, program) for keyword in ("if", "then", "else"))
    if condition is None or met is None or unmet is None:
        return None
    # A condition that says False may only be unsure: then both branches must agree.
    return f"(({met}) and (({unmet}) or ({condition})))"


def _one_of(values: Sequence[Any], value: str, program: _Program) -> str | None:
    types = {type(one) for one in values}
    if not types <= {int, str}:
        return None
    tests = [
        f"(type({value}) is {one.__name__} and {value} in {program.constant({v for v in values if type(v) is one})})"
        for one in sorted(types, key=str)
    ]
    return f"({' or '.join(tests)})"


def _typed(rules: Schema, value: str, program: _Program) -> str | None:
    names = [rules["type"]] if isinstance(rules["type"], str) else rules["type"]
    if not all(name in _TYPES for name in names):
        return None
    known = {"type"}.union(*(_TYPES[name][0] for name in names))
    tests = [_TYPES[name][1](rules, value, program) for name in names]
    sure = [test for test in tests if test is not None]
    return f"({' or '.join(sure)})" if rules.keys() <= known and len(sure) == len(tests) else None


# --- Types ------------------------------------------------------------------------------------------------------------


def _null(_rules: Schema, value: str, _program: _Program) -> str:
    return f"{value} is None"


def _boolean(_rules: Schema, value: str, _program: _Program) -> str:
    return f"{value} is True or {value} is False"


def _string(rules: Schema, value: str, program: _Program) -> str:
    least = f" and len({value}) >= {rules['minLength']}" if "minLength" in rules else ""
    if "pattern" not in rules:
        return f"(type({value}) is str{least})"
    found = program.constant(re.compile(rules["pattern"]).search)
    return f"(type({value}) is str{least} and {found}({value}) is not None)"


def _integer(rules: Schema, value: str, program: _Program) -> str:
    least = f" and {value} >= {program.constant(rules['minimum'])}" if "minimum" in rules else ""
    greatest = f" and {value} <= {program.constant(rules['maximum'])}" if "maximum" in rules else ""
    return f"(type({value}) is int{least}{greatest})"


def _number(rules: Schema, value: str, program: _Program) -> str:
    least, greatest = map(program.constant, _bounds(rules))
    return f"(type({value}) in NUMBERS and {least} <= {value} <= {greatest})"


def _array(rules: Schema, value: str, program: _Program) -> str | None:
    items = _items(_dereferenced(rules.get("items", True), program.definitions), value, program)
    if items is None:
        return None
    least = f" and len({value}) >= {rules['minItems']}" if "minItems" in rules else ""
    most = f" and len({value}) <= {rules['maxItems']}" if "maxItems" in rules else ""
    return f"(type({value}) is list{least}{most} and {items})"


def _items(rules: Schema | bool, value: str, program: _Program) -> str | None:
    """The test of all items of a list together."""
    keywords = {"type", "minimum", "maximum"}
    if not isinstance(rules, bool) and rules.get("type") == "number" and rules.keys() - _ANNOTATIONS <= keywords:
        least, greatest = map(program.constant, _bounds(rules))
        return f"all_numbers({value}, {least}, {greatest})"
    item = _test(rules, "value", program)
    return None if item is None else f"all(map({program.function([f'return {item}'])}, {value}))"


def _all_numbers(values: Sequence[float], least: float, greatest: float) -> bool:
    """Whether all of a list are numbers within bounds: most of a log are times, so that no call is made for each."""
    return not values or (
        _NUMBERS.issuperset(map(type, values))
        and least <= min(values)
        and max(values) <= greatest
        and not any(map(math.isnan, values))
    )


def _bounds(rules: Schema) -> tuple[float, float]:
    return rules.get("minimum", -sys.float_info.max), min(rules.get("maximum", math.inf), sys.float_info.max)


def _object(rules: Schema, value: str, program: _Program) -> str | None:
    properties: Schema = rules.get("properties", {})
    required = set(rules.get("required", ()))
    parts = {key: f"part_{index}" for index, key in enumerate(properties)}
    tests = {key: _test(rule, parts[key], program) for key, rule in properties.items()}
    if rules.get("additionalProperties") is not False or None in tests.values() or not required <= parts.keys():
        return None
    body = ["if type(value) is not dict: return False", "keys = tuple(value)"]
    for keys in dict.fromkeys([tuple(parts), tuple(key for key in parts if key in required)]):
        body += [f"if keys == {program.constant(keys)}:"]
        body += [f"    {', '.join(parts[key] for key in keys)}, = value.values()"] if keys else []
        body += [f"    return {' and '.join(f'({tests[key]})' for key in keys) or 'True'}"]
    # Most objects have their keys in the order of the schema; any other is brought into it, once.
    order = program.constant(tuple(parts))
    body += [f"ordered = {{key: value[key] for key in {order} if key in value}}"]
    body += ["return len(ordered) == len(keys) and tuple(ordered) != keys and SELF(ordered)"]
    return f"{program.function(body)}({value})"


_TYPES: Mapping[str, tuple[frozenset[str], Callable[[Schema, str, _Program], str | None]]] = {
    "null": (frozenset(), _null),
    "boolean": (frozenset(), _boolean),
    "string": (frozenset({"minLength", "pattern"}), _string),
    "integer": (frozenset({"minimum", "maximum"}), _integer),
    "number": (frozenset({"minimum", "maximum"}), _number),
    "array": (frozenset({"items", "minItems", "maxItems"}), _array),
    "object": (frozenset({"properties", "required", "additionalProperties"}), _object),
}
"""Type name to the keywords that bear on it here, and what makes its test."""
