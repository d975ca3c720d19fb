"""Whether the calls of a recording are rows or columns, and how many at once, changes no result."""

from pathlib import Path

import pytest

from perfscope.attribution import timeline
from perfscope.document.analysis import analysis
from perfscope.metrics.results import Options
from perfscope.readers import open_trace
from perfscope.readers.recording import recorded_calls
from perfscope.schema.write import document_text
from perfscope.trace.columns import Columns

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"


@pytest.mark.parametrize("sample", ["rank_zero_evaluation", "daal4py_imbalance"])
def test_calls_by_column_give_the_same_document(
    sample: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a long run forgets what tells partners; what asks for it all the same would fail."""
    texts = []
    for least in (1 << 30, 1):
        monkeypatch.setattr(recorded_calls, "LONG_ROWS", least)
        monkeypatch.setattr(timeline, "MOST_AT_ONCE", 7 if least == 1 else 1 << 30)
        trace = open_trace(SAMPLES / sample)
        kept: list[object] = [rank.operations for rank in trace.ranks]
        assert all(isinstance(table, Columns) == (least == 1) for table in kept)
        texts.append(document_text(analysis(trace, Options())))
        for rank in trace.ranks:
            assert ("request" in (rank.operations[:1].dtype.names or ())) == (least != 1)
    assert texts[0] == texts[1]
