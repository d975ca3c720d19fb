"""Which names say that what they hold is a secret, and which values such a name hides.

A name is read as English reads a compound: its last word says what it is. A `password_length` is a
length and `pin_memory` is about memory, but `db.password`, `accessToken` and `X-Api-Key` are what
must not be written.
"""

from __future__ import annotations

from . import words as secret_words
from .patterns import parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence

# What is secret whatever it looks like.
_SECRETS = frozenset(
    """
    password passwd passphrase passcode passkey pwd pw secret token credential
    credentials creds cred apikey accesskey secretkey privatekey authkey authtoken jwt bearer
    authorization cookie cookies otp totp hmac sessionid sessid jsessionid phpsessid sas
    mnemonic userpwd sshpass oauth psk pswd psw passw pword keypass storepass mfa 2fa pincode
    seedphrase connectionstring connstr connectionstr
    passwort kennwort contraseña contrasena clave passe motdepasse senha parola wachtwoord passord
    lösenord adgangskode salasana hasło haslo heslo jelszó şifre пароль
    """.split()
)
_ENDINGS = tuple(
    """
    password passwd passphrase secret token credential credentials apikey accesskey secretkey
    privatekey sessionid sessid pwd pw 密码 密碼 口令 パスワード 비밀번호
    """.split()
)
# Of a text in which none of these is part of a word, no name has to be read.
_PARTS = tuple(
    """
    secret token credential cookie sess key pass pw signature auth user login code conn phrase
    kennwort contrase 密码 密碼 口令 パスワード 비밀번호
    """.split()
)
# Options that say no more than that what follows is what counts, or that it opens something.
_BARE_OPTIONS = frozenset("value unlock decrypt".split())
# Keys that open something; other keys sort, label and index.
_OF_KEYS = frozenset(
    """
    api access secret private auth encryption encrypt signing sign master ssh storage account
    service client licence shared hmac rsa app deploy aws azure gcp openai anthropic wandb session
    subscription webhook webservice root admin host aes gpg cipher crypto decryption fernet license
    activation
    """.split()
)
# Codes that are typed in to be let in; other codes tell errors, countries and languages.
_OF_CODES = frozenset(
    "auth access security verification activation unlock login pin otp mfa device invite backup"
    " recovery".split()
)
_OTHER_PASSES = frozenset(
    "by com tres sur over under low high band all one two single multi first second".split()
)
# What may be a secret, and is one where its value looks like that.
_MAYBE = frozenset(
    """
    pass passwords secrets pin session key keys auth licence license tokens nonce salt certificate
    cert webhook dsn p sig signature sid pat
    """.split()
)
_NAMES = _SECRETS | _MAYBE | _BARE_OPTIONS
# What is that of labels, too: the keys of a mapping, the signature of a function.
_LABELS = frozenset("key keys tokens p signature sig session license licence pat cert".split())
# Words behind the one that counts: the value of a password is a password.
_FILLERS = frozenset(
    "id value values string str text raw plain b64 base64 hex encoded encrypted new old".split()
)
# Of tokens that a model reads, and of amounts.
_COUNTED = frozenset(
    """
    max min num n total mean avg per first last pad eos bos unk sep cls mask special stop end start
    image audio text prefix suffix vocab next decoder encoder forced class img pos boi eoi begin
    blank dist global memory placeholder initializer query reg register separator delimiter trigger
    """.split()
)
# Their values are long and random without being secret.
_PUBLIC = frozenset(
    """
    commit revision rev sha sha1 sha224 sha256 sha384 sha512 md5 crc checksum uuid guid fingerprint
    blob tree digest gpus devices snapshot build etag
    """.split()
)
_TRIVIAL = frozenset(
    """
    true false yes no on off none null nil undefined auto default required optional empty missing
    enabled disabled invalid valid incorrect wrong expired unknown string str int bytes bool object
    redacted
    """.split()
)
SECRET = "secret"
MAYBE = "maybe"
PLAIN = ""

_known = {}  # type: dict[str, str]


def words_of(name: str) -> list[str]:
    """The words of a name in lower case: of `dbPassword`, `X-Api-Key`, `SECRET_KEY_2`."""
    words, word = [], ""
    for place, c in enumerate(name):
        before, behind = name[place - 1 : place], name[place + 1 : place + 2]
        is_start = c.isupper() and (
            before.islower() or before.isdigit() or (before.isupper() and behind.islower())
        )
        if word and (is_start or not c.isalnum()):
            words.append(word.lower())
            word = ""
        if c.isalnum():
            word += c
    if word:
        words.append(word.lower())
    return words


