"""Names of people and machines are taken out of what is shown: findings are pasted into public reports."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_miopen_perf.doctor.findings import Finding

_HOMES = re.compile(r"/(?:home|Users)/[^/\s:;,'\"]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """What must not be shown.

    Attributes:
        home: The user's home directory, shown as `~`; so is every other one below /home.
        host: The machine's name, shown as `HOST`; "" where there is none.
    """

    home: str
    host: str

    @staticmethod
    def of_this_process() -> Redaction:
        """Home and host of who asks; a user without a home directory has none to hide."""
        try:
            home = str(Path.home())
        except RuntimeError:
            home = ""
        return Redaction(home=home, host=platform.node())

    def text(self, text: str) -> str:
        """The text without them."""
        if self.home.strip("/"):
            text = re.sub(rf"{re.escape(self.home)}(?![\w.-])", "~", text)
        text = _HOMES.sub("~", text)
        return re.sub(rf"(?<![\w-]){re.escape(self.host)}(?![\w-])", "HOST", text) if self.host else text

    def finding(self, finding: Finding) -> Finding:
        """The finding without them."""
        return replace(
            finding,
            value=self.text(finding.value),
            effective=self.text(finding.effective),
            sentence=self.text(finding.sentence),
        )
