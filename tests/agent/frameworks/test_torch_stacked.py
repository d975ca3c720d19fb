"""Layers that might be applied to stacked inputs, as the agent sees them in one process."""

import json
from typing import Any

import pytest

from tests.agent.jobs import RANK_ZERO, run
from tests.support import environments

PROGRAM = """
import json, sys, torch
from torch.utils.checkpoint import checkpoint
from perfscope_agent import metadata, pace
from perfscope_agent.frameworks import torch_stacked, torch_unused

NOTES, TURNS = 90, 9

class Composer(torch.nn.Module):
    '''Writes melodies: a recurrent cell, and the notes that follow.'''

    def __init__(self):
        super().__init__()
        self.notes = torch.nn.Embedding(NOTES, 12)
        self.first = torch.nn.Linear(16, 16)
        self.second = torch.nn.Linear(16, 16)
        self.cell = torch.nn.RNNCell(12, 16)
        self.follow = torch.nn.Linear(16, NOTES)
        self.filter = torch.nn.Conv1d(1, 40, 5, padding=2)
        self.mask = torch.ones(4, 16) > 2

    def forward(self, melody, kind):
        state = torch.zeros(4, 16)
        note, found = melody[:, 0], []
        scored = self.notes(melody)
        for turn in range(TURNS):
            given = scored[:, turn]
            if kind == "chosen":
                given = self.notes(note)
            elif kind == "looked up":
                given = self.notes(melody[:, turn])
            elif kind == "from elsewhere":
                given = given + note[:, None] / 1000
            elif kind == "fed in" and found:
                given = given + found[-1][:, :12]
            state = self.cell(given, state)
            seen = torch.nn.functional.dropout(state, 0.25) if kind == "dropout" else state
            if kind == "masked":
                seen = seen.masked_fill(self.mask, 0.0) / 4.0
            if kind == "checkpoint":
                seen = checkpoint(lambda one: one * self.mask, seen, use_reentrant=False)
            if kind == "filters":
                found.append(self.filter(seen[:, None]))
                continue
            scores = self.follow(seen)
            note = scores.argmax(1)
            found.append(scores)
            if kind == "fed back":
                state = state + scores[:, :16]
        return torch.stack(found, 1)

def last(model, melody, kind):
    rows = torch.relu(model.first(model.notes(melody).sum(2, keepdim=True).expand(-1, -1, 16)))
    return model.follow(model.second(rows))

torch.set_num_threads(1)
# others look at other passes of one training, not of several in a row
torch_unused._lookers = lambda: (torch_stacked.looker,)
for kind in sys.argv[1:]:
    torch_stacked.looker.__init__()
    # what looks cost on a slow machine keeps none of them away
    torch_stacked.looker._budget = pace.Budget(1 << 50)
    torch_stacked.torch_stacked_times._budget = pace.Budget(1 << 50)
    torch_stacked._LEAST_PART = 1 << 50
    torch.manual_seed(0)
    model = Composer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    make = last if kind == "different layers" else Composer.forward
    for step in range(31):
        melody = torch.randint(NOTES, (4, TURNS))
        loss = make(model, melody, kind).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch_stacked.looker.measure()
    print(json.dumps(metadata.facts["frameworks"]["torch"].pop("stacked", None)))
"""
CERTAIN = "scored", "looked up", "dropout", "masked", "filters"
UNCERTAIN = "chosen", "from elsewhere"
NONE = "fed in", "different layers"
OF_CELL = "fed back", "checkpoint"


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any] | None]:
    """What is noted of each kind of program, in one process that loads PyTorch once."""
    place = tmp_path_factory.mktemp("stacked")
    (place / "program.py").write_text(PROGRAM)
    kinds = (*CERTAIN, *UNCERTAIN, *NONE, *OF_CELL)
    job = run(
        [place / "program.py", *kinds],
        place / "trace",
        python=environments.environment("torch").python,
        cwd=place,
        variables=RANK_ZERO,
    )
    assert job.exit_code == 0, job.stderr
    assert job.process.metadata["agent_notes"] == []
    return dict(zip(kinds, map(json.loads, job.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("kind", [*CERTAIN, *UNCERTAIN])
def test_applications_of_a_layer_none_of_which_needs_another_are_counted(
    kind: str, noted: dict[str, dict[str, Any] | None]
) -> None:
    """In the 7th, 15th and 30th pass; what may come around the graph is not certain."""
    told = noted[kind]
    assert told is not None
    assert (told["looks"], told["times"]) == (3, 9)
    assert told["certain"] == (kind in CERTAIN)
    assert 0 < told["parts_ns"] < told["whole_ns"]
    layer, taken = ([40, 1, 5], [4, 1, 16]) if kind == "filters" else ([90, 16], [4, 16])
    assert (told["layer"], told["taken"]) == (layer, taken)
    assert told["gathered"]


@pytest.mark.parametrize("kind", [*CERTAIN, *UNCERTAIN])
def test_both_forms_are_timed(kind: str, noted: dict[str, dict[str, Any] | None]) -> None:
    told = noted[kind]
    assert told is not None
    assert told["timed"] == 9
    for name in ("apart_ns", "apart_back_ns", "stacked_ns", "stacked_back_ns"):
        low, middle, high = told[name]
        assert 0 < low <= middle <= high


@pytest.mark.parametrize("kind", OF_CELL)
def test_what_a_cell_makes_of_its_input_needs_no_state(
    kind: str, noted: dict[str, dict[str, Any] | None]
) -> None:
    """Where a result goes into the state, and behind a checkpoint, which keeps things elsewhere."""
    told = noted[kind]
    assert told is not None
    assert (told["layer"], told["certain"]) == ([16, 12], True)


@pytest.mark.parametrize("kind", NONE)
def test_what_needs_the_result_before_it_is_not_told(
    kind: str, noted: dict[str, dict[str, Any] | None]
) -> None:
    assert noted[kind] is None
