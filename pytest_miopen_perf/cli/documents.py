"""What kind of file a command was given: one of this project's JSON documents, or a log."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from pytest_miopen_perf.errors import InputError
from pytest_miopen_perf.schema import LINE_KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

RESULTS, BASELINE, VERDICTS = (f"pytest-miopen-perf {word}" for word in ("results", "baseline", "verdicts"))
"""The formats of the documents that this project writes."""

_FIRST_KEY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*(?:"((?:[^"\\]|\\.)*)")?')
_HEAD_BYTES = 4096


class Document(NamedTuple):
    """A document: its format, its text, and the same decoded."""

    format: str
    text: str
    data: Mapping[str, object]


def document_or_log(file: BinaryIO, where: str) -> Document | BinaryIO:
    """A document of this project, read; or a stream of the same bytes, to be read as a log.

    A log is not read ahead: a document begins with a brace and a key that no line of a log begins with.

    Args:
        file: Opened for reading bytes, and seekable.
        where: Its name, for messages.

    Raises:
        InputError: it has the name of a document's format, but is no text.
    """
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    found = _FIRST_KEY.match(head)
    if found is None or (found[1] or b"").decode(errors="replace") in LINE_KINDS:
        return file
    data = file.read()
    try:
        text = data.decode("utf-8-sig")
        decoded = json.loads(text)
    except UnicodeDecodeError as error:
        if b'"pytest-miopen-perf ' in head:
            raise InputError(f"{where} is damaged: byte {error.start} is no UTF-8") from error
        file.seek(0)
        return file
    except (ValueError, RecursionError) as error:
        if b'"pytest-miopen-perf ' in head:
            raise InputError(f"{where} is damaged: {error}") from error
        file.seek(0)
        return file
    if isinstance(decoded, dict) and isinstance(decoded.get("format"), str):
        return Document(decoded["format"], text, decoded)
    file.seek(0)
    return file
