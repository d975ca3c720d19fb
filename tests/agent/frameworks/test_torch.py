"""A plain PyTorch program, recorded."""

import json
from collections.abc import Callable

import pytest

from perfscope.agent.perfscope_agent.recorder import Phase
from tests.agent.jobs import RANK_ZERO, Job, Process
from tests.support.environments import Environment

PROGRAM = """
import io, json, sys, warnings
warnings.simplefilter("error")
import torch
from torch.distributed import HashStore
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

def loader(count, batch, **settings):
    data = TensorDataset(torch.randn(count, 8), torch.randn(count, 1))
    return DataLoader(data, batch_size=batch, **settings)

def train(model, optimizer, data, accumulate=1):
    model.train()
    for index, (x, y) in enumerate(data):
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        if (index + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()

def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        return sum(float(((model(x) - y) ** 2).sum()) for x, y in data)

def exchange():
    warnings.simplefilter("ignore")
    torch.distributed.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    layers = torch.nn.Linear(8, 16), torch.nn.ReLU(inplace=True), torch.nn.Linear(16, 1)
    inner = torch.compile(torch.nn.Sequential(*layers), backend="aot_eager")
    model = DistributedDataParallel(inner)
    for count in (4, 5, 6):
        model(torch.ones(count, 8)).sum().backward()
    print(json.dumps(torch._dynamo.utils.counters))
    print([float(p.grad.sum()) for p in model.parameters()])
    torch.distributed.destroy_process_group()

if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        train(model, optimizer, loader(40, 16))
        evaluate(model, loader(16, 8))
    torch.save(model.state_dict(), io.BytesIO())
    train(model, optimizer, loader(32, 8, num_workers=2), accumulate=2)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    train(compiled, optimizer, loader(16, 8))
    counters = torch._dynamo.utils.counters
    print(counters["stats"]["unique_graphs"], dict(counters["graph_break"]))
    exchange()
    for x, y in loader(16, 8):
        def closure():
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            return loss
        optimizer.step(closure)
    print(sum(float(p.detach().sum()) for p in model.parameters()))
    ((model(torch.ones(2, 3)))).sum().backward()
"""

EXCHANGE = "torch.distributed\x1egradient_exchange\x1eworld\x1e"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, Job]:
    """The program as it is, and recorded."""
    from tests.agent.jobs import run
    from tests.support import environments

    place = tmp_path_factory.mktemp("torch")
    script = place / "train.py"
    script.write_text(PROGRAM)
    python = environments.environment("torch").python
    whole = {"LIGHT_START": ""}  # all of PyTorch, as users have it
    plain = run([script], place / "none", python=python, variables=whole, recorded=False)
    variables = {**whole, **RANK_ZERO}
    return plain, run([script], place / "trace", python=python, variables=variables)


@pytest.fixture
def process(done: tuple[Job, Job]) -> Process:
    (rank,) = done[1].of_role("rank")
    return rank


def test_program_is_unharmed(done: tuple[Job, Job]) -> None:
    plain, recorded = done
    assert plain.exit_code == 1
    assert (recorded.exit_code, recorded.stdout, recorded.stderr) == (
        plain.exit_code,
        plain.stdout,
        plain.stderr,
    )


def test_model_compiled_below_ddp_is_compiled_as_without_recording(
    done: tuple[Job, Job], process: Process
) -> None:
    """Recording listens to each of its exchanges, which are the compiler's business as well."""
    plain, recorded = ([json.loads(row) for row in job.stdout.splitlines()[1:3]] for job in done)
    assert recorded == plain
    counters, gradients = plain
    assert counters["stats"]["unique_graphs"] > 1
    assert counters["aot_autograd"]["ok"] > 0
    assert len(gradients) == 4
    assert len(process.phase_records(EXCHANGE)) == 3


def test_steps_have_epochs_and_samples(process: Process) -> None:
    steps = process.steps()
    assert [(s.seq, s.tag, s.sent) for s in steps[:6]] == [
        (0, 0, 16),
        (1, 0, 16),
        (2, 0, 8),
        (3, 1, 16),
        (4, 1, 16),
        (5, 1, 8),
    ]
    assert [(s.tag, s.sent) for s in steps[6:10]] == [(2, 16), (2, 16), (3, 8), (3, 8)]
    assert [(s.tag, s.sent) for s in steps[10:]] == [(4, 8), (4, 8)]
    assert all(step.t0 < step.t1 for step in steps)
    assert process.metadata["step_source"] == "torch"


def evaluation(process: Process) -> str:
    """What evaluations are called, after the line that sets the model to it."""
    line = PROGRAM.splitlines().index("def evaluate(model, data):") + 2
    return next(name for name, _ in process.phases() if name.endswith(f":{line})"))


