"""Compressed files that cost more than any trace are refused early, whatever they are made of."""

import gzip
import re
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from perfscope.errors import UnreadableInputError
from perfscope.readers import registry
from perfscope.readers.common import blocks
from perfscope.readers.recording.stack_events import Forest, decode
from tests.support.write_kineto import small

HEADS = {
    "kineto": b'{"traceEvents":[',
    "horovod": b'[{"name":"NEGOTIATE_X","ph":"B","ts":1},',
    "paraver": b"#Paraver (01/01/2020 at 10:00):100000_ns:1(1):1:1(1:1)\n",
}


def bomb(head: bytes, filler: bytes, *, mebibytes: int) -> bytes:
    """A gzip file that becomes many MiB."""
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(head)]
    parts += [packer.compress(filler * (1 << 20)) for _ in range(mebibytes)]
    return b"".join(parts) + packer.flush()


@pytest.mark.parametrize("name", HEADS)
def test_a_bomb_is_refused_when_little_of_it_was_decompressed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = 0
    original: Callable[..., None] = blocks._Unpacking._check

    def check(unpacking: blocks._Unpacking) -> None:
        nonlocal seen
        seen = unpacking.written
        original(unpacking)

    monkeypatch.setattr(blocks._Unpacking, "_check", check)
    monkeypatch.setattr(blocks, "BOMB_BYTES", 8 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(bomb(HEADS[name], b"\n", mebibytes=50))
    with pytest.raises(UnreadableInputError, match="not read to its end") as caught:
        registry.open_trace(path)
    assert re.search(r"\d+ times", caught.value.why)
    assert seen < 14 << 20


def test_what_is_no_known_format_is_not_decompressed(tmp_path: Path) -> None:
    path = tmp_path / "zeros.gz"
    path.write_bytes(bomb(b"", b"\0", mebibytes=100))
    with pytest.raises(UnreadableInputError, match="is not a trace") as caught:
        registry.open_trace(path)
    assert "compressed with gzip" in caught.value.why


def test_a_file_of_countless_empty_parts(tmp_path: Path) -> None:
    path = tmp_path / "parts.json.gz"
    path.write_bytes(gzip.compress(HEADS["kineto"]) + gzip.compress(b"") * 100_000)
    with pytest.raises(UnreadableInputError, match="too many small parts"):
        registry.open_trace(path)


@pytest.mark.parametrize("name", ["kineto", "paraver"])
def test_a_directory_full_of_bombs_is_left_after_the_first(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Path] = []
    original = blocks._bomb

    def refuse(path: Path, written: int, read: int, growth: blocks.Growth) -> blocks.GrowthError:
        tried.append(path)
        return original(path, written, read, growth)

    monkeypatch.setattr(blocks, "BOMB_BYTES", 4 << 20)
    monkeypatch.setattr(blocks, "_bomb", refuse)
    content = bomb(HEADS[name], b"\n", mebibytes=20)
    for number in range(20):
        folder = tmp_path / str(number % 4)
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.gz").write_bytes(content)
    # files that look like runs of their own are not read: none lies nearer than the others
    with pytest.raises(UnreadableInputError, match=r"not read to its end|holds 20 runs"):
        registry.open_trace(tmp_path)
    assert len(tried) <= 8  # as many at once as there are CPUs


def test_a_trace_in_many_parts_is_read(tmp_path: Path) -> None:
    import json

    text = json.dumps(small().document()).encode()
    path = tmp_path / "trace.json.gz"
    packed = [gzip.compress(text[start : start + 300]) for start in range(0, len(text), 300)]
    path.write_bytes(b"".join(packed) + bytes(1000))
    assert registry.open_trace(path).ranks


def test_stacks_that_are_a_bomb_are_read_as_far_as_they_may_be(tmp_path: Path) -> None:
    path = tmp_path / "stacks.json.gz"
    path.write_bytes(bomb(b"[", b" ", mebibytes=100))
    decoded = decode(path, Forest())
    assert decoded.is_damaged
    assert decoded.spans == []
