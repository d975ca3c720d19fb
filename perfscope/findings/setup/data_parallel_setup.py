"""How a data-parallel job is set up: parts of the data, and one beginning for all ranks."""

import math
from collections.abc import Mapping
from typing import Any

from perfscope.findings.core import wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.worker_turns import loader_line, sharded_at
from perfscope.metrics.communication.broadcasts import largest_broadcast_bytes
from perfscope.metrics.host.samples import fullest_epochs
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank
from perfscope.units import capitalized

BROADCAST_LEAST_BYTES = 64 << 10  # a larger broadcast is of parameters and not of control
WHOLE = frozenset({"RandomSampler", "SequentialSampler"})
"""Samplers of PyTorch that deal out the whole data set."""

WHOLE_EPOCH = 0.9
"""Of the samples, processed by a rank in an epoch: last batches may be dropped."""

PARTS = frozenset({"Subset", "IterableDataset"})
"""Data sets that may well be a rank's part."""


@dataclass(frozen=True)
class _Gap:
    """Something that was not seen, and what to do unless the program does it elsewhere."""

    title: str
    summary: str
    action: str
    evidence: tuple[Evidence, ...]
    where: tuple[Frame, ...] = ()


def judge(run: Facts) -> Outcome:
    """What the ranks of a data-parallel job were not seen to do."""
    results = run.results
    ranks = results.trace.ranks
    looked = (_whole_data(results), _own_beginnings(results), _unscaled_rate(results))
    gaps = [gap for gap in looked if gap is not None]
    if not gaps:
        if not any(_is_told(rank) for rank in ranks):
            return not_measured(
                "Neither loaders nor broadcasts nor learning rates were seen: the program has none "
                "of those that are known, or an older version recorded it."
            )
        return passed(
            "Samplers, broadcasts and learning rates are as they are in most data-parallel "
            "programs, as far as they were seen.",
            Confidence.MEDIUM,
        )
    return Finding(
        status=Status.INFO,
        title=capitalized("; ".join(gap.title for gap in gaps)),
        summary=" ".join(gap.summary for gap in gaps),
        confidence=Confidence.LOW,
        ranks=tuple(rank.number for rank in ranks),
        where=tuple(frame for gap in gaps for frame in gap.where),
        evidence=tuple(row for gap in gaps for row in gap.evidence),
        actions=tuple(gap.action for gap in gaps),
    )


def _is_data_parallel(results: Results) -> bool:
    """Whether several ranks train one model by DistributedDataParallel or Horovod."""
    ranks = results.trace.ranks
    return len(ranks) > 1 and any(_is_parallel(rank) for rank in ranks)


def _is_parallel(rank: Rank) -> bool:
    horovod = rank.framework("horovod").get("optimizers")
    return _is_ddp(rank) or (isinstance(horovod, int) and horovod > 0)


def _is_ddp(rank: Rank) -> bool:
    facts = rank.framework("torch.distributed")
    return facts.get("ddp") is True or facts.get("exposed") == "DistributedDataParallel"


def _is_told(rank: Rank) -> bool:
    """Whether the agent noted what this diagnosis looks at."""
    has_samplers = any("sampler" in loader for loader in _loaders(rank))
    has_broadcasts = isinstance(rank.framework("horovod").get("broadcasts"), list)
    return has_samplers or has_broadcasts or _first_rate(rank) is not None


def _loaders(rank: Rank) -> list[Mapping[str, Any]]:
    rows = rank.framework("torch").get("loaders")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _whole_data(results: Results) -> _Gap | None:
    """Training loaders that deal out the same, whole data set on every rank.

    Where another one deals out parts, these may be read for a figure, with gradients switched on.
    """
    seen = []
    for rank in results.trace.ranks:
        trained = [row for row in _loaders(rank) if row.get("training") is True]
        whole = [
            row
            for row in trained
            if str(row.get("sampler")) in WHOLE
            and str(row.get("dataset")) not in PARTS
            and isinstance(row.get("samples"), int)
            and row["samples"] > 0
        ]
        if not whole or not _is_parallel(rank):
            return None
        most = max(whole, key=lambda row: int(row["samples"]))
        if any(_may_be_training(row, int(most["samples"])) for row in trained):
            return None
        seen.append(most)
    counts = {int(row["samples"]) for row in seen}
    epochs = [count for count in fullest_epochs(results.trace) if count > 0]
    if len(counts) != 1 or any(count < WHOLE_EPOCH * min(counts) for count in epochs):
        return None  # parts of different lengths, or each rank takes a part of the batches
    count = counts.pop()
    ranks, line = len(results.trace.ranks), loader_line(results)
    made = f" of the DataLoader made in {wording.place(line)}" if line else ""
    return _Gap(
        title=f"each of {ranks} ranks trains on all {count:,} samples{made}",
        summary=(
            f"The training DataLoader of every rank has a {seen[0]['sampler']} over {count:,} "
            "samples. Unless each rank's data set is a part of its own, an epoch does the same "
            f"work {ranks} times."
        ),
        action=f"{sharded_at(line)} (Horovod: num_replicas=hvd.size(), rank=hvd.rank()).",
        evidence=(
            Evidence("Sampler of the training loader", str(seen[0]["sampler"])),
            Evidence("Samples in the data set of each rank", count, "samples"),
        ),
        where=(line,) if line else (),
    )


