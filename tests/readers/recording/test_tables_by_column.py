"""Whether the calls of a recording are rows or columns changes nothing of what is found."""

from pathlib import Path

import pytest

from perfscope.document.analysis import analysis
from perfscope.metrics.results import Options
from perfscope.readers import open_trace
from perfscope.readers.recording import recorded_calls
from perfscope.schema.write import document_text
from perfscope.trace.columns import Columns

SAMPLE = Path(__file__).resolve().parents[3] / "sample_traces" / "rank_zero_evaluation"


def test_calls_by_column_give_the_same_document(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    for least in (1 << 30, 1):
        monkeypatch.setattr(recorded_calls, "LONG_ROWS", least)
        trace = open_trace(SAMPLE)
        kept: list[object] = [rank.operations for rank in trace.ranks]
        assert all(isinstance(table, Columns) == (least == 1) for table in kept)
        texts.append(document_text(analysis(trace, Options())))
    assert texts[0] == texts[1]