def kind_of(name: str) -> str:
    """Whether a variable, option or field of this name holds a secret, surely or maybe."""
    known = _known.get(name)
    if known is None:
        known = _judged(words_of(name[-200:]))
        if len(_known) < 4096:
            _known[name] = known
    return known


def _judged(words: list[str]) -> str:
    if len(words) > 1 and words[-2] + words[-1] in _SECRETS:
        return SECRET
    while len(words) > 1 and (words[-1] in _FILLERS or words[-1].isdigit()):
        words = words[:-1]
    if not words:
        return PLAIN
    if len(words) > 1 and words[-1] in ("hash", "digest") and _judged(words[:-1]) == SECRET:
        return SECRET
    head, before = words[-1].rstrip("0123456789") or words[-1], words[:-1]
    if head in ("token", "tokens") and _COUNTED.intersection(before):
        return MAYBE
    if head.endswith("s") and head[:-1].endswith(("key", "token")) and head[:-1] in _SECRETS:
        return SECRET if head != "tokens" else MAYBE
    opens = head in ("key", "keys") and bool(_OF_KEYS.intersection(before))
    opens = opens or (head == "code" and bool(_OF_CODES.intersection(before)))
    if opens or head in _SECRETS or head.endswith(_ENDINGS):
        return SECRET
    return MAYBE if head in _MAYBE or _is_a_pass(head) or is_of_several(head) else PLAIN


def is_counted(word: str) -> bool:
    """Whether a word in front of `token` says that it is one of those that a model reads."""
    return word.lower() in _COUNTED


def is_of_several(head: str) -> bool:
    """Whether the last word of a name is one for several secrets, or for how many there are."""
    one = head[:-1] if head.endswith("s") else ""
    return one not in ("token", "key") and (one in _SECRETS or one.endswith(_ENDINGS[:5]))


def labels(head: str) -> bool:
    """Whether the last word of a name is that of labels, too, and mostly so in front of lists."""
    return head in _LABELS


def _is_a_pass(head: str) -> bool:
    return head.endswith("pass") and head[:-4] not in _OTHER_PASSES


def may_name(word: str) -> bool:
    """Whether a word, in small letters, may name a secret or be the end of such a name."""
    if word in _NAMES:
        return True
    return any(part in word for part in _PARTS)


def may_name_in(lower: str, words: Sequence[str]) -> bool:
    """Whether any word of a text in small letters may; all of it is looked through at once."""
    if any(map(lower.__contains__, _PARTS)):
        return any(may_name(word.lower()) for word in words)
    return any(map(_NAMES.__contains__, map(str.lower, words)))


def may_be_in(text: str) -> bool:
    """Whether a name that is not plain may stand in a text; a quick look at its words."""
    for escaped in ("%26", "%3f", "%3F"):  # of an address, in front of a name
        text = text.replace(escaped, " ")
    runs = parts(text)
    if any(may_name(run.lower()) for run in runs):
        return True
    words = [word for run in runs for word in words_of(run)]
    joined = map("".join, zip(words, words[1:]))
    return any(kind_of(word) != PLAIN for word in words) or any(map(_SECRETS.__contains__, joined))


def is_public(name: str, value: str) -> bool:
    """Whether a name says that its long random value is a hash or an identity."""
    words = words_of(name[-200:])[-2:]
    is_identity = words[-1:] in (["id"], ["ids"]) and all(c in "0123456789abcdef" for c in value)
    return is_identity or bool(_PUBLIC.intersection(words))


def hides(name: str, value: str, *, is_told: bool = True, is_assigned: bool = True) -> bool:
    """Whether a value must not be written where it stands under a name.

    Args:
        name: of a variable, an option, a field or a header.
        value: what stands there.
        is_told: it is a setting, and not a sentence in which a colon stands behind the name.
        is_assigned: it is one as shells have it, and not a constant of a program.
    """
    kind = kind_of(name)
    if kind == PLAIN or is_trivial(value):
        return False
    if kind == SECRET:
        if words_of(name) == ["pwd"] and value.startswith("/"):
            return False  # the working directory of a shell
        most = 6 if len(words_of(name)) > 1 else 5  # digits of the number of a token in a text
        return not (_is_about_tokens(name) and is_number(value) and len(value) <= most)
    if is_assigned and _is_of_an_environment(name):
        return not (is_number(value) or is_place(value) or secret_words.is_common(value))
    head = words_of(name)[-1:]
    if head == ["pin"]:
        return (value.isdigit() and len(value) >= 4) or looks_like_a_password(value)
    if head and _is_a_pass(head[0]):
        is_count = is_number(value) and sum(c.isdigit() for c in value) < 4
        is_open = is_count or is_place(value) or secret_words.is_common(value)
        return looks_like_a_password(value) or (is_told and not is_open)
    if head == ["session"]:
        is_name = _is_label(value) or (value.isalpha() and value.islower())
        return not is_number(value) and not is_name
    return (looks_like_a_password(value) and not _is_label(value)) or _has_groups(value)


