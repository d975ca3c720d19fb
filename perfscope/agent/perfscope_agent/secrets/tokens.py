"""Values that tell by themselves that they are secrets: tokens of known services, and random text.

How the tokens of services begin, and how long they are, is what gitleaks (MIT license, Zachary Rice
and contributors, https://github.com/gitleaks/gitleaks, config/gitleaks.toml) and the services'
documentation say; only these facts are used.
"""

from __future__ import annotations

from . import names as secret_names
from .patterns import Patterns, has_key, has_run, has_token, keys, may_hold, parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

REDACTED = "[redacted]"

# Beginning and least length of what follows, of letters, digits, `-` and `_`.
_BEGINNINGS = """
    ghp_ 12 gho_ 12 ghs_ 12 ghu_ 12 ghr_ 12 github_pat_ 12
    glpat- 12 gldt- 12 glft- 12 glptt- 12 glrt- 12 glcbt- 12 glimt- 12 gloas- 12 glsoat- 12
    glffct- 12 glagent- 12 GR1348941 12
    shpat_ 12 shpca_ 12 shppa_ 12 shpss_ 12 shpua_ 12
    dop_v1_ 12 doo_v1_ 12 dor_v1_ 12
    sk- 16 sk_live_ 8 sk_test_ 8 sk_prod_ 8 rk_live_ 8 rk_test_ 8 rk_prod_ 8 pk_live_ 8 whsec_ 12
    xoxa- 8 xoxb- 8 xoxe- 8 xoxo- 8 xoxp- 8 xoxr- 8 xoxs- 8 xoxc- 8 xoxd- 8 xapp- 8
    hf_ 16 api_org_ 16 npm_ 16 pypi- 16 rubygems_ 16 AIza 20 GOCSPX- 12 ya29. 12
    glsa_ 12 glc_ 16 pul- 20 pnu_ 16 pplx- 16 gsk_ 16 r8_ 20 tfp_ 16 rdme_ 20 ntn_ 16 lin_api_ 16
    sntrys_ 16 sntryu_ 16 pscale_tkn_ 12 pscale_pw_ 12 pscale_oauth_ 12 dapi 30 ico- 20 fio-u- 16
    shippo_live_ 16 shippo_test_ 16 duffel_live_ 16 duffel_test_ 16 sq0atp- 16 sq0csp- 16
    FLWSECK_TEST- 12 FLWSECK- 12 PMAK- 16 NRAK- 16 NRII- 16 NRJS- 16 key- 30 tk-us- 16
    sbp_ 20 sgp_ 16 HRKU- 16 xkeysib- 16 ATATT3 16 ATCTT3 16 ATBB 20 AKCp 30 LTAI 16
    EZAK 30 EZTK 30 ABSK 30 CLOJARS_ 16 sm_aat_ 12 sm_pat_ 12 sm_sat_ 12 dckr_pat_ 12 dckr_oat_ 12
    dp.pt. 16 dp.st. 16 hvs. 16 hvb. 16 hvr. 16 SG. 16 fo1_ 20 fm2_ 20 nvapi- 16 wandb_v1_ 12
    p8e- 20 AGE-SECRET-KEY-1 16 tskey- 12 cfat_ 16 vc_ 30 oy2 40 API- 24
    figd_ 16 lip_ 20 ops_eyJ 16 sl.B 30 shp_ 20 tok_ 16 EAACEdEose0cBA 8
""".split()
BEGINNINGS = tuple(zip(_BEGINNINGS[::2], map(int, _BEGINNINGS[1::2])))
OTHERS = (
    r"eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)*",  # JSON web token
    r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{12,}",  # AWS
    r"A3-[A-Z0-9]{6}-[A-Z0-9]{6,11}-[A-Z0-9-]{10,}",  # 1Password
    r"[\w~.]{3}\dQ~[\w~.-]{31,}",  # Azure AD
    r"\d{8,10}:AA[\w-]{30,}",  # Telegram
    r"[MN][\w-]{23,}\.[\w-]{6}\.[\w-]{27,}",  # Discord
    r"[a-z0-9]{14}\.atlasv1\.[\w-]{40,}",  # Terraform
    r"dt0c01\.\w{20,}\.\w{40,}",  # Dynatrace
    r"\w{6}_\w{29}_mmk",  # MaxMind
    r"\$(?:2[aby]|5|6|y|argon2\w*)\$[\w./$,=+-]{20,}",  # hashes of passwords
    r"(?:pat|sat)\.[\w-]{20,}\.\w{20,}\.\w{16,}",  # Harness
    r"sha256~[\w-]{40,}",  # OpenShift
    r"SK[0-9a-f]{32}",  # Twilio
    r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}",  # Cloudflare
    r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",  # Airtable
)
_MARKS = (
    *(text for text, _ in BEGINNINGS),
    *"eyJ A3T AKIA ASIA ABIA ACCA AROA AIDA A3- Q~ :AA .atlasv1. dt0c01. _mmk $2 $5 $6 $y".split(),
    *"$argon2 pat. sat. sha256~ v1.0-".split(),
)
"""One of them stands in each token but those of Twilio, Airtable and Discord, which are long."""
_LEAST_TWILIO = 34
_LEAST_TOKEN = 11
_LEAST_UNMARKED = 57
_PLACES = (
    r"(?i:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/|"
    r"webhook\.office\.com/webhookb2/|api\.telegram\.org/(?:file/)?bot)(?=[^\s'\"])"
)
"""Addresses that are secrets themselves from here on."""

