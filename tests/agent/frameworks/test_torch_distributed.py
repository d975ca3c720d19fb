"""torch.distributed in one process: what torch.compile sees, what is recorded, what is not."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from perfscope.agent.perfscope_agent.recorder import Phase
from tests.agent.frameworks.torch_forks import ran
from tests.agent.jobs import RANK_ZERO, Job, run
from tests.support.environments import Environment

# Graph breaks inside and outside of collectives, in a whole model and in functions.
COMPILED = """
import json, os, re, sys, warnings
warnings.simplefilter("ignore")
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.nn.parallel import DistributedDataParallel

if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(inplace=True)]
    inner = torch.compile(torch.nn.Sequential(*layers), backend="aot_eager")
    model = DistributedDataParallel(inner)
    outer = torch.compile(model, backend="aot_eager")

    @torch.compile(backend="eager")
    def reduced(x):
        y = x * 2
        dist.all_reduce(y)
        return y + 1

    @torch.compile(backend="eager")
    def broken(x):
        y = x * 2
        dist.broadcast(y, 0)
        z = y + 1
        dist.barrier()
        return z * 2

    @torch.compile(backend="eager")
    def started(x):
        y = functional.all_reduce(x * 2, "sum", dist.group.WORLD)
        work = dist.all_reduce(x, async_op=True)
        work.wait()
        return y + 1

    @torch.compile(backend="eager")
    def whole_step(x):
        loss = model(x).sum()
        loss.backward()
        return loss * 2

    for number in range(2):
        x = torch.ones(4 + number, 8)
        model(x).sum().backward()
        outer(x).sum().backward()
        reduced(x), broken(x), started(x), whole_step(x)
    found = torch._dynamo.utils.counters
    text = json.dumps({name: dict(values) for name, values in found.items()}, sort_keys=True)
    print(re.sub("0x[0-9a-f]+", "", text))
    print([float(p.grad.sum()) for p in model.parameters()])
    dist.destroy_process_group()
"""

COLLECTIVES = """
import sys, torch
import torch.distributed as dist
from torch.distributed import all_reduce
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1)
x = torch.ones(3)
all_reduce(x)
dist.broadcast(x, src=0)
found = [None]
dist.all_gather_object(found, "one call, however many it makes")
dist.all_reduce(x, async_op=True).wait()
dist.barrier()
model = DistributedDataParallel(torch.nn.Linear(3, 1))
model(x).sum().backward()
with model.no_sync():
    model(x).sum().backward()
model(x).sum().backward()
dist.destroy_process_group()
"""


@pytest.mark.long
def test_torch_compile_sees_no_wrapper(
    tmp_path: Path, environment: Callable[[str], Environment]
) -> None:
    script = tmp_path / "program.py"
    script.write_text(COMPILED)
    python = environment("torch").python
    jobs = [
        run(
            [script, tmp_path / f"store{recorded}"],
            tmp_path / f"trace{recorded}",
            python=python,
            variables=RANK_ZERO,
            recorded=recorded,
        )
        for recorded in (False, True)
    ]
    plain, recorded = jobs
    assert plain.exit_code == 0, plain.stderr
    assert recorded.stdout == plain.stdout
    counters = json.loads(plain.stdout.splitlines()[0])
    assert counters["stats"]["unique_graphs"] > 4
    assert sum(counters["graph_break"].values()) > 2
    (rank,) = recorded.of_role("rank")
    assert rank.metadata["agent_notes"] == []
    assert "gradient_exchange" in {operation for operation, _ in collectives(recorded)}


@pytest.fixture(scope="module")
def plain_calls(tmp_path_factory: pytest.TempPathFactory) -> Job:
    place = tmp_path_factory.mktemp("calls")
    return ran(COLLECTIVES, place, place / "store", variables=RANK_ZERO)


def collectives(job: Job) -> list[tuple[str, int]]:
    """Operation and ordinal of the collectives of a job's only rank, by their begin."""
    (rank,) = job.of_role("rank")
    found = []
    for name, kind in rank.phases():
        if kind == Phase.COMMUNICATION and name.startswith("torch.distributed\x1e"):
            found.append((name, rank.phase_records(name)))
    records = sorted({(r.t0, name.split("\x1e")[1], r.seq) for name, rows in found for r in rows})
    return [(operation, ordinal) for _, operation, ordinal in records]


