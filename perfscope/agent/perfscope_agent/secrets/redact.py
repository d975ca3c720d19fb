"""Keeps secrets out of what is written: by the name in front of a value, or by its own look."""

from __future__ import annotations

from . import brackets as secret_brackets
from . import lists as secret_lists
from . import logins as secret_logins
from . import marks as secret_marks
from . import names as secret_names
from . import prose as secret_prose
from . import tokens as secret_tokens
from . import tools as secret_tools
from .patterns import Patterns, UnreadableError, has_key, parts

REDACTED = "[redacted]"
LONGEST = 8_192
"""Characters of a text that are read: a job that ends with an endless message is not held up."""

_SCHEMES = frozenset("bearer basic token apikey api-key digest negotiate key aws4".split())

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Callable, Sequence


def is_sensitive_name(name: str) -> bool:
    """Whether a variable or option of this name holds a secret whatever its value looks like."""
    return secret_names.kind_of(name) == secret_names.SECRET


_NAME = (
    r"(?:(?<![\w.%-])|(?<=%26)|(?<=%3[fF]))"
    r"(?P<name>[^\W\d_][\w.-]{0,80}|-{1,2}[A-Za-z][\w.-]{0,80})"
)
_SEPARATOR = r"(?P<sep>\\*[\"'`]?\]?\s*(?::=|=>|->|==|=|%3[dD]|[＝：]|:(?!//|:))\s*)"
_QUOTED = r"(?P<quote>\\*[\"'`])(?P<text>.*?)(?P=quote)"
_BARE = (
    r"(?P<bare>(?:[^\s\"'&,;<>(){}\[\]\\]|[<({\[]|[>)}\]](?=[^\s\"'&,;>)}\]])"
    r"|[,;&](?=[^\s,;&=:]+(?:[\s\"')}\]]|$))){1,4000})"
)
_patterns = Patterns(
    {
        "login": r"(?<![\w/@.-])([\w.+-]{1,40}):([^\s:@/'\",]{6,})@(?=[A-Za-z][\w.-]*)",
        "pair": "(?s)" + _NAME + _SEPARATOR + "(?:" + _QUOTED + "|" + _BARE + ")",
        "option": (
            r"(?<![\w-])(--?[A-Za-z][\w.-]*)(\s+|=)(?=\S)"
            r"((?:\"[^\"]*\"|'[^']*')(?:\"[^\"]*\"|'[^']*'|[^\s'\"])*|[^\s'\"]+)"
        ),
        "setting": (
            r"(?<![\w-])(--?[A-Za-z][\w-]*\s+)([A-Za-z][\w-]*[_.][\w.-]*)(\s+)([^\s'\"-][^\s'\"]*)"
        ),
        "attached": r"(?<![\w-])(-[pPuU])([^\s'\"=-][^\s'\"]*|'[^']+'|\"[^\"]+\")",
        "element": r"<([A-Za-z][\w.:-]*)>([^<>]+)(?=</)",
        "chunk": r"[^\s\"'`=,;:()<>\[\]{}|]{20,}={0,2}",  # as may_hold_keys has them
        "word": r"[A-Za-z0-9+/_\-]{20,}={0,2}",
    }
)
_LEAST_RANDOM = 20
_MOST_KEPT, _LONGEST_KEPT = 4096, 256
_plain = set()  # type: set[str]
"""Texts that need no closer look."""
_paths = {}  # type: dict[str, str]
"""Paths and names of functions as they may be written: each is asked for with each of its lines."""


def _is_suspicious(text: str) -> bool:
    """Whether the text needs a closer look; files and settings are asked about again and again."""
    if len(text) < 4 or text in _plain:
        return False
    found = _looks_suspicious(text)
    if not found and len(text) < _LONGEST_KEPT:
        if len(_plain) >= _MOST_KEPT:
            _plain.clear()
        _plain.add(text)
    return found


