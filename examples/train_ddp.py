"""Trains a small classifier with PyTorch's DistributedDataParallel on CPUs.

    perfscope run -- torchrun --nproc-per-node 2 examples/train_ddp.py
    perfscope run -- mpirun -n 2 python examples/train_ddp.py

Nothing is wrong by default; faults are options, see README.md beside this file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

FEATURES = 64
CLASSES = 10
LEARNING_RATE = 0.02
RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
SIZE_VARIABLES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


class Clouds(Dataset[tuple[torch.Tensor, int]]):
    """Points around one center a class; each is made when it is asked for."""

    def __init__(self, count: int, *, seed: int, input_ms: float) -> None:
        generator = torch.Generator().manual_seed(seed)
        self._centers = torch.randn(CLASSES, FEATURES, generator=generator)
        self._count = count
        self._input_s = input_ms / 1000

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if self._input_s:
            time.sleep(self._input_s)
        label = index % CLASSES
        noise = torch.randn(FEATURES, generator=torch.Generator().manual_seed(index))
        return self._centers[label] + 2.0 * noise, label


class Log:
    """Seconds of the parts of each step by the program's own clock, as JSON lines."""

    def __init__(self, path: str | None, rank: int) -> None:
        self._path = path
        self._rank = rank
        self._parts: dict[str, float] = {}
        self._last = time.monotonic()
        self._ready = 0.0

    def watch(self, model: nn.Module) -> None:
        """Tells the exchange of gradients from the backward pass that it ends with."""
        if self._path:
            parameters = tuple(model.parameters())
            torch.autograd.graph.register_multi_grad_hook(parameters, self._gradients_ready)

    def _gradients_ready(self, _gradients: Any) -> None:
        self.part("backward")
        self._ready = self._last

    def part(self, name: str) -> None:
        """What ran since the last call was this part."""
        now = time.monotonic()
        self._parts[name] = self._parts.get(name, 0.0) + now - self._last
        self._last = now

    def step(self, number: int) -> None:
        """Ends a step."""
        self.write(step=number, seconds=self._parts, ready_s=self._ready)
        self._parts = {}

    def write(self, **values: Any) -> None:
        """Appends a line of this rank."""
        if self._path:
            with Path(self._path).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"rank": self._rank, **values}) + "\n")


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=200, help="optimizer steps")
    parser.add_argument("--batch", type=int, default=32, help="samples per rank and micro-batch")
    parser.add_argument("--hidden", type=int, default=256, help="width of the hidden layers")
    parser.add_argument("--workers", type=int, default=2, help="DataLoader workers of each rank")
    parser.add_argument("--accumulate", type=int, default=1, help="micro-batches per step")
    parser.add_argument("--slow-rank", type=int, default=1, help="which rank --slow-ms is for")
    parser.add_argument("--slow-ms", type=float, default=0.0, help="added to its forward pass")
    parser.add_argument("--input-ms", type=float, default=0.0, help="added to making a sample")
    parser.add_argument("--compile", metavar="BACKEND", help="torch.compile (aot_eager, inductor)")
    parser.add_argument("--seed", type=int, default=0, help="of everything random")
    parser.add_argument("--timings", metavar="FILE", help="appends seconds per rank and step")
    return parser.parse_args()


def told(names: tuple[str, ...], default: str) -> str:
    """The first of some variables that the launcher set."""
    return next((os.environ[name] for name in names if name in os.environ), default)


def join_ranks() -> int:
    """Connects the ranks, whoever launched them; the number of this one."""
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")
    rank = int(told(RANK_VARIABLES, "0"))
    dist.init_process_group("gloo", rank=rank, world_size=int(told(SIZE_VARIABLES, "1")))
    return rank


def build_model(chosen: argparse.Namespace) -> nn.Module:
    """A perceptron whose activations are computed in place."""
    model: nn.Module = nn.Sequential(
        nn.Linear(FEATURES, chosen.hidden),
        nn.ReLU(inplace=True),
        nn.Linear(chosen.hidden, chosen.hidden),
        nn.ReLU(inplace=True),
        nn.Linear(chosen.hidden, CLASSES),
    )
    if chosen.compile:
        # Inside, not around: PyTorch compiles nothing of a wrapped model on CPUs.
        model = torch.compile(model, backend=chosen.compile)
    return DistributedDataParallel(model)


def train(chosen: argparse.Namespace, model: nn.Module, log: Log) -> float:
    """Runs all steps; the mean loss of the last one over all ranks."""
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9)
    batches = make_loader(chosen)
    loss = torch.zeros(())
    log.part("start")
    for step in range(chosen.steps):
        for micro in range(chosen.accumulate):
            points, labels = next(batches)
            log.part("input")
            is_last = micro == chosen.accumulate - 1
            with nullcontext() if is_last else model.no_sync():
                loss = nn.functional.cross_entropy(model(points), labels) / chosen.accumulate
                if chosen.slow_ms and dist.get_rank() == chosen.slow_rank:
                    time.sleep(chosen.slow_ms / 1000 / chosen.accumulate)
                log.part("forward")
                loss.backward()
                log.part("exchange")
        optimizer.step()
        optimizer.zero_grad()
        log.part("optimizer")
        log.step(step)
    shown = loss.detach() * chosen.accumulate
    dist.all_reduce(shown)
    return float(shown) / dist.get_world_size()


def make_loader(chosen: argparse.Namespace) -> Any:
    """An iterator over exactly the batches that the steps need."""
    ranks = dist.get_world_size()
    count = chosen.steps * chosen.accumulate * chosen.batch * ranks
    data = Clouds(count, seed=chosen.seed, input_ms=chosen.input_ms)
    sampler: DistributedSampler[Any] = DistributedSampler(data, seed=chosen.seed)
    loader = DataLoader(data, batch_size=chosen.batch, sampler=sampler, num_workers=chosen.workers)
    return iter(loader)


def digest(model: nn.Module) -> str:
    """Equal for models that are equal to the last bit."""
    found = hashlib.sha256()
    for parameter in model.parameters():
        found.update(parameter.detach().numpy().tobytes())
    return found.hexdigest()[:16]


def main() -> None:
    """Trains as the command line says and prints the result."""
    chosen = options()
    torch.set_num_threads(1)
    rank = join_ranks()
    torch.manual_seed(chosen.seed)
    model = build_model(chosen)
    log = Log(chosen.timings, rank)
    log.watch(model)
    start = time.monotonic()
    loss = train(chosen, model, log)
    seconds = time.monotonic() - start
    if chosen.compile:
        from torch._dynamo.utils import counters

        log.write(compiled={name: dict(values) for name, values in counters.items()})
    if rank == 0:
        samples = chosen.steps * chosen.accumulate * chosen.batch * dist.get_world_size()
        print(
            f"result: loss {loss:.6f}  parameters {digest(model)}  seconds {seconds:.2f}"
            f"  samples/s {samples / seconds:.0f}",
            flush=True,
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
