"""Rows that a layer computes and a selection drops, as the agent sees them in one process."""

import ast
import json
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import metadata, recorder, selections, sources
from perfscope.agent.perfscope_agent.pace import Budget
from tests.agent.jobs import RANK_ZERO, run
from tests.support import environments

PROGRAM = """
import json, sys, torch
from perfscope_agent import metadata, pace
from perfscope_agent.frameworks import torch_selected

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.mixed = torch.nn.Linear(8, 8), torch.nn.LSTM(8, 8, batch_first=True)
        self.score = torch.nn.Linear(8, 300)
        self.wide = torch.nn.Linear(8, 12)
        self.mix = torch.nn.Parameter(torch.rand(10, 10))
        self.square = torch.nn.Parameter(torch.rand(8, 8))

    def forward(self, x, kind):
        rows, _ = self.mixed(torch.relu(self.first(x)))
        if kind == "last":
            scores = self.score(rows)
            return scores[:, -1]
        if kind == "marked":
            return self.score(rows)[x[:, :, 0] > 0.75]
        if kind == "two layers":
            return self.score(torch.relu(self.first(rows)))[:, -2:]
        if kind == "by turns":
            self.turn = getattr(self, "turn", 0) + 1
            scores = self.score(rows)
            return scores[:, -1] if self.turn < 20 else scores
        if kind == "pieces":
            scores = self.score(rows)
            return torch.cat([scores[:, :3], scores[:, 3:]], 1)
        if kind == "mean too":
            scores = self.score(rows)
            return scores[:, -1] + scores.mean(1)
        if kind == "columns":
            return self.score(rows)[..., :9]
        if kind == "halves":
            first, second = self.score(rows).chunk(2)
            return first - second
        if kind == "one half":
            return self.score(rows).chunk(2)[0]
        if kind == "times":
            return sum(torch.tanh(one) for one in self.score(rows).unbind(1))
        if kind == "loop":
            return sum(one for one in self.score(rows.flatten(0, 1)))
        if kind == "mixed":
            return torch.mm(self.mix, torch.relu(torch.mm(rows[:, 0], self.square)))[-1:]
        if kind == "entries":
            return self.score(rows)[:, :, -1]
        if kind == "square":
            return self.wide(rows)[..., -1]
        if kind == "single numbers":
            at = torch.arange(12)
            return self.wide(rows)[at % 10, at, at]
        if kind == "gathered":
            return self.score(rows).gather(1, torch.randint(12, (10, 1, 300)))
        return self.score(rows[:, -1])

torch.set_num_threads(1)
for kind in sys.argv[1:]:
    torch_selected.looker.__init__()
    # what looks cost on a slow machine keeps none of them away
    torch_selected.looker._budget = pace.Budget(1 << 50)
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(42):
        loss = model(torch.rand(10, 12, 8), kind).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(json.dumps(metadata.facts["frameworks"]["torch"].pop("selected_rows", None)))
"""
SOME, ALL = (
    ("last", "marked", "two layers", "one half"),
    (
        *("by turns", "pieces", "mean too", "columns", "before", "halves", "times", "loop"),
        *("mixed", "entries", "square", "single numbers", "gathered"),
    ),
)


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any] | None]:
    """What is noted of each kind of program, in one process that loads PyTorch once."""
    place = tmp_path_factory.mktemp("selected")
    (place / "program.py").write_text(PROGRAM)
    job = run(
        [place / "program.py", *SOME, *ALL],
        place / "trace",
        python=environments.environment("torch").python,
        cwd=place,
        variables=RANK_ZERO,
    )
    assert job.exit_code == 0, job.stderr
    assert job.process.metadata["agent_notes"] == []
    return dict(zip((*SOME, *ALL), map(json.loads, job.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("kind", SOME)
def test_rows_that_a_selection_drops_are_counted(
    kind: str, noted: dict[str, dict[str, Any] | None]
) -> None:
    """In the 5th, 10th, 20th and 40th pass, of 120 rows each."""
    told = noted[kind]
    assert told is not None
    assert (told["looks"], told["rows"], told["layer"]) == (4, 480, [300, 8])
    assert 0 < told["chain_ns"] < told["whole_ns"]
    used = {"last": 40, "two layers": 80, "one half": 240}.get(kind)
    assert told["used"] == used if used else 40 < told["used"] < 200


@pytest.mark.parametrize("kind", ALL)
def test_what_is_used_is_not_dropped(kind: str, noted: dict[str, dict[str, Any] | None]) -> None:
    assert noted[kind] is None


DROPS = [
    "y = score(rows)\nuse(y[:, -1])",
    "use(score(rows)[:, -1])",
    "y = score(rows)\nuse(y[..., 3, :], y[:, 1:])",
    "use(self.score(rows)[:, -1])",
    "use(score(rows)[mask == 1])",
]
KEEPS = [
    "use(score(rows)[..., 3])",
    "use(score(rows)[:, :, :2])",
    "use(np.loadtxt(file)[:, 1:])",
    "use(np.asarray(x)[:, :2])",
    "use(df.pivot(a)[:, 0])",
    "y = score(rows)\nuse(y[:, -1], y)",
    "y = score(rows)\nuse(y[0])",
    "y = score(rows)\ny = y[:, -1]\nuse(y)",
    "y = score()\nuse(y[:, -1])",
    "use(rows[:, -1], score(rows)[:, :])",
    "y = score(rows)\ny[:, -1] = 0",
]


@pytest.mark.parametrize("text", [*DROPS, *KEEPS])
def test_calls_whose_result_loses_rows(text: str) -> None:
    found = selections.places(ast, "model.py", ast.parse(text), {"score"}, 3)
    assert found == ([("<module>", 1)] if text in DROPS else [])
    inside = "class A:\n def f(self):\n  " + text.replace("\n", "\n  ")
    found = selections.places(ast, "model.py", ast.parse(inside), {"score"}, 3)
    assert found == ([("A.f", 3)] if text in DROPS else [])


def test_an_axis_that_is_the_last_one_holds_no_rows() -> None:
    tree = ast.parse("use(score(rows)[:, :2])")
    assert selections.places(ast, "model.py", tree, {"score"}, 2) == []
    assert selections.places(ast, "model.py", tree, {"score"}, 3) == [("<module>", 1)]


def test_lines_are_those_of_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"torch": {"selected_rows": {"axes": 3}}}
    monkeypatch.setattr(metadata, "facts", {"frameworks": told})
    monkeypatch.setattr(recorder, "rank_and_size", lambda: (0, 2))
    text = b"score = torch.nn.Linear(8, 300)\nuse(score(rows)[:, -1])\nuse(np.ones(x)[:, -1])\n"
    monkeypatch.setattr(sources, "texts", lambda _: iter([("model.py", text)]))
    assert selections.note(Budget(1 << 40))
    assert metadata.facts["selections"] == ["<module>\x1fmodel.py\x1f2"]