def _looks_suspicious(text: str) -> bool:
    lower = text.lower()
    if ("@" in text and ":" in text) or secret_marks.has_one(lower):
        return True
    words = parts(text)
    if any(map(secret_tokens.is_suspicious, words)):
        return True
    if secret_lists.has_options(text) or secret_tools.may_hold_commands(text):
        return True
    has_values = any(map(text.__contains__, "=: >\t\n＝：([{"))
    return has_values and secret_names.may_name_in(lower, words)


def redact_value(text: str) -> str:
    """The text with everything that looks like a secret replaced; what is endless is cut."""
    if len(text) > LONGEST:
        text = text[:LONGEST] + "…"
    if not _is_suspicious(text):
        return text
    try:
        return _redacted(text, secret_logins.evidence(text.split()))
    except UnreadableError:
        return REDACTED


def _redacted(text: str, evidence: int) -> str:
    """The text, of a command with this evidence of passwords, without secrets."""
    text = secret_tokens.without_headers(secret_tokens.without_tokens(text))
    text = secret_lists.without_listed(text, redact_arguments)
    text = secret_tools.without_commands(text)
    text = secret_lists.without_entries(secret_brackets.without_held(text))
    text = _without_named(text)
    if "</" in text:
        text = _patterns["element"].sub(_element, text)
    if "-" in text:
        text = _without_options(text, evidence)
    if "@" in text and ":" in text:
        text = _patterns["login"].sub(_login, text)
    return _without_random_words(secret_prose.without_told(text))


def _without_options(text: str, evidence: int) -> str:
    """The text, of a command with this evidence of passwords, without the values of options."""
    words, has_letters = len(text.split()), secret_logins.has_letter_options(text)
    may_tell = has_letters or secret_names.may_be_in(text)
    if may_tell and (words > 1 or "=" in text):
        text = _without_option_values(text, evidence)
    if may_tell and words > 2:
        text = _patterns["setting"].sub(_setting, text)
    if has_letters:
        text = _patterns["attached"].sub(lambda m: _attached(m, evidence), text)
    return text


def redact_tokens(text: str) -> str:
    """The text without what can only be a secret: for names of code, which may look like one."""
    try:
        return secret_tokens.without_tokens(text) if _is_suspicious(text) else text
    except UnreadableError:
        return REDACTED


def redact_path(text: str) -> str:
    """A path, a file or a host without secrets; hashes by which directories are named stay."""
    known = _paths.get(text)
    if known is None:
        try:
            known = _path_of(text) if _is_suspicious(text) else text
        except UnreadableError:
            return REDACTED
        if len(text) < _LONGEST_KEPT:
            if len(_paths) >= _MOST_KEPT:
                _paths.clear()
            _paths[text] = known
    return known


def _path_of(text: str) -> str:
    return "/".join(map(_path_part, secret_tokens.without_tokens(text).split("/")))


def _path_part(part: str) -> str:
    """A part of a path; the hashes of caches and package managers are lower-case and stay."""
    part = _without_named(part)
    if not has_key(part, _LEAST_RANDOM) or not secret_tokens.may_be_random(part, is_part=True):
        return part
    return _patterns["word"].sub(lambda found: _word(found.group(), is_path=True), part)


def _word(word: str, *, is_path: bool = False) -> str:
    return REDACTED if secret_tokens.looks_random(word, is_path=is_path) else word


def _without_named(text: str) -> str:
    """The text without the values of fields, settings and headers that are named as secrets."""
    if not any(map(text.__contains__, ("=", ":", "->", "%3", "＝", "："))):
        return text
    if not secret_names.may_be_in(text):
        return text
    pattern, kept, place = _patterns["pair"], [], 0
    found = pattern.search(text)
    while found is not None:
        name, value = found.group("name").lstrip("-"), found.group("text")
        if found.group("bare") is not None:
            value = found.group("bare")
        kept.append(text[place : found.end("sep")])
        place = found.end("sep")
        is_told = found.group("sep").strip() != ":" or found.group("sep").endswith(":")
        is_assigned = found.group("sep") == "="
        if secret_brackets.begins_brackets(text, place):
            pass  # each value in them was judged
        elif secret_names.hides(name, value, is_told=is_told, is_assigned=is_assigned):
            quote = found.group("quote") or ""
            kept.append(quote + REDACTED + quote)
            place = found.end()
        found = pattern.search(text, place)
    return "".join(kept) + text[place:]


