"""Secrets in sentences: `the password is X`, `le mot de passe est X`, `my token was X`.

What a sentence says of a password is either the password or how it is. How it is, it says with
words that everybody uses, with an adjective or a participle: `is expired`, `is too short`. So
another word that ends the clause, or stands beside `password`, is taken for the password.
"""

from __future__ import annotations

from . import names as secret_names
from .patterns import Patterns, may_hold

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

REDACTED = "[redacted]"
_DESCRIBING = tuple(
    """
    ed en ing ble ent ant ory ful ive ous less ly al ary id ect ic ness ation wn rong
    """.split()
)
"""What adjectives, participles and adverbs end with."""
_SHORT = ("pin", "otp")

_VERBS = frozenset("is was are were ist war lautet est es era to".split())
_VALUE = r"(?P<value>[^\s\"'`,;)]{3,200})(?=[\"'`,;)\n]|\s*$|\s+(?:and|but|or|et|und|y|for"
_CHANGE = r"(?:(?:re)?set(?:s|ting)?|(?:chang|updat|rotat)(?:e[sd]?|ing))"
_BEING = r"(?:is|was|be|been|being|gets|got)"
_PASSWORDS = r"(?i:[\w-]{0,20}(?:pass|pwd|credential|secret)[\w-]{0,20})"
_patterns = Patterns(
    {
        "quoted": (
            r"(?i)\b((?:password|passwd|passphrase|passcode|secret|pwd|pw)(?:\s+(?:is|was|of|for))*\s+)"
            r"([\"'`])(?!\s)([^\"'`\n]+)\2"
        ),
        "looks": (
            r"(?i)\b((?:[\w.-]{0,80}[_.-])?(?:passwords?|passwd|passphrase|passcode|secret|token"
            r"|credentials?|pin|otp|pwd|api[ _]key))"
            r"((?:\s+(?:is|was|of|to|for|using|with|value|provided|given|code))*"
            r"\s*[:=]?\s+[\"'`]?)([^\s\"'`,;)]+)"
        ),
        "told": (
            r"(?i)(?<![\w-])(?:(?P<before>[\w-]{1,40})\s+)?(?!"
            + _BEING
            + r"\s)(?P<noun>[^\W\d_][\w-]{1,40})(?P<between>"
            r"(?:\s+(?:for|of|to|pour|für)(?:\s+[\w.@-]{1,40}){1,3}?)?"
            r"\s+(?:is|was|are|were|ist|war|lautet|est|es|era|è|é|(?:(?:\w{2,6}\s+)?"
            + _BEING
            + r"\s+)?"
            + _CHANGE
            + r"\s+to)(?:\s*:)?\s+[\"'`]?)"
            + _VALUE
            + r")\b)"
        ),
        "changed": (
            r"(?i)(?<![\w-])" + _CHANGE + r"\s+(?:(?:the|my|your|our|its|an?)\s+)?"
            r"(?:(?P<before>[\w-]{1,40})\s+)?(?P<noun>[^\W\d_][\w-]{1,40})"
            r"(?:\s+(?:for|of|in|on)(?:\s+[\w.@-]{1,40}){1,3}?)?"
            r"(?:\s+from\s+[\"'`]?(?P<old>[^\s\"'`,;)]{3,200})[\"'`]?)?"
            r"\s+to(?:\s*:)?\s+[\"'`]?" + _VALUE + r"|in|on|before|after|when|then)\b)"
        ),
        "behind": (
            r"(?<![\w-])(?P<noun>" + _PASSWORDS + r")(?P<between>,?\s+(?:to\s+)?[\"'`(]?)"
            r"(?P<value>[^\s\"'`,;=()]{3,200})"
        ),
        "before": (
            r"(?<![\w.:=-])(?P<value>[^\W_]{3,200})(?P<between>[\"'`]?\s+(?:as|is|was)(?:\s+not)?"
            r"(?:\s+(?:an?|the|my|your|our))?(?:\s+\w{1,20})?)\s+(?P<noun>" + _PASSWORDS + ")"
            r"(?=[.,;!?)\"'`]|\s*$|\s+(?:for|to|of|and|or|but|in)\b)"
        ),
    }
)


def without_told(text: str) -> str:
    """The text without what its sentences tell of secrets."""
    words = text.split()
    if len(words) < 2:
        return text
    if may_hold(text, "pass", "secret", "pw"):
        text = _patterns["quoted"].sub(r"\1\2" + REDACTED + r"\2", text)
    if may_hold(text, "pass", "secret", "token", "credential", "pin", "otp", "pwd", "api"):
        text = _patterns["looks"].sub(_looking, text)
    if not text.isascii() or any(word.rstrip(":").lower() in _VERBS for word in words[1:]):
        text = _patterns["told"].sub(_told, _patterns["changed"].sub(_changed, text))
    if may_hold(text, "pass", "pwd", "credential", "secret"):
        text = _patterns["before"].sub(_beside, _patterns["behind"].sub(_beside, text))
    return text


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
