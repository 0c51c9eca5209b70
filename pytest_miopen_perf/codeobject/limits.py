"""How much worse than its baseline a kernel may become, and the text that says so."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace

_SIZE = re.compile(r"([0-9]+)([KM]?)i?B?", re.IGNORECASE)
_SHARE = re.compile(r"([0-9]*\.?[0-9]+)\s*%")
_FACTORS = {"": 1, "K": 1024, "M": 1024**2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How much more of something is still a pass: a count, or a share of what it was, whichever is more.

    Attributes:
        count: Registers, waves or bytes.
        share: Of the earlier figure; 0.1 is 10 %.
    """

    count: int = 0
    share: float = 0.0

    def allows(self, before: int, now: int) -> bool:
        """Whether the change from one figure to the other is a pass."""
        return now - before <= max(self.count, self.share * before)

    def __str__(self) -> str:
        count = [str(self.count)] if self.count or not self.share else []
        return " or ".join([*count, *([f"{100 * self.share:g}%"] if self.share else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticLimits:
    """What may grow by how much; None is not judged.

    Attributes:
        spills: Spilled registers, vector and scalar.
        scratch: Bytes of scratch of a work-item.
        waves: Waves of a compute unit that may be lost.
        lds: Bytes of shared memory of a work-group, where the waves stay as they are.
        code: Bytes of machine code, which the instruction cache of a compute unit has to hold.
    """

    spills: Growth | None = Growth()
    scratch: Growth | None = Growth()
    waves: Growth | None = Growth()
    lds: Growth | None = Growth(count=1024)
    code: Growth | None = Growth(count=4096, share=0.5)

    def __str__(self) -> str:
        growths = {field.name: getattr(self, field.name) for field in fields(self)}
        return ", ".join(f"{name}={'off' if growth is None else growth}" for name, growth in growths.items())


def parse_limits(text: str) -> StaticLimits:
    """Limits from a text such as `lds=10%, waves=2, code=off`; what it does not name stays at its default.

    Raises:
        ValueError: with what to give.
    """
    names = [field.name for field in fields(StaticLimits)]
    given: dict[str, Growth | None] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name not in names or name in given:
            what = "is named twice" if name in given else f"is none of {', '.join(names)}"
            raise ValueError(f"{name!r} {what}; give limits such as lds=10%, waves=2, code=off")
        given[name] = _growth(name, value)
    return replace(StaticLimits(), **given)


def _growth(name: str, value: str) -> Growth | None:
    if value == "off":
        return None
    words = [word.strip() for word in value.split(" or ")]
    sizes = [found for word in words if (found := _SIZE.fullmatch(word))]
    shares = [found for word in words if (found := _SHARE.fullmatch(word))]
    if len(sizes) > 1 or len(shares) > 1 or len(sizes) + len(shares) < len(words):
        raise ValueError(f"{name} is {value!r}: give a count such as 8 or 4K, a share such as 10%, or off")
    count = sum(int(size[1]) * _FACTORS[size[2].upper()] for size in sizes)
    return Growth(count=count, share=sum(float(share[1]) / 100 for share in shares))