def test_phases_are_those_of_the_program(process: Process) -> None:
    found = process.phases()
    count = {name: len([n for n, _ in found if n == name]) for name, _ in found}
    count = {name: number for name, number in count.items() if "\x1e" not in name}
    # The last batch request of each loader finds it exhausted; one loader starts workers first.
    assert count == {
        "epoch": 5,
        "DataLoader": 2 * (4 + 3) + 5 + 3 + 3 + 1,
        "forward": 6 + 4 + 2 + 2,
        "backward": 6 + 4 + 2 + 3 + 2,
        "optimizer": 6 + 2 + 2 + 2,
        evaluation(process): 2,
        "torch.save": 1,
    }
    kinds = dict(found)
    assert kinds["epoch"] == Phase.TRAIN
    assert kinds["DataLoader"] == Phase.INPUT
    assert kinds["torch.save"] == Phase.CHECKPOINT
    assert kinds[evaluation(process)] == Phase.EVALUATE
    assert evaluation(process).startswith("eval_batches: evaluate (")


def test_evaluation_lies_between_the_epochs(process: Process) -> None:
    first, second = process.phase_records(evaluation(process))
    epochs = process.phase_records("epoch")
    assert epochs[0].t1 <= first.t0 < first.t1 <= epochs[1].t0
    assert epochs[1].t1 <= second.t0 < second.t1 <= epochs[2].t0
    assert [epoch.tag for epoch in epochs] == [0, 1, 2, 3, 4]


def test_what_an_optimizer_calls_is_not_its_own_work(process: Process) -> None:
    parts = [process.phase_records(name)[-1] for name in ("forward", "backward", "optimizer")]
    forward, backward, optimizer = parts
    assert forward.t0 < forward.t1 <= backward.t0 < backward.t1 <= optimizer.t0 < optimizer.t1


def test_loader_processes_are_workers(done: tuple[Job, Job]) -> None:
    (rank,) = done[1].of_role("rank")
    workers = done[1].of_role("worker")
    assert len(workers) == 2
    assert {w.metadata["owner_pid"] for w in workers} == {rank.metadata["pid"]}


def test_metadata_names_versions_and_loaders(process: Process) -> None:
    metadata = process.metadata
    assert metadata["agent_notes"] == []
    assert metadata["versions"]["torch"].startswith("2.")
    assert metadata["batch_size"] == 16
    assert metadata["frameworks"]["torch"]["threads"] == 1
    loaders = metadata["frameworks"]["torch"]["loaders"]
    told = [(row["batch_size"], row["workers"], row["samples"], row["training"]) for row in loaders]
    assert told == [(16, 0, 40, True), (8, 0, 16, False), (8, 2, 32, True), (8, 0, 16, True)]
    assert {(row["sampler"], row["dataset"]) for row in loaders} == {
        ("SequentialSampler", "TensorDataset")
    }
    assert metadata["frameworks"]["torch"]["cpu_capability"]
    [rate] = metadata["frameworks"]["torch"]["learning_rates"]
    assert (rate["optimizer"], rate["learning_rate"]) == ("SGD", 0.01)


FED = """
import sys, time, torch
from torch.utils.data import DataLoader, Dataset
sample_s, work_s, workers = map(float, {words!r}.split())
class Slow(Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, index):
        time.sleep(sample_s)
        return torch.ones(3)
if __name__ == "__main__":
    for batch in DataLoader(Slow(), batch_size=2, num_workers=int(workers)):
        time.sleep(work_s)
    with torch.no_grad():
        print(len(list(DataLoader(Slow(), batch_size=2, num_workers=int(workers)))))
"""


@pytest.mark.parametrize(
    ("words", "least", "most"),
    [
        pytest.param("0.001 0.1 1", 9, 12, marks=pytest.mark.long),
        ("0.001 0.1 2", 9, 12),
        ("0.05 0.001 1", 0, 3),
    ],
    ids=["fed", "fed by two", "starved"],
)
def test_training_batches_that_are_there_in_time_are_counted(
    words: str,
    least: int,
    most: int,
    job: Callable[..., Job],
    environment: Callable[[str], Environment],
) -> None:
    done = job(FED.format(words=words), python=environment("torch").python)
    assert done.stdout == b"12\n", done.stderr
    (rank,) = done.of_role("rank") or done.of_role("unranked")
    counts = rank.metadata["frameworks"]["torch"]["batches"]
    assert counts["asked"] == 12
    assert least <= counts["ready"] <= most
    started, *rows = rank.phase_records("DataLoader")
    took_ns = [row.t1 - row.t0 for row in rows[:12]]
    assert started.t1 - started.t0 >= counts["starts_ns"] > 0
    assert counts["late_ns"] + counts["ready_ns"] >= sum(took_ns)
    assert counts["late_ns"] >= took_ns[0]  # nothing is there when the first is asked for
    assert (counts["ready_ns"] > 0) == (counts["ready"] > 0)
    assert counts["turns"] == 1
    assert took_ns[0] <= counts["first_ns"] <= counts["late_ns"] + counts["ready_ns"]
    assert counts["ends_ns"] > 0


