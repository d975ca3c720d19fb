"""Secrets in sentences: `the password is X`, `le mot de passe est X`, `my token was X`.

What a sentence says of a password is either the password or how it is. How it is, it says with
words that everybody uses, with an adjective or a participle: `is expired`, `is too short`. So
another word that ends the clause, or stands beside `password`, is taken for the password.
"""

from __future__ import annotations

from . import secret_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Callable

REDACTED = "[redacted]"
_DESCRIBING = tuple(
    """
    ed en ing ble ent ant ory ful ive ous less ly al ary id ect ic ness ation wn rong
    """.split()
)
"""What adjectives, participles and adverbs end with."""
_SHORT = ("pin", "otp")

_patterns = {}  # type: dict[str, re.Pattern[str]]


def _compiled() -> dict[str, re.Pattern[str]]:
    if _patterns:
        return _patterns
    import re

    passwords = r"(?i:[\w-]{0,20}(?:pass|pwd|credential|secret)[\w-]{0,20})"
    _patterns.update(
        **_of_clauses(re.compile),
        quoted=re.compile(
            r"(?i)\b((?:password|passwd|passphrase|passcode|secret|pwd|pw)(?:\s+(?:is|was|of|for))*\s+)"
            r"([\"'`])(?!\s)([^\"'`\n]+)\2"
        ),
        looks=re.compile(
            r"(?i)\b((?:[\w.-]{0,80}[_.-])?(?:passwords?|passwd|passphrase|passcode|secret|token"
            r"|credentials?|pin|otp|pwd|api[ _]key))"
            r"((?:\s+(?:is|was|of|to|for|using|with|value|provided|given|code))*"
            r"\s*[:=]?\s+[\"'`]?)([^\s\"'`,;)]+)"
        ),
        behind=re.compile(
            r"(?<![\w-])(?P<noun>" + passwords + r")(?P<between>,?\s+(?:to\s+)?[\"'`(]?)"
            r"(?P<value>[^\s\"'`,;=()]{3,200})"
        ),
        before=re.compile(
            r"(?<![\w.:=-])(?P<value>[^\W_]{3,200})(?P<between>[\"'`]?\s+(?:as|is|was)(?:\s+not)?"
            r"(?:\s+(?:an?|the|my|your|our))?(?:\s+\w{1,20})?)\s+(?P<noun>" + passwords + ")"
            r"(?=[.,;!?)\"'`]|\s*$|\s+(?:for|to|of|and|or|but|in)\b)"
        ),
    )
    return _patterns


def _of_clauses(compiled: Callable[[str], re.Pattern[str]]) -> dict[str, re.Pattern[str]]:
    """What is said of a secret up to the end of a clause: what it is, or is changed to."""
    value = r"(?P<value>[^\s\"'`,;)]{3,200})(?=[\"'`,;)\n]|\s*$|\s+(?:and|but|or|et|und|y|for"
    change = r"(?:(?:re)?set(?:s|ting)?|(?:chang|updat|rotat)(?:e[sd]?|ing))"
    return {
        "told": compiled(
            r"(?i)(?<![\w-])(?:(?P<before>[\w-]{1,40})\s+)?(?P<noun>[^\W\d_][\w-]{1,40})(?P<between>"
            r"(?:\s+(?:for|of|to|pour|für)(?:\s+[\w.@-]{1,40}){1,3}?)?"
            r"\s+(?:is|was|are|were|ist|war|lautet|est|es|era|è|é|(?:(?:is|was|been)\s+)?"
            + change
            + r"\s+to)(?:\s*:)?\s+[\"'`]?)"
            + value
            + r")\b)"
        ),
        "changed": compiled(
            r"(?i)(?<![\w-])" + change + r"\s+(?:(?:the|my|your|our|its|an?)\s+)?"
            r"(?:(?P<before>[\w-]{1,40})\s+)?(?P<noun>[^\W\d_][\w-]{1,40})"
            r"(?:\s+(?:for|of|in|on)(?:\s+[\w.@-]{1,40}){1,3}?)?"
            r"(?:\s+from\s+[\"'`]?(?P<old>[^\s\"'`,;)]{3,200})[\"'`]?)?"
            r"\s+to(?:\s*:)?\s+[\"'`]?" + value + r"|in|on|before|after|when|then)\b)"
        ),
    }


def without_told(text: str) -> str:
    """The text without what its sentences tell of secrets."""
    patterns = _compiled()
    text = patterns["quoted"].sub(r"\1\2" + REDACTED + r"\2", text)
    text = patterns["looks"].sub(_looking, text)
    text = patterns["told"].sub(_told, patterns["changed"].sub(_changed, text))
    return patterns["before"].sub(_beside, patterns["behind"].sub(_beside, text))


def describes(word: str) -> bool:
    """Whether a word says how something is, rather than what: `expired`, `required`, `valid`."""
    bare = word.strip(".!?:").lower()
    return bare.endswith(_DESCRIBING) or secret_names.is_trivial(bare)


def _looking(found: re.Match[str]) -> str:
    noun, between, value = found.groups()
    value = value.rstrip(".!?")
    is_short = noun.lower() in _SHORT and value.isdigit() and 4 <= len(value) <= 8
    is_password = secret_names.looks_like_a_password(value) and not secret_names.is_place(value)
    return noun + between + REDACTED if is_short or is_password else found.group()


def _told(found: re.Match[str]) -> str:
    value = found.group("value")
    bare = value.rstrip(".!?")
    noun, before = found.group("noun"), found.group("before") or ""
    is_named = secret_names.SECRET in map(secret_names.kind_of, (noun, before + "_" + noun))
    is_secret = is_named and not secret_names.is_counted(before)
    if not is_secret or describes(bare) or secret_names.is_harmless(bare) or "[redacted" in bare:
        return found.group()
    return found.group()[: -len(value)] + REDACTED + value[len(bare) :]


def _changed(found: re.Match[str]) -> str:
    """A secret that was given another value; the former one is one as well."""
    told, old = _told(found), found.group("old")
    if told == found.group() or not old:
        return told
    place = found.start("old") - found.start()
    return told[:place] + REDACTED + told[place + len(old) :]


def _beside(found: re.Match[str]) -> str:
    """A word beside `password` and the like; keys and tokens are also of mappings and texts."""
    noun, bare = found.group("noun"), found.group("value").rstrip(".!?:")
    is_password = secret_names.kind_of(noun) == secret_names.SECRET and not noun.isupper()
    if not is_password or "[redacted" in bare or _is_name(bare):
        return found.group()
    if describes(bare) or secret_names.is_harmless(bare):
        return found.group()
    start = found.start("value") - found.start()
    whole = found.group()
    return whole[:start] + REDACTED + whole[start + len(bare) :]


def _is_name(word: str) -> bool:
    """Whether it is a name of code, of several words, as `get_word` and no `me:X` or `me/X`."""
    return len(secret_names.words_of(word)) > 1 and not any(c in "/:" for c in word)
