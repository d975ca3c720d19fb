"""Keeps secrets out of what is written, by the name of a variable or the look of a value."""

from __future__ import annotations

REDACTED = "[redacted]"

_SENSITIVE_WORDS = (
    "key",
    "token",
    "secret",
    "passw",
    "passphrase",
    "pwd",
    "credential",
    "auth",
    "cookie",
    "jwt",
    "bearer",
    "private",
    "signature",
)
_HINTS = (
    *_SENSITIVE_WORDS,
    "://",
    "-----begin",
    "basic ",
    "eyj",
    "akia",
    "asia",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat",
    "glpat",
    "xox",
    "sk-",
    "hf_",
    "aiza",
    "npm_",
    "pypi-",
)
_LONG_WORD = 24

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Sequence

_patterns: dict[str, re.Pattern[str]] = {}


def is_sensitive_name(name: str) -> bool:
    """Whether a variable or option of this name may hold a secret."""
    lower = name.lower()
    return any(word in lower for word in _SENSITIVE_WORDS)


def _compiled() -> dict[str, re.Pattern[str]]:
    """The patterns; `re` is imported only for something suspicious."""
    if _patterns:
        return _patterns
    import re

    words = "|".join(_SENSITIVE_WORDS)
    _patterns["pem"] = re.compile(r"-----BEGIN.*?(?:-----END[^-]*-----|\Z)", re.S)
    _patterns["url"] = re.compile(r"(?<=://)[^\s/@'\"]+(?=@)")
    _patterns["scheme"] = re.compile(r"(?i)\b(bearer|basic)\s+[^\s'\",;]+")
    _patterns["pair"] = re.compile(
        r"(?i)([\w.\-]*(?:%s)[\w.\-]*[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&'\"]+)" % words
    )
    _patterns["known"] = re.compile(
        r"eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?"
        r"|\b(?:AKIA|ASIA)[A-Z0-9]{12,}"
        r"|\bgh[opsur]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}"
        r"|\bxox[abeoprs]-[\w-]{8,}|\bsk-[\w-]{16,}|\bhf_\w{16,}|\bAIza[\w-]{20,}"
        r"|\bnpm_\w{16,}|\bpypi-[\w-]{16,}"
    )
    _patterns["word"] = re.compile(r"[A-Za-z0-9+/_\-]{24,}={0,2}")
    return _patterns


def _looks_random(word: str) -> bool:
    """Whether a long word mixes its characters as keys do and as names and paths do not."""
    parts = word.split("/") if word.startswith(("/", "./", "../", "~")) else [word]
    return any(_is_random_part(part.strip("=")) for part in parts)


def _is_random_part(part: str) -> bool:
    letters = part.replace("-", "").replace("_", "").replace("+", "").replace("/", "")
    if len(letters) < _LONG_WORD:
        return False
    classes = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in letters]
    changes = sum(1 for a, b in zip(classes, classes[1:]) if a != b) / len(letters)
    kinds = len(set(classes))
    is_hex = all(c in "0123456789abcdef" for c in letters.lower())
    if is_hex:
        return len(letters) >= 32 and kinds >= 2 and changes > 0.2
    return kinds == 3 and changes > 0.4


def _is_suspicious(text: str) -> bool:
    """Whether the text needs a closer look; importing `re` for it takes milliseconds."""
    lower = text.lower()
    if any(hint in lower for hint in _HINTS):
        return True
    if len(text) < _LONG_WORD:
        return False
    plain = "".join(c if c.isalnum() or c in "+/_-" else " " for c in text)
    return any(len(word) >= _LONG_WORD and _looks_random(word) for word in plain.split())


def redact_value(text: str) -> str:
    """The text with everything that looks like a secret replaced."""
    if not _is_suspicious(text):
        return text
    patterns = _compiled()
    text = patterns["pem"].sub(REDACTED, text)
    text = patterns["url"].sub(REDACTED, text)
    text = patterns["scheme"].sub(lambda m: m.group(1) + " " + REDACTED, text)
    text = patterns["pair"].sub(lambda m: m.group(1) + REDACTED, text)
    text = patterns["known"].sub(REDACTED, text)
    return patterns["word"].sub(lambda m: REDACTED if _looks_random(m.group()) else m.group(), text)


def redact_tokens(text: str) -> str:
    """The text without what can only be a secret: for names of code, which may look like one."""
    if not _is_suspicious(text):
        return text
    patterns = _compiled()
    text = patterns["pem"].sub(REDACTED, text)
    text = patterns["url"].sub(REDACTED, text)
    return patterns["known"].sub(REDACTED, text)


def redact_variable(name: str, value: str) -> str:
    """The value of an environment variable as it may be written."""
    return REDACTED if is_sensitive_name(name) else redact_value(value)


def redact_arguments(arguments: Sequence[str]) -> list[str]:
    """A command line as it may be written: `--token X` and `--token=X` lose their value."""
    result: list[str] = []
    hide_next = False
    for argument in arguments:
        is_option = argument.startswith("-") and len(argument) > 1 and " " not in argument
        if hide_next and not (is_option and argument.startswith("--")):
            result.append(REDACTED)
            hide_next = False
            continue
        name, equals, _ = argument.partition("=")
        hide_next = is_option and not equals and is_sensitive_name(name)
        if equals and is_sensitive_name(name) and " " not in name and "\n" not in name:
            result.append(name + "=" + REDACTED)
        else:
            result.append(argument if hide_next else redact_value(argument))
    return result