KEPT = """
import torch
from torch.utils.data import DataLoader, TensorDataset
def made(data):
    return [DataLoader(data, 4, num_workers=0)][0]
def compared(data):
    other = DataLoader(data, 8)
    loader = made(data)
    assert len(list(loader)) == 2
if __name__ == "__main__":
    data = TensorDataset(torch.ones(8, 3))
    for kept in (True, False):
        loader = DataLoader(data, 2, num_workers=1, persistent_workers=kept)
        for epoch in range(3):
            assert len(list(loader)) == 4
    compared(data)
"""


def test_workers_that_stay_are_not_said_to_begin_anew(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    done = job(KEPT, python=environment("torch").python)
    (rank,) = done.of_role("rank") or done.of_role("unranked")
    torch = rank.metadata["frameworks"]["torch"]
    assert [one["persistent_workers"] for one in torch["loaders"]] == [True, False, False]
    line = str(1 + KEPT[: KEPT.index("loader = DataLoader(")].count("\n"))
    assert [one["made_at"].split("\x1f")[2] for one in torch["loaders"][:2]] == [line, line]
    assert torch["loaders"][2]["made_at"] is None  # a function that is over has made it
    assert torch["batches"]["asked"] == 2 * 3 * 4
    assert torch["batches"]["turns"] == 3
    waits_ns = [row.t1 - row.t0 for row in rank.phase_records("DataLoader")]
    of_each = 3 * (1 + 4 + 1)  # a start, batches, and an end; without workers there is no start
    assert len(waits_ns) == 2 * of_each + 2 + 1
    anew_ns = sum(torch["batches"][name] for name in ("starts_ns", "first_ns", "ends_ns"))
    assert 0 < anew_ns <= sum(waits_ns[of_each : 2 * of_each])


TESTED = """
import torch
from torch.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    data = TensorDataset(torch.ones(8, 3))
    model = torch.nn.Linear(3, 1)
    trained, tested = DataLoader(data, 2, num_workers=1), DataLoader(data, 4, num_workers=1)
    for epoch in range(3):
        for (batch,) in trained:
            model(batch).sum().backward()
        for (batch,) in tested:  # without torch.no_grad(), as some tests are
            model(batch)
"""


def test_loaders_whose_batches_are_only_tested_are_none_of_training(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    done = job(TESTED, python=environment("torch").python)
    (rank,) = done.of_role("rank") or done.of_role("unranked")
    batches = rank.metadata["frameworks"]["torch"]["batches"]
    assert (batches["turns"], batches["asked"]) == (3, 3 * 4)
    took_ns = sorted(row.t1 - row.t0 for row in rank.phase_records("DataLoader"))
    assert 0 < batches["ends_ns"] <= sum(took_ns[-12:])


OWN_CLASSES = """
import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler, TensorDataset

class Lazy(Dataset):  # needs no length where the batches are the program's own
    def __getitem__(self, i):
        return torch.full((4,), float(i))

class Batches:
    def __iter__(self):
        for b in range(5):
            yield [2 * b, 2 * b + 1]
    def __len__(self):
        return 5

class Batch(list):
    @property
    def shape(self):
        raise RuntimeError("not yet")

class Odd(DataLoader):
    @property
    def prefetch_factor(self):
        return "many"
    @prefetch_factor.setter
    def prefetch_factor(self, value):
        pass

lazy = DataLoader(Lazy(), batch_sampler=Batches())
print(sum(float(x.sum()) for x in lazy), sum(float(x.sum()) for x in lazy))
ten = TensorDataset(torch.ones(10, 1))
print(len([b for b in DataLoader(ten, batch_size=5, sampler=RandomSampler(ten), collate_fn=Batch)]))
print(len(list(Odd(ten, batch_size=2))))
"""


def test_loaders_and_batches_of_own_classes(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    """The agent asks for no length that PyTorch itself does not ask for."""
    done = job(OWN_CLASSES, python=environment("torch").python, variables=RANK_ZERO)
    assert (done.exit_code, done.stdout, done.stderr) == (0, b"180.0 180.0\n2\n5\n", b"")
    loaders = done.process.metadata["frameworks"]["torch"]["loaders"]
    assert [row["samples"] for row in loaders] == [None, 10]
    # without workers no batch can be there in time
    assert "batches" not in done.process.metadata["frameworks"]["torch"]
    (note,) = done.process.metadata["agent_notes"]
    assert note.startswith("DataLoader not noted: ValueError")
