"""The published JSON Schemas, and the check of a decoded line of the performance log against its own.

`performance_log.schema.json` is JSON Schema 2020-12 with one definition a line kind. It is strict about what MIOpen
fixes (keys, words, types, ranges) and accepts every valid line that MIOpen itself writes.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from pytest_miopen_perf.errors import InvalidRecordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jsonschema.protocols import Validator

    from pytest_miopen_perf.schema.acceptor import Accepts

SchemaName: TypeAlias = Literal["performance_log", "results", "verdicts", "codeobjects"]
"""What a schema is for; its file is called so."""

LINE_KINDS: Mapping[str, str] = {
    "solution": "solution_record",
    "command": "command",
    "prng_seed": "prng_seed",
    "timestamp": "system_info",
    "build_info": "build_info",
    "find_time_conv_ms": "find_time",
    "performance": "performance",
    "verification": "verification",
    "error": "error",
}
"""The key that tells a line kind, and the kind's definition in the schema; the first one present decides."""

_LONGEST_REASON = 240


@functools.cache
def load_schema(name: SchemaName = "performance_log") -> dict[str, Any]:
    """A schema as shipped, by default that of any line of the log. Not to be changed."""
    from importlib.resources import files

    schema: dict[str, Any] = json.loads(files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8"))
    return schema


def validate(data: Any) -> None:
    """Check one decoded line of the log against the schema of its kind.

    Raises:
        InvalidRecordError: it does not fit; one sentence names the line kind, the path and the reason.
    """
    kind = _kind(data)
    validator = _validators()[kind]
    if validator.is_valid(data):
        return
    from jsonschema.exceptions import best_match

    error = best_match(validator.iter_errors(data))
    assert error is not None, "what is not valid has an error"
    reason = error.message
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[: _LONGEST_REASON // 2]} ... {reason[-_LONGEST_REASON // 2 :]}"
    raise InvalidRecordError(f"the {kind} line does not fit the log's schema at {error.json_path}: {reason}")


def _kind(data: Any) -> str:
    if not isinstance(data, dict):
        raise InvalidRecordError(f"a line of the log is a JSON object, not {type(data).__name__}")
    for key, kind in LINE_KINDS.items():
        if key in data:
            return kind
    raise InvalidRecordError(
        f"the object with the keys {', '.join(map(repr, data)) or '(none)'} is no line of the log; "
        f"a line has one of {', '.join(LINE_KINDS)}"
    )


@functools.cache
def _validators() -> dict[str, Validator]:
    """One validator a line kind."""
    schema = load_schema()
    validator_class = _fast_validator_class(schema)
    return {
        kind: validator_class({"$defs": schema["$defs"], "$ref": f"#/$defs/{kind}"}) for kind in LINE_KINDS.values()
    }


def _fast_validator_class(schema: Mapping[str, Any]) -> type[Validator]:
    """Draft 2020-12 with two changes: numbers are finite, and the `items` of plain shape are checked fast.

    A record of 20 configs has thousands of numbers, each of which would cost the plain keyword tens of microseconds.
    Where all items of a list pass a compiled acceptor there is nothing to report; otherwise, and wherever there is no
    acceptor, the plain keyword decides and words the errors.
    """
    from jsonschema import Draft202012Validator, validators

    from pytest_miopen_perf.schema.acceptor import compile_acceptor, is_finite_number

    plain: Callable[..., Iterator[Any]] = Draft202012Validator.VALIDATORS["items"]
    compiled: dict[int, Accepts | None] = {}

    def items(validator: Validator, item: Any, instance: Any, parent: Mapping[str, Any]) -> Iterator[Any]:
        # The schema lives as long as this closure, so that the identity of its parts is theirs alone.
        if id(item) not in compiled:
            compiled[id(item)] = compile_acceptor(item, schema["$defs"])
        accepts = compiled[id(item)]
        is_plain_list = type(instance) is list and "prefixItems" not in parent
        if not (accepts and is_plain_list and all(map(accepts, instance))):
            yield from plain(validator, item, instance, parent)

    types = Draft202012Validator.TYPE_CHECKER.redefine("number", lambda _, value: is_finite_number(value))
    extended = validators.extend(  # type: ignore[no-untyped-call]  # its stub has no annotations
        Draft202012Validator, {"items": items}, type_checker=types
    )
    return cast("type[Validator]", extended)
