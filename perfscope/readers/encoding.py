"""Text with a byte-order mark, in UTF-8 or UTF-16, as editors and shells of Windows leave it."""

import codecs
from collections.abc import Iterator
from itertools import chain

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def is_marked(head: bytes) -> bool:
    """Whether the first bytes of a file are a byte-order mark, which no format of a trace has."""
    return head.startswith((codecs.BOM_UTF8, *_UTF_16))


def in_utf8(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks of a file, those of a text with a byte-order mark as plain UTF-8.

    What is no character in UTF-16 is replaced; half of one at the end is left out.
    """
    first = next(blocks, b"")
    if first.startswith(_UTF_16):
        decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        texts = (decoder.decode(block) for block in chain([first], blocks))
        yield from (text.encode() for text in texts if text)
        return
    if first := first.removeprefix(codecs.BOM_UTF8):
        yield first
    yield from blocks
