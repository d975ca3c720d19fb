"""Notes of models whose buffers are sent: which are kept, where several models are alike."""

from typing import Any

import pytest

from perfscope.agent.perfscope_agent.frameworks import torch_buffers


class Model:
    """As DistributedDataParallel, as far as it is looked at."""


def test_of_twins_the_one_whose_buffers_became_others_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models = [Model(), Model()]
    known: list[Any] = [torch_buffers._Model(one, {"syncs": 0}) for one in models]
    for one in known:
        one.count, one.rows = 1, [torch_buffers._Buffer(0, "table", 1 << 20)]
    notes = [one.told for one in known]
    assert notes[0] == notes[1]
    monkeypatch.setattr(torch_buffers, "_models", known)
    monkeypatch.setattr(torch_buffers, "_told", list(notes))
    assert torch_buffers.begins(models[1], [None, None], True) is None
    (left,) = torch_buffers._told
    assert left is notes[0]