def _is_of_an_environment(name: str) -> bool:
    """Whether it is written as variables of environments are, which label nothing: `SLURM_KEY`."""
    return name.isupper() and "_" in name


def is_bare_option(name: str) -> bool:
    """Whether an option says nothing of its value but that it is one: `--value X`, `--unlock X`."""
    return name in _BARE_OPTIONS


def is_harmless(value: str) -> bool:
    """Whether it is too short for a secret, a switch, an amount, a place, a sentence, or common."""
    if len(value) < 3 or is_trivial(value) or is_number(value):
        return True
    is_text = "://" in value or any(c.isspace() for c in value)
    return is_text or is_place(value) or secret_words.is_common(value)


def _is_label(value: str) -> bool:
    """Whether it is written as labels and versions are: `loss_epoch10`, `apache2.0`."""
    parts = value.replace("-", "_").split("_")
    is_plain = all(part.isalnum() for part in parts)
    has_words = len(parts) > 1 and any(
        len(part) > 2 and part.isalpha() and part.islower() for part in parts
    )
    name, dot, number = value.partition(".")
    is_version = bool(dot) and number.isdigit() and name.rstrip("0123456789").isalpha()
    return (is_plain and has_words) or is_version


def _has_groups(value: str) -> bool:
    """Whether it is written in groups of capitals and digits, as keys of licenses are."""
    groups = value.split("-")
    return len(groups) > 2 and all(len(g) > 2 and g.isalnum() and g == g.upper() for g in groups)


def _is_about_tokens(name: str) -> bool:
    return words_of(name)[-1:] in (["token"], ["tokens"], ["id"])


def is_trivial(value: str) -> bool:
    """Whether a value cannot be a secret: nothing, a switch, a word in the place of one."""
    bare = value.strip("\"'()[]{}<>.,;: \\")
    if len(bare) < 2 or value.lower() in _TRIVIAL or bare.lower() in _TRIVIAL:
        return not bare.isdigit() or len(bare) < 2
    if value.startswith(("$", "%(", "{{")) or "[redacted" in value:
        return True
    marks = (value[0], value[-1])
    return (
        marks in (("<", ">"), ("[", "]"), ("{", "}"))
        and bare.strip("/|").replace("_", "").replace("-", "").isalpha()
    )


def is_number(value: str) -> bool:
    """Whether it is an amount, a list or range of them, a size, an address or a shape."""
    begin = value.lstrip("+-.")[:1]
    return begin.isdigit() and all(c.isdigit() or c in "+-.,:/xXeE_%" for c in value)


def is_place(value: str) -> bool:
    """Whether it is the path of a file."""
    _, dot, ending = value.rpartition(".")
    is_file = bool(dot) and 0 < len(ending) < 7 and ending.isalnum() and not ending.isdigit()
    return value.startswith(("/", "./", "../", "~")) or (
        is_file and all(c.isalnum() or c in "._-/" for c in value)
    )


def looks_like_a_password(value: str) -> bool:
    """Whether a short value mixes letters with digits or signs, as passwords do."""
    if len(value) < 6 or is_number(value) or is_place(value) or is_trivial(value):
        return False
    if any(c.isspace() for c in value) or value.startswith("0x"):
        return False
    letters = any(c.isalpha() for c in value)
    signs = any(c in "!@#$%^&*?~+" for c in value)
    parts = value.replace("-", "_").replace(".", "_").replace("/", "_").split("_")
    is_mixed = any(
        len(part) >= 6 and any(c.isdigit() for c in part) and any(c.isalpha() for c in part)
        for part in parts
        if not any(c in "=,:(){}[]" for c in part)
    )
    return letters and (is_mixed or (signs and "=" not in value and "*" not in value))
