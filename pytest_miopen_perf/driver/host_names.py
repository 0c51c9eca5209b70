"""Host names are personal data: they are taken out of a line before anything is made of it."""

from __future__ import annotations

import re

REMOVED = "removed"
"""What stands in the place of a host name."""

_FIELDS = re.compile(r"(?P<text>\bHost Name: )[^;]*|(?P<json>\"hostname\"\s*:\s*)\"(?:[^\"\\]|\\.)*(?:\"|\Z)")


def without_host_names(line: str) -> str:
    """The line of a text or JSON log without the values of its host name fields."""
    if "Host Name" not in line and '"hostname"' not in line:
        return line
    return _FIELDS.sub(
        lambda match: f"{match['text']}{REMOVED}" if match["text"] else f'{match["json"]}"{REMOVED}"', line
    )
