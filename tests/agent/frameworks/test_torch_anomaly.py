"""What anomaly mode adds to backward passes, as the agent measures it in jobs of one process."""

import json
from pathlib import Path
from typing import Any

from tests.agent.jobs import RANK_ZERO, run
from tests.support import environments

PROGRAM = """
import json, sys, torch
from perfscope_agent.frameworks import torch_anomaly
weight = torch.nn.Parameter(torch.rand(30, 20, dtype=torch.float64))
optimizer = torch.optim.SGD([weight], lr=0.01)
def train(passes):
    for _ in range(passes):
        optimizer.zero_grad()
        loss = torch.mm(torch.rand(50, 30, dtype=torch.float64), weight).sum()
        loss.backward()
        optimizer.step()
train(8)
print(json.dumps([*torch_anomaly._passes, len(torch_anomaly._sizes)]))
torch.autograd.set_detect_anomaly(True, check_nan=False)
train(3)
print(json.dumps([torch_anomaly._passes[1], len(torch_anomaly._sizes)]))
torch.autograd.set_detect_anomaly(True)
train(8)
print(json.dumps([[*size, count] for size, count in sorted(torch_anomaly._sizes.items())]))
"""


def test_gradients_that_are_searched_are_counted_and_timed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    python = environments.environment("torch").python
    job = run(
        [tmp_path / "program.py"],
        tmp_path / "trace",
        python=python,
        cwd=tmp_path,
        variables=RANK_ZERO,
    )
    assert job.exit_code == 0, job.stderr
    metadata: dict[str, Any] = job.process.metadata
    assert metadata["agent_notes"] == []
    off, unsearched, sizes = map(json.loads, job.stdout.splitlines())
    assert off == [0, 0, 0]
    assert unsearched == [0, 0]
    # the sum hands on the gradient of the product (50 by 20), and that the one of the parameter
    assert sizes == [["float64", 600, 4], ["float64", 1000, 4]]
    told = metadata["frameworks"]["torch"]["searched_for_nan"]
    assert told["looks"] == 4
    assert 0 < told["searched_ns"] < told["whole_ns"]
    lines = [one.split("\x1f")[::2] for one in metadata["switches"]["anomaly_mode"]]
    assert lines == [["<module>", "14"], ["<module>", "17"]]
