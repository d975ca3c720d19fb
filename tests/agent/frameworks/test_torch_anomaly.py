"""What anomaly mode adds to backward passes, as the agent measures it in jobs of one process."""

import json
from pathlib import Path
from typing import Any

from tests.agent.frameworks.torch_forks import ran
from tests.agent.jobs import RANK_ZERO

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
off = list(torch_anomaly.spent_ns)
torch.autograd.set_detect_anomaly(True, check_nan=False)
train(3)
print(json.dumps([torch_anomaly._passes[1], len(torch_anomaly._sizes)]))
torch.autograd.set_detect_anomaly(True)
train(8)
print(json.dumps([[*size, count] for size, count in sorted(torch_anomaly._sizes.items())]))
print(json.dumps([off, torch_anomaly.spent_ns]))
"""
MEASURED = """
import json, sys, torch
from perfscope_agent import metadata
from perfscope_agent.frameworks import torch_anomaly
torch.set_default_device("meta")
torch_anomaly._MOST_NS = 10**15  # however busy the machine is
largest, real = [0], torch.zeros
def zeros(values, **keywords):
    largest[0] = max(largest[0], values)
    return real(values, **keywords)
torch.zeros = zeros
torch_anomaly._passes[:], torch_anomaly._used_ns[:] = [9, 4], [10**15] * 3
def told(sizes):
    torch_anomaly._sizes.clear()
    torch_anomaly._sizes.update(sizes)
    assert torch_anomaly.measure()
    return metadata.facts["frameworks"]["torch"]["searched_for_nan"]
metadata.facts["frameworks"] = {}
torch_anomaly._MOST_NS = 10**12  # however busy the machine is
first = told({("float32", 1 << 40): 1, ("complex64", 100): 2, ("float32", 0): 1})
print(json.dumps([first["missed"], first["searched_ns"] > 0, largest[0]]))
print(json.dumps(told({("float8_e5m2", 100): 3})["missed"]))
torch_anomaly._MOST_NS = -1
late = told({("float32", 100): 5})
print(json.dumps([late["missed"], late["searched_ns"]]))
torch_anomaly.forget()
torch_anomaly._MOST_SIZES = 1
with torch.device("cpu"):
    weight = torch.nn.Parameter(torch.rand(30, 20))
    with torch.autograd.set_detect_anomaly(True):
        for _ in range(8):
            torch_anomaly.ends(*torch_anomaly.begins((torch.rand(5, 30) @ weight).sum()), 1)
print(json.dumps([torch_anomaly._passes, torch_anomaly._missed]))
"""


def test_gradients_that_are_searched_are_counted_and_timed(tmp_path: Path) -> None:
    job = ran(PROGRAM, tmp_path, variables=RANK_ZERO)
    metadata: dict[str, Any] = job.process.metadata
    assert metadata["agent_notes"] == []
    off, unsearched, sizes, (before, spent) = map(json.loads, job.stdout.splitlines())
    assert off == [0, 0, 0]
    assert unsearched == [0, 0]
    # the sum hands on the gradient of the product (50 by 20), and that the one of the parameter
    assert sizes == [["float64", 600, 4], ["float64", 1000, 4]]
    told = metadata["frameworks"]["torch"]["searched_for_nan"]
    assert told["looks"] == 4
    assert 0 < told["searched_ns"] < told["whole_ns"] < told["in_mode_ns"]
    # the passes without the mode, and those in which nothing is searched, count among all
    assert before[0] > before[1] > 0 == before[2]
    assert spent[0] > spent[2] + before[0]
    assert told["passes_ns"] > told["in_mode_ns"]
    assert told["missed"] == 0
    lines = [one.split("\x1f")[::2] for one in metadata["switches"]["anomaly_mode"]]
    assert lines == [["<module>", "15"], ["<module>", "18"]]


def test_searches_take_little_memory_and_time_and_what_is_left_out_is_told(tmp_path: Path) -> None:
    lines = ran(MEASURED, tmp_path, variables=RANK_ZERO).stdout.splitlines()
    large, unknown, late, walked = map(json.loads, lines)
    assert large == [0, True, 1 << 20]
    assert unknown == 3
    assert late == [5, 0]
    # of the two gradients of each of four passes one size is kept
    assert walked == [[8, 4], [4]]
