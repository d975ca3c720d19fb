"""What changed between two long texts, by word: commands, paths, lists of options."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import takewhile

LEAST_WORDS = 4  # of both texts; shorter ones are shown as they are
LEAST_ALIKE = 0.4  # of their words; others are two texts, and not one that changed
_BETWEEN = re.compile(r"[\s:;,]+")


def changed_words(before: str | None, after: str | None) -> str | None:
    """A text as what changed from another one: `--every 2 → --every 4; − --quiet; + --seed 1`.

    A text that is short, or that has little of the other one, stays as it is.
    """
    if not before or not after:
        return after
    old, new = (_BETWEEN.split(text.strip()) for text in (before, after))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    is_one = min(len(old), len(new)) >= LEAST_WORDS and matcher.ratio() >= LEAST_ALIKE
    if before == after or not is_one:
        return after
    found = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            continue
        same = _values(old[a:b], new[c:d])
        option = old[a - 1 : a] if a and old[a - 1].startswith("-") else []
        pairs = (old[a : a + same], new[c : c + same])
        found += [" → ".join(" ".join([*option, *words]) for words in pairs)] if same else []
        found += [
            f"{sign} {' '.join(words)}"
            for sign, words in (("−", old[a + same : b]), ("+", new[c + same : d]))
            if words
        ]
    return "; ".join(found) or after


def _values(old: Sequence[str], new: Sequence[str]) -> int:
    """How many words took the place of others: the next option is none of the one before."""
    pairs = takewhile(
        lambda pair: not any(word.startswith("-") for word in pair), zip(old, new, strict=False)
    )
    return sum(1 for _ in pairs)