_LEAST_RANDOM = 20
_LEAST_HASH = 32
_BLANKS = dict.fromkeys(map(ord, "\"'`=,;:()<>[]{}|"), " ")
_KNOWN = r"(?<![A-Za-z0-9])(?:(?:%s)[\w-]{8,}|%s)(?:\.[\w-]{8,})*=*" % (
    "|".join(text.replace(".", "\\.") for text, _ in BEGINNINGS),
    "|".join(OTHERS),
)
_patterns = Patterns(
    {
        "pem": r"(?s)-----BEGIN.*?(?:-----END[^-]*-----|\Z)",
        "places": "(" + _PLACES + r")[^\s'\"]+",
        "known": _KNOWN,
        "url": r"(?<=://)[^\s'\"<>]+",
        "header": r"(?i)(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)([^\"'\n\r]+)",
        "scheme": r"(?i)\b(bearer|basic|token|apikey|api-key)\s+([^\s'\",;)]+)",
        "cookie": r"(?i)(\b(?:set-)?cookie\s*:\s*)([^\"'\n\r]+)",
    }
)


def _may_hold_tokens(text: str) -> bool:
    """Whether the pattern of known tokens may match in a text; a quick look."""
    if not has_run(text, _LEAST_TOKEN):
        return False
    if any(map(text.__contains__, _MARKS)) or has_token(text, _LEAST_UNMARKED):
        return True
    return "SK" in text and has_token(text, _LEAST_TWILIO)  # two letters, as chance has them


def without_tokens(text: str) -> str:
    """The text without tokens of known services, keys and passwords in addresses."""
    if "-----BEGIN" in text:
        text = _patterns["pem"].sub(REDACTED, text)
    if may_hold(text, "hooks.slack", "discord", "webhook", "telegram"):
        text = _patterns["places"].sub(r"\1" + REDACTED, text)
    if "://" in text:
        text = _patterns["url"].sub(lambda m: _address(m.group()), text)
    return _patterns["known"].sub(_token, text) if _may_hold_tokens(text) else text


def _token(found: re.Match[str]) -> str:
    return REDACTED if _is_long_enough(found.group()) else found.group()


def _address(rest: str) -> str:
    """What stands behind `://`, without the user and the password in front of the host.

    A password may hold `@` and `/`, and a port or a path is no password.
    """
    name, colon, behind = rest.partition(":")
    authority = rest.split("/", 1)[0].split("?", 1)[0]
    digits = len(behind) - len(behind.lstrip("0123456789"))
    is_port = digits > 0 and behind[digits : digits + 1] in ("", "/", "?", "#", ",")
    may_hold = colon and "/" not in name and "?" not in name and "@" not in name and not is_port
    if "@" in authority or (may_hold and "@" in behind):
        place = rest.rfind("@") if may_hold or is_port else authority.rfind("@")
        return REDACTED + rest[place:]
    return rest


def without_headers(text: str) -> str:
    """The text without the values of headers of HTTP."""
    if may_hold(text, "authorization"):
        text = _patterns["header"].sub(r"\1" + REDACTED, text)
    if may_hold(text, "cookie"):
        text = _patterns["cookie"].sub(r"\1" + REDACTED, text)
    if may_hold(text, "bearer", "basic", "token", "apikey", "api-key"):
        text = _patterns["scheme"].sub(_scheme, text)
    return text


def _scheme(found: re.Match[str]) -> str:
    scheme, value = found.group(1), found.group(2)
    is_any = scheme.lower() == "bearer" and not secret_names.is_trivial(value)
    is_base64 = scheme.lower() == "basic" and (
        value.endswith("=") or (len(value) > 7 and not value.isalpha())
    )
    if is_any or is_base64 or secret_names.looks_like_a_password(value):
        return scheme + " " + REDACTED
    return found.group()