def _element(found: re.Match[str]) -> str:
    name, value = found.group(1), found.group(2)
    return "<%s>%s" % (name, REDACTED if secret_names.hides(name, value.strip()) else value)


def _without_option_values(text: str, evidence: int) -> str:
    """The text, which may be a command for a shell, without the values of telling options."""
    pattern, kept, place = _patterns["option"], [], 0
    found = pattern.search(text)
    while found is not None:
        option, value = found.group(1, 3)
        bare = value.strip("\"'")
        kept.append(text[place : found.end(2)])
        place = found.end(2)
        safe = None if value.startswith("-") else _option_value(option, bare.rstrip(";"), evidence)
        if safe is not None:
            kept.append(value.replace(bare.rstrip(";"), safe))
            place = found.end()
        found = pattern.search(text, place)
    return "".join(kept) + text[place:]


def _setting(found: re.Match[str]) -> str:
    option, name, between, value = found.groups()
    is_secret = _is_name(name) and secret_names.hides(name, value)
    return option + name + between + REDACTED if is_secret else found.group()


def _attached(found: re.Match[str], evidence: int) -> str:
    option, value = found.group(1), found.group(2).strip("\"'")
    if option in ("-u", "-U"):
        safe = _option_value(option, value)
        return found.group() if safe is None else option + safe
    if (
        option == "-p"
        and evidence < secret_logins.LOGIN
        and secret_logins.is_an_option(found.group())
    ):
        return found.group()
    is_plain = any(c in "-=./:,_" for c in value) and evidence == secret_logins.NOTHING
    hides = not is_plain and secret_logins.is_password(value, evidence)
    return found.group().replace(value, REDACTED) if hides else found.group()


def _login(found: re.Match[str]) -> str:
    is_secret = secret_names.looks_like_a_password(found.group(2))
    return "%s:%s@" % (found.group(1), REDACTED) if is_secret else found.group()


def _without_random_words(text: str) -> str:
    """The text without what looks like a key; hashes behind a name that says so stay."""
    if not (secret_tokens.may_hold_keys(text) or any(map(text.__contains__, ("%3", "＝", "：")))):
        return text
    if not secret_tokens.may_be_random(text):
        return text

    def judged(found: re.Match[str]) -> str:
        chunk = found.group()
        named = text[: found.start()].rstrip("=: @\"'-").rsplit(None, 1)[-1:]
        if named and secret_names.is_public(named[0], chunk):
            return chunk
        if secret_tokens.is_path(chunk):
            return "/".join(_path_part(part) for part in chunk.split("/"))
        return _patterns["word"].sub(lambda found: _word(found.group()), chunk)

    return _patterns["chunk"].sub(judged, text)


def redact_variable(name: str, value: str) -> str:
    """The value of an environment variable as it may be written."""
    if secret_names.hides(name.upper(), value):
        return REDACTED
    return redact_tokens(value) if secret_names.is_public(name, value) else redact_value(value)


def _option_value(option: str, value: str, evidence: int = secret_logins.NOTHING) -> str | None:
    """The value of an option as it may be written; None where its name hides nothing of it."""
    name = option.lstrip("-")
    if option == "-p":
        return REDACTED if secret_logins.is_password(value, evidence) else None
    if name in ("u", "U") or secret_names.words_of(name)[-1:] in (["user"], ["auth"], ["login"]):
        user, colon, word = value.partition("%" if name == "U" and "%" in value else ":")
        if colon and user and word and not secret_names.is_number(word) and "/" not in word:
            return user + colon + REDACTED
    if len(name) == 1:
        return None
    if option.startswith("-") and not option.startswith("--") and 1 < len(name) < 4:
        return None if not is_sensitive_name(name) else REDACTED
    if secret_names.is_bare_option(name) and not secret_names.is_harmless(value):
        return REDACTED
    return REDACTED if secret_names.hides(name, value) else None


