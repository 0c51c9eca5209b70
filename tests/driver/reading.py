"""Lines of a log as the reader gives them, and what of that the tests compare."""

import io

from pytest_miopen_perf.driver.log_item import ItemKind
from pytest_miopen_perf.driver.log_reader import read_log

RECORD, CORRUPT, FOREIGN, NOISE = ItemKind.RECORD, ItemKind.CORRUPT, ItemKind.FOREIGN, ItemKind.NOISE


def read(*lines):
    return list(read_log(io.BytesIO("".join(f"{line}\n" for line in lines).encode())))


def only(*lines):
    (item,) = read(*lines)
    return item


def codes(notes):
    return [note.code for note in notes]


def kinds(items):
    return [item.kind for item in items]