def _is_long_enough(token: str) -> bool:
    """Whether a token is as long as those of the service by whose beginning it was found."""
    least = [least for text, least in BEGINNINGS if token.startswith(text)]
    return not least or any(
        len(token) - len(text) >= least for text, least in BEGINNINGS if token.startswith(text)
    )


def is_suspicious(word: str) -> bool:
    """Whether a run of letters and digits may be part of what looks random; a quick look."""
    if len(word) < 10 or word.isdigit():
        return False
    return not word.isalpha() or (len(word) >= 28 and not word.islower() and not word.isupper())


def looks_random(word: str, *, is_path: bool = False) -> bool:
    """Whether a word mixes its characters as keys do, and as names do not.

    In a path lower-case hashes are what package managers and caches name their directories by.
    """
    if len(word) < _LEAST_RANDOM or _is_uuid(word):
        return False
    found = parts(word)
    if any(_is_random_part(part, is_path=is_path) for part in found):
        return True
    # base64 has few signs between its letters; names and shapes have many, or are of one case
    whole = "".join(found)
    is_dense = 9 * len(found) < len(whole) and not (whole.islower() or whole.isupper())
    return is_dense and not _is_made_of_words(word) and _is_random_part(whole, is_path=is_path)


def may_hold_keys(text: str) -> bool:
    """Whether a chunk, or where it is a path a part of it, has as many characters as keys."""
    if not has_key(text, _LEAST_RANDOM):
        return False
    for chunk in text.translate(_BLANKS).split():
        parts_of_it = chunk.split("/") if is_path(chunk) else [chunk]
        if any(has_key(part, _LEAST_RANDOM) for part in parts_of_it):
            return True
    return False


def may_be_random(text: str, *, is_part: bool = False) -> bool:
    """Whether a key may stand in a text, or part of a path, that has the characters for it."""
    if any(map(text.__contains__, ("=", "%3", "＝", "："))):
        return True
    for chunk in text.translate(_BLANKS).split():
        is_place = is_part or is_path(chunk)
        for part in chunk.split("/") if is_place else [chunk]:
            if any(looks_random(row, is_path=is_place) for row in keys(part, _LEAST_RANDOM)):
                return True
    return False


def is_path(chunk: str) -> bool:
    """Whether a chunk is a path, and no key with slashes in it."""
    return "/" in chunk and (chunk[0] in "/.~" or _has_a_word(chunk))


def _has_a_word(chunk: str) -> bool:
    """Whether a part between slashes is a word or a file, as in no key of base64."""
    return any(
        len(part) > 2 and ("." in part or (part.islower() and not any(c.isdigit() for c in part)))
        for part in chunk.split("/")
    )


def _is_made_of_words(word: str) -> bool:
    """Whether most of its parts are words or numbers: a name in snake case or a path."""
    found = parts(word)
    plain = sum(
        part.isdigit() or (part.isalpha() and (part[1:].islower() or part.isupper()))
        for part in found
    )
    return 2 * plain >= len(found) and len(found) > 1


def _is_uuid(word: str) -> bool:
    found = [part for part in word.split("-") if part]
    for start in range(len(found)):
        lengths = [len(part) for part in found[start : start + 5]]
        if lengths == [8, 4, 4, 4, 12]:
            return all(_is_hex(part) for part in found[start : start + 5])
    return False


def _is_hex(text: str) -> bool:
    return all(c in "0123456789abcdefABCDEF" for c in text)


def _is_random_part(part: str, *, is_path: bool = False) -> bool:
    if len(part) < _LEAST_RANDOM:
        return False
    has_digits = any(c.isdigit() for c in part)
    has_upper = any(c.isupper() for c in part)
    has_lower = any(c.islower() for c in part)
    if _is_hex(part):
        mixed = has_digits and (has_upper or has_lower)
        return mixed and len(part) >= _LEAST_HASH and not is_path and _pieces(part) * 5 > len(part)
    if has_upper and has_lower:
        pieces = _pieces(part)
        return pieces * 13 > len(part) * 4 and (has_digits or len(part) >= 28)
    if has_digits and (has_upper or has_lower) and not is_path:
        return _pieces(part) * 4 > len(part) and _digits_apart(part) >= 4
    return False


def _pieces(part: str) -> int:
    """Runs of one kind of character; a capital before small letters begins a word."""
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in part]
    pairs = zip(kinds, kinds[1:])
    return 1 + sum(a != b and (a, b) != ("u", "l") for a, b in pairs)


def _digits_apart(part: str) -> int:
    """How many different digits it has."""
    return len({c for c in part if c.isdigit()})
