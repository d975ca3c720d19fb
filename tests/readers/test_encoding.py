"""Text with a byte-order mark is read as the same text without one."""

import codecs
import gzip
import json
from pathlib import Path

import pytest

from perfscope.readers.registry import open_trace
from tests.support.write_kineto import small

WRITTEN = Path(__file__).parent
MPROF = "CMDLINE python train.py\nMEM 10.5 1700000000.25\nMEM 11.5 1700000001.25\n"
HOROVOD = (
    '[{"name":"process_name","ph":"M","pid":1,"args":{"name":"gradient"}},'
    '{"ph":"B","name":"NEGOTIATE_ALLREDUCE","ts":0,"pid":1},'
    '{"ph":"X","name":"0","ts":5,"pid":1,"dur":0},{"ph":"E","ts":9,"pid":1}]'
)
MARKS = {
    "utf-8-sig": b"",
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}


@pytest.mark.parametrize("encoding", MARKS)
@pytest.mark.parametrize("form", ["kineto", "horovod", "mprof", "talp", "log"])
def test_a_mark_changes_nothing(tmp_path: Path, form: str, encoding: str) -> None:
    text = {
        "kineto": json.dumps(small().document()),
        "horovod": HOROVOD,
        "mprof": MPROF,
        "talp": (WRITTEN / "talp/written/3.4.json").read_text(),
        "log": (WRITTEN / "joblog/written/columns.txt").read_text(),
    }[form]
    plain, marked = tmp_path / "plain", tmp_path / "marked"
    plain.write_text(text)
    marked.write_bytes(MARKS[encoding] + text.encode(encoding))
    packed = tmp_path / "marked.gz"
    packed.write_bytes(gzip.compress(marked.read_bytes()))
    told = open_trace(plain)
    for path in (marked, packed):
        found = open_trace(path)
        assert found.format is told.format
        assert (found.wall_ns, len(found.ranks)) == (told.wall_ns, len(told.ranks))
        assert [len(rank.phases) for rank in found.ranks] == [len(r.phases) for r in told.ranks]
        assert [r.tables for r in found.tool_reports] == [r.tables for r in told.tool_reports]
