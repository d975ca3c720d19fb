"""From real runs to findings: loops over single elements, and their cure."""

import sys
from pathlib import Path

import pytest

from tests.support import environments
from tests.support.recording import record_and_analyze

pytestmark = pytest.mark.long  # on a crowded host other code of such short runs may lead

HEAD = """
import sys, time
import numpy as np
from perfscope_agent import pace
pace._SHARE = pace.Budget.SHARE = 0.5  # what looks cost on a slow machine keeps none of them away
is_cured = sys.argv[1] == "cured"
draw = np.random.default_rng(1)
end = time.thread_time() + 6
"""
STENCIL = (
    HEAD
    + """
def smooth(grid, out):
    rows, columns = grid.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            near = grid[i - 1, j] + grid[i + 1, j] + grid[i, j - 1] + grid[i, j + 1]
            out[i, j] = near / 4

def smooth_all(grid, out):
    out[1:-1, 1:-1] = (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]) / 4

grid = draw.random((400, 400) if is_cured else (80, 80))
out = grid.copy()
while time.thread_time() < end:
    (smooth_all if is_cured else smooth)(grid, out)
    grid, out = out, grid
"""
)
PAIRS = (
    HEAD
    + """
def nearest(points):
    best = np.inf
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            apart = np.linalg.norm(points[i] - points[j])
            if apart < best:
                best = apart
    return best

def nearest_all(points):
    apart = points[:, None] - points[None]
    square = (apart * apart).sum(axis=2)
    return np.sqrt(square[np.triu_indices(len(points), 1)].min())

while time.thread_time() < end:
    (nearest_all if is_cured else nearest)(draw.random((80, 2)))
"""
)


SAMPLES = """
import sys, time
import torch
from torch import nn
from perfscope_agent import pace
pace._SHARE = pace.Budget.SHARE = 0.5
torch.set_num_threads(1)

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(4, 8), nn.Linear(8, 1)
    def forward(self, rows):
        state = torch.zeros(rows.shape[0], 8)
        for at in range(rows.shape[1]):
            state = self.cell(rows[:, at], state) * 0.9
        return self.out(state)

def count_right(scores, labels):
    right = 0
    for row in range(len(scores)):
        if scores[row, 0].item() * labels[row].item() > 1:
            right += 1
    return right

def learn(model, optimizer):
    rows = torch.randn(8, 10, 4)
    loss = (model(rows) - rows.sum(dim=(1, 2))[:, None]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

model = Recurrent()
optimizer = torch.optim.Adam(model.parameters())
scores, labels = torch.randn(4000, 10), torch.randint(0, 10, (4000,))
end = time.thread_time() + 4
while time.thread_time() < end:
    if sys.argv[1] == "samples":
        count_right(scores, labels)
    for _ in range(30 * (sys.argv[1] == "model")):
        learn(model, optimizer)
"""


@pytest.mark.parametrize("kind", ["samples", "model"])
def test_samples_one_by_one_are_told_and_a_small_model_is_not(tmp_path: Path, kind: str) -> None:
    script = tmp_path / "samples.py"
    script.write_text(SAMPLES, encoding="utf-8")
    torch = environments.environment("torch")
    words: list[str | Path] = [torch.python, script, kind]
    _, document = record_and_analyze(words, place=tmp_path, variables={"OMP_NUM_THREADS": "1"})
    found = [one for one in document["findings"] if one["title"].startswith("Calls on ")]
    assert [one["where"][0]["function"] for one in found] == (
        ["count_right"] if kind == "samples" else []
    )


@pytest.mark.parametrize("kind", ["faulty", "cured"])
@pytest.mark.parametrize(
    ("program", "function"), [(STENCIL, "smooth"), (PAIRS, "nearest")], ids=["stencil", "pairs"]
)
def test_a_loop_over_single_elements(
    tmp_path: Path, program: str, function: str, kind: str
) -> None:
    script = tmp_path / "elements.py"
    script.write_text(program, encoding="utf-8")
    words: list[str | Path] = [sys.executable, script, kind]
    _, document = record_and_analyze(words, place=tmp_path, variables={"OPENBLAS_NUM_THREADS": "1"})
    found = [one for one in document["findings"] if one["title"].startswith("Calls on ")]
    if kind == "cured":
        assert found == []
        return
    (finding,) = found
    assert finding["id"] == "lost_to_interpreter"
    assert finding["status"] == "fail"
    assert finding["where"][0]["function"] == function
    assert finding["confidence"] == "medium"