def _may_be_training(row: Mapping[str, Any], samples: int) -> bool:
    """Whether a loader deals out a rank's part of as many samples as those read whole, or more.

    Any sampler but PyTorch's own may do so.
    """
    own = row.get("samples")
    return str(row.get("sampler")) not in WHOLE and not (isinstance(own, int) and own < samples)


def _own_beginnings(results: Results) -> _Gap | None:
    """Horovod trains, and no parameters were seen to be sent around."""
    ranks = results.trace.ranks
    for rank in ranks:
        facts = rank.framework("horovod")
        told = facts.get("broadcasts")
        optimizers = facts.get("optimizers")
        if not isinstance(optimizers, int) or optimizers < 1 or told != []:
            return None
    sent = max(largest_broadcast_bytes(rank) for rank in ranks)
    if sent >= BROADCAST_LEAST_BYTES:
        return None
    return _Gap(
        title="no broadcast of the first parameters was seen",
        summary=(
            "Horovod's DistributedOptimizer averages gradients; it does not make the ranks begin "
            "with the same parameters. Unless all begin with one seed or one checkpoint, they "
            "train different models."
        ),
        action=(
            "Broadcast once before training: hvd.broadcast_parameters(model.state_dict(), 0) and "
            "hvd.broadcast_optimizer_state(optimizer, 0) (torch), "
            "hvd.callbacks.BroadcastGlobalVariablesCallback(0) (Keras), or "
            "hvd.broadcast_variables(model.variables, 0) (TensorFlow)."
        ),
        evidence=(Evidence(f"Broadcasts of {wording.ranks([r.number for r in ranks])}", "none"),),
    )


def _unscaled_rate(results: Results) -> _Gap | None:
    """Every rank's first optimizer begins with the learning rate that its class has by itself."""
    rows = [_first_rate(rank) for rank in results.trace.ranks]
    row = rows[0]
    if row is None or any(other != row for other in rows):
        return None
    rate, default, name = row.get("learning_rate"), row.get("default"), str(row.get("optimizer"))
    if not isinstance(rate, float) or not isinstance(default, float):
        return None
    if not math.isclose(rate, default, rel_tol=1e-6):
        return None
    ranks = len(rows)
    return _Gap(
        title=f"{name} begins with its default learning rate, {default:g}, on {ranks} ranks",
        summary=(
            f"Each step averages the gradients of {ranks} ranks, of {ranks} times as many samples "
            "as one rank's batch. Unless the learning rate was tested with so many, as many times "
            "as much, with a warm-up over the first epochs, is the usual first try."
        ),
        action=(
            f"Try {name} with a learning rate of {default:g} times the number of ranks "
            "(hvd.size(), torch.distributed.get_world_size()) and a warm-up, and compare the "
            "accuracy."
        ),
        evidence=(Evidence(f"Learning rate of {name}", f"{rate:g}"),),
    )


def _first_rate(rank: Rank) -> Mapping[str, Any] | None:
    """The learning rate of the first optimizer that the agent noted."""
    for name in ("horovod", "torch"):
        rows = rank.framework(name).get("learning_rates")
        if isinstance(rows, list) and rows and isinstance(rows[0], dict):
            first: Mapping[str, Any] = rows[0]
            return first
    return None


DIAGNOSIS = Diagnosis(
    id="data_parallel_setup",
    title="The data-parallel set-up may miss a part",
    description=(
        "Looks at what the job did: whether each rank's training loader deals out all samples "
        "although the model is trained on several ranks, whether Horovod's ranks were given the "
        "same parameters at the beginning, and whether the optimizer begins with the learning "
        "rate that its class has by itself, which is meant for the batch of one process. It is "
        "reported, never judged: the program may see to it itself."
    ),
    judge=judge,
    applies=_is_data_parallel,
    passed="Nothing was seen to miss in the data-parallel set-up",
    evidence="samplers, broadcasts, learning rates",
    counts_from="reported (info), never judged",
    rank=400,
    references=(
        (
            "PyTorch, DistributedSampler: https://docs.pytorch.org/docs/stable/data.html"
            "#torch.utils.data.distributed.DistributedSampler"
        ),
        "Horovod, usage: https://horovod.readthedocs.io/en/stable/summary_include.html#usage",
        (
            "P. Goyal et al. 2017, Accurate, Large Minibatch SGD (learning rate and batch size): "
            "https://arxiv.org/abs/1706.02677"
        ),
    ),
)