def redact_arguments(
    arguments: Sequence[str], *, is_choice: Callable[[str], bool] | None = None
) -> list[str]:
    """A command line as it may be written: `--token X` and `--token=X` lose their value.

    Args:
        arguments: its words.
        is_choice: whether the value of an option that tells nothing of it is known to be harmless;
            what looks like a secret by itself is taken out all the same.
    """
    result: list[str] = []
    option = ""
    evidence = secret_logins.evidence(arguments)
    for argument in _without_told(arguments):
        is_option = argument.startswith("-") and len(argument) > 1 and " " not in argument
        name, equals, value = argument.partition("=")
        name, value = (name, value) if equals else (option, argument)
        if is_choice and secret_names.is_bare_option(name.lstrip("-")) and is_choice(value):
            result.append(argument[: len(argument) - len(value)] + redact_value(value))
            option = ""
            continue
        if option and not (is_option and argument.startswith("--")):
            safe = _argument_behind(option, argument, evidence)
            was_scheme = option.endswith(":") and argument.lower() in _SCHEMES
            option = option if was_scheme else ""
            if safe is not None:
                result.append(safe)
                continue
        if _is_header(argument) or _is_name(argument):
            option = argument
        elif is_option:
            option = "" if "=" in argument else argument
        result.append(_argument(argument, evidence, is_option=is_option))
    return result


def _without_told(arguments: Sequence[str]) -> list[str]:
    """The words of a command, and of the scripts that shells get in it, as tools may be shown."""
    words = secret_tools.without_told(arguments)
    for place, word in enumerate(words[1:], 1):
        before = words[place - 1]
        is_script = before.startswith("-") and before.endswith("c") and before[1:].isalpha()
        if is_script and " " in word and not _is_python(words[:place]):
            words[place] = secret_tools.without_commands(word, is_script=True)
    return words


def _is_python(words: Sequence[str]) -> bool:
    return any(word.rpartition("/")[2].startswith(("python", "pypy")) for word in words)


def _is_header(argument: str) -> bool:
    return argument.endswith(":") and is_sensitive_name(argument[:-1])


def _is_name(argument: str) -> bool:
    """Whether it is the name of a secret, of several words, whose value is the next argument.

    As in `-genv DB_PASSWORD X` and `config set auth.password X`; a single word may be anything.
    """
    is_written = argument[:1].isalpha() and all(c.isalnum() or c in "_.-" for c in argument)
    has_words = is_written and len(secret_names.words_of(argument)) > 1
    is_setting = argument.isupper() and secret_names.kind_of(argument) != secret_names.PLAIN
    return (
        has_words
        and not secret_names.is_place(argument)
        and (is_setting or is_sensitive_name(argument))
    )


def _argument_behind(option: str, argument: str, evidence: int) -> str | None:
    if option.endswith(":"):
        return argument if argument.lower() in _SCHEMES else REDACTED
    safe = _option_value(option, argument, evidence)
    is_public = safe is None and secret_names.is_public(option, argument)
    return redact_tokens(argument) if is_public else safe


def _argument(argument: str, evidence: int, *, is_option: bool) -> str:
    name, equals, value = argument.partition("=")
    is_name = bool(equals) and not any(c in name for c in " \n/:{\"'$?&;,|<>(")
    if is_name:
        safe = _option_value(name, value, evidence) if name.startswith("-") else None
        if safe is None and secret_names.hides(name.lstrip("-"), value) and name != "-p":
            safe = REDACTED
        if safe is None:
            is_public = secret_names.is_public(name, value)
            safe = redact_tokens(value) if is_public else redact_value(value)
        return name + "=" + safe
    if is_option and argument[:2] in ("-u", "-U") and len(argument) > 2:
        safe = _option_value(argument[:2], argument[2:])
        return redact_value(argument) if safe is None else argument[:2] + safe
    if is_option and argument.startswith("-p") and _is_suspicious(argument):
        return _redacted(argument, evidence)
    return redact_value(argument)