def test_collectives_have_ordinals_on_their_group(plain_calls: Job) -> None:
    found = [row for row in collectives(plain_calls) if not row[0].endswith("process_group")]
    assert found == [
        ("all_reduce", 0),
        ("broadcast", 1),
        ("all_gather_object", 2),
        ("all_reduce (async)", 3),
        ("wait", 3),
        ("barrier", 4),
        ("gradient_exchange", 0),
        ("gradient_exchange", 1),
    ]


def test_what_is_known_of_the_process_group(plain_calls: Job) -> None:
    (rank,) = plain_calls.of_role("rank")
    told = rank.metadata["frameworks"]["torch.distributed"]
    assert (told["rank"], told["size"], told["backend"]) == (0, 1, "gloo")
    assert told["exposed"] == "DistributedDataParallel"
    assert rank.metadata["agent_notes"] == []
    assert rank.metadata["program_end_ns"] > 0


STARTED = """
import os, sys
import torch, torch.distributed as dist, torch.multiprocessing as multiprocessing

def group(rank, store):
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    dist.barrier()
    dist.destroy_process_group()

def gradients(rank, _):
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()

def other_work(rank, _):
    model = torch.nn.Linear(8, 8)
    with torch.no_grad():
        model(torch.ones(4, 8))

if __name__ == "__main__":
    for work in (group, gradients, other_work):
        store = "file://" + os.path.abspath(work.__name__)
        multiprocessing.start_processes(work, (store,), nprocs=2, start_method=sys.argv[1])
"""


# what makes a process a rank is the same code however it was started
@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.long)])
def test_processes_that_train_themselves_are_ranks(
    method: str, job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    """One that another Python started, and that has a group or computes gradients."""
    done = job(STARTED, arguments=(method,), python=environment("torch").python)
    assert done.exit_code == 0, done.stderr
    ranks = [process for process in done.of_role("rank") if process.recording is not None]
    numbers = [process.recording.rank for process in ranks if process.recording is not None]
    # by their start: two with a group, two with gradients, and none that did other work
    assert [sorted(numbers[:2]), numbers[2:]] == [[0, 1], [-1, -1]]
    assert [len(process.steps()) for process in ranks] == [0, 0, 5, 5]
    assert all(process.metadata["program_end_ns"] > 0 for process in ranks)


def test_death_at_interpreter_exit_is_one_in_teardown(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    done = job(
        """
import os
class Last:
    def __del__(self, abort=os.abort):
        abort()
last = Last()
""",
        python=environment("torch").python,
        # what a cycle holds has to be collected at the end
        variables={**RANK_ZERO, "SELDOM_COLLECTED": ""},
    )
    assert done.exit_code == -6
    (rank,) = done.of_role("rank")
    assert rank.metadata["program_end_ns"] > 0


NOT_BLOCKING = """
from torch.testing._internal.distributed.fake_pg import FakeStore
dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
dist.all_reduce(torch.ones(1))
"""


def test_what_cannot_be_told_has_a_reason(
    tmp_path: Path, job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    program = "import torch\nimport torch.distributed as dist\n" + NOT_BLOCKING
    done = job(program, python=environment("torch").python, variables=RANK_ZERO, cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    (rank,) = done.of_role("rank")
    told = rank.metadata["frameworks"]["torch.distributed"]
    assert "do not block the host" in told["exposed_reason"]
    assert [name for name, _ in collectives(done) if name == "all_reduce"] == []
