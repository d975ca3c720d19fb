"""Replaces what a recording names, the same by the same."""

import hashlib
import re
import sys
from dataclasses import field
from functools import cached_property

from perfscope.attribution.activity_rules import module_of
from perfscope.redaction.vocabulary import Vocabulary, vocabulary
from perfscope.structures import dataclass

FRAME = "\x1f"
LONGEST_NUMBER = 4
"""Digits of a number that stays: versions, counts and sizes, and no account or ticket."""

WORD = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[^\W\d_A-Z][^\W_A-Z]*|\d+")
_LETTERS = "bcdfghjkmnpqrstvwxz"
"""Of hashes: no word is made of consonants alone."""
_HASH_LETTERS = 9
_LIBRARY = re.compile(
    r".*/(?=(?:site|dist)-packages/)|.*/(?=lib(?:64)?/python\d)|.*/(?=python\d+\.zip/)"
)
_LAST = re.compile(r"^(.*?)((?:\.[A-Za-z0-9]{1,4})*)$")
_PATH = re.compile(r"[^\s'\"=,;:()\[\]]*/[^\s'\"=,;()\[\]]*")


@dataclass
class Names:
    """What replaces the names of one recording."""

    salt: bytes  # makes the hashes those of this recording alone: without it nobody can try names
    # texts that are replaced wherever they stand, as hosts are
    whole: dict[str, str] = field(default_factory=dict)
    # all that came by to be replaced; what is public comes by too
    removed: set[str] = field(default_factory=set)
    # words of what stayed because everybody has it: libraries, hardware
    public: set[str] = field(default_factory=set)
    _done: dict[str, str] = field(default_factory=dict)

    @cached_property
    def _known(self) -> Vocabulary:
        return vocabulary()

    def knows(self, text: str) -> bool:
        """Whether a whole text stands in perfscope's own code."""
        return text in self._known.texts

    @property
    def private(self) -> set[str]:
        """What was replaced and is of nobody else: it must be found nowhere."""
        return {text for text in self.removed if not self.is_common(text)}

    def is_common(self, text: str) -> bool:
        """Whether others have all words of a text too."""
        words = [word.lower() for word in WORD.findall(text)]
        return all(
            len(word) == 1
            or (word.isdigit() and len(word) <= LONGEST_NUMBER)
            or word in self._known.words
            or word in self.public
            for word in words
        )

    def keep(self, text: str) -> str:
        """A text that stays as it is, since it is no secret that others have it too."""
        self.public.update(word.lower() for word in WORD.findall(text))
        return text

    def hashed(self, text: str) -> str:
        """Letters that stand for a text, always the same for the same one."""
        self.removed.add(text)
        return self._letters(text)

    def host(self, name: str) -> str:
        """What a host is called, here and wherever its name stands in a text."""
        if name and name not in self.whole:
            self.whole[name] = f"host-{self.hashed(name)}"
        return self.whole.get(name, "")

    def number(self, value: int) -> int:
        """Another number of 63 bits for a number that identifies something."""
        digest = hashlib.blake2b(str(value).encode(), key=self.salt, digest_size=8).digest()
        return int.from_bytes(digest, "little") >> 1

    def text(self, text: str) -> str:
        """A text without paths, hosts and words that perfscope does not know."""
        if text not in self._done:
            parts = text.split(FRAME)
            is_frame = len(parts) == 3 and (parts[2].isdigit() or not parts[2])
            self.removed.update(WORD.findall(FRAME.join(parts[:2]) if is_frame else text))
            self._done[text] = self._frame(parts) if is_frame else self._plain(text)
        return self._done[text]

    def path(self, path: str) -> str:
        """A path: of a library that is known from its package on, else hashed by its parts."""
        self.removed.update(WORD.findall(path))
        if path.startswith("<") and "/" not in path:
            return self._words(path)
        if module_of(path) and self._is_public(module_of(path)):
            inside = _LIBRARY.sub("", path, count=1)
            outside = path[: len(path) - len(inside)]
            self._note_parts(outside)
            return self.keep(f"/{inside}" if path != inside else path)
        *places, last = path.split("/")
        marked = [place if self._marks_library(place) else self._place(place) for place in places]
        return "/".join([*marked, self._file(last)])

    def _frame(self, parts: list[str]) -> str:
        function, file, line = parts
        public = module_of(file)
        is_public = bool(public) and self._is_public(public)
        shown = self.keep(function) if is_public else self._words(function)
        return FRAME.join([shown, self.path(file), line])

    def _plain(self, text: str) -> str:
        for name, other in sorted(self.whole.items(), key=lambda item: -len(item[0])):
            text = text.replace(name, f"\0{other}\0")
        pieces = text.split("\0")
        return "".join(
            piece if place % 2 else self._around_paths(piece) for place, piece in enumerate(pieces)
        )

    def _around_paths(self, text: str) -> str:
        done, end = [], 0
        for found in _PATH.finditer(text):
            done += [self._words(text[end : found.start()]), self.path(found[0])]
            end = found.end()
        return "".join([*done, self._words(text[end:])])

    def _words(self, text: str) -> str:
        return WORD.sub(lambda found: self._word(found[0]), text)

    def _word(self, word: str) -> str:
        if word.isdigit():
            if len(word) <= LONGEST_NUMBER:
                return word
            self.removed.add(word)
            return str(self.number(int(word[:300])))
        low = word.lower()
        if len(word) == 1 or low in self._known.words:
            return word
        begin = next((p for p in self._known.prefixes if low.startswith(p)), "")
        self.removed.add(word)
        letters = self._letters(low[len(begin) :])
        kept = word[: len(begin)]
        if kept:
            return kept + letters
        return letters.capitalize() if word[0].isupper() else letters

    def _file(self, name: str) -> str:
        """The name of a file: its words, as they may tell what it is for, and its endings."""
        found = _LAST.match(name)
        return self._words(found[1]) + self._words(found[2]) if found else self._words(name)

    def _place(self, name: str) -> str:
        return self.hashed(name) if name and name not in (".", "..") else name

    def _note_parts(self, outside: str) -> None:
        self.removed.update(place for place in outside.split("/") if len(place) > 1)

    def _marks_library(self, place: str) -> bool:
        return place in ("lib", "lib64", "site-packages", "dist-packages") or bool(
            re.fullmatch(r"python\d(\.\d+)?", place)
        )

    def _is_public(self, module: str) -> bool:
        top = module.partition(".")[0]
        if top in ("site-packages", "dist-packages"):
            return False
        return top in sys.stdlib_module_names or top.lower() in self._known.words

    def _letters(self, text: str) -> str:
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), key=self.salt).digest()
        number, letters = int.from_bytes(digest, "little"), []
        for _ in range(_HASH_LETTERS):
            number, place = divmod(number, len(_LETTERS))
            letters.append(_LETTERS[place])
        return "".join(letters)
