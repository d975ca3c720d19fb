"""Patterns of what may hold a secret, made when something suspicious is to be read."""

from __future__ import annotations

from . import own_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_patterns: dict[str, re.Pattern[str]] = {}


def can_be_read() -> bool:
    """Whether the calling thread may read a suspicious text; one that may not hides all of it."""
    return bool(_patterns) or own_threads.may_use("re")


def compiled() -> dict[str, re.Pattern[str]]:
    """The patterns; `re` is imported only for something suspicious."""
    if _patterns:
        return _patterns
    import re

    from .secret_tokens import PLACES, known_tokens

    name = r"(?:(?<![\w.%-])|(?<=%26)|(?<=%3[fF]))"
    name += r"(?P<name>[^\W\d_][\w.-]{0,80}|-{1,2}[A-Za-z][\w.-]{0,80})"
    quoted = r"(?P<quote>\\*[\"'`])(?P<text>.*?)(?P=quote)"
    bare = (
        r"(?P<bare>(?:[^\s\"'&,;<>(){}\[\]\\]|[<({\[]|[>)}\]](?=[^\s\"'&,;>)}\]])"
        r"|[,;&](?=[^\s,;&=:]+(?:[\s\"')}\]]|$))){1,4000})"
    )
    separator = r"(?P<sep>\\*[\"'`]?\]?\s*(?::=|=>|->|==|=|%3[dD]|[＝：]|:(?!//|:))\s*)"
    _patterns.update(
        pem=re.compile(r"-----BEGIN.*?(?:-----END[^-]*-----|\Z)", re.S),
        places=re.compile("(" + PLACES + r")[^\s'\"]+"),
        known=re.compile(known_tokens()),
        url=re.compile(r"(?<=://)[^\s'\"<>]+"),
        login=re.compile(r"(?<![\w/@.-])([\w.+-]{1,40}):([^\s:@/'\",]{6,})@(?=[A-Za-z][\w.-]*)"),
        header=re.compile(r"(?i)(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)([^\"'\n\r]+)"),
        scheme=re.compile(r"(?i)\b(bearer|basic|token|apikey|api-key)\s+([^\s'\",;)]+)"),
        cookie=re.compile(r"(?i)(\b(?:set-)?cookie\s*:\s*)([^\"'\n\r]+)"),
        pair=re.compile(name + separator + "(?:" + quoted + "|" + bare + ")", re.S),
        option=re.compile(
            r"(?<![\w-])(--?[A-Za-z][\w.-]*)(\s+|=)(?=\S)"
            r"((?:\"[^\"]*\"|'[^']*')(?:\"[^\"]*\"|'[^']*'|[^\s'\"])*|[^\s'\"]+)"
        ),
        setting=re.compile(
            r"(?<![\w-])(--?[A-Za-z][\w-]*\s+)([A-Za-z][\w-]*[_.][\w.-]*)(\s+)([^\s'\"-][^\s'\"]*)"
        ),
        attached=re.compile(r"(?<![\w-])(-[pPuU])([^\s'\"=-][^\s'\"]*|'[^']+'|\"[^\"]+\")"),
        element=re.compile(r"<([A-Za-z][\w.:-]*)>([^<>]+)(?=</)"),
        chunk=re.compile(r"[^\s\"'`=,;:()<>\[\]{}|]{20,}={0,2}"),
        word=re.compile(r"[A-Za-z0-9+/_\-]{20,}={0,2}"),
    )
    return _patterns
