"""What the regions of an OTF2 archive stand for: MPI calls, phases of a training, files."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

import numpy as np

from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.model import Table
from perfscope.trace.operations import ALL_OPERATIONS, MPI_OTHER, OperationClass

ROLE_DTYPE = np.dtype([("op", "u2"), ("call", "u1"), ("phase", "u1"), ("name", "i4")])
"""As the engine reads it: OperationCode, CallKind, PhaseKind, index of the phase's name."""
SAMPLED_MARK, STEP_MARK = 0x80, 0x40
"""Beside the PhaseKind: its ends are not exact; it is a step of an export of perfscope."""

LOOP, CODE, FILE_IO, DATA_TRANSFER, ARTIFICIAL, FILE_IO_METADATA, KERNEL = 3, 4, 27, 30, 31, 38, 40
"""Roles of regions (OTF2_RegionRole)."""
COLLECTIVES = range(23, 27)
"""One to all, all to one, all to all, and others."""
USER, MPI, SAMPLING = 1, 4, 21
"""Paradigms of regions (OTF2_Paradigm)."""

POINT_TO_POINT, COMBINED, START, STARTALL, MATCHED, EXCHANGE = range(1, 7)
_CALL_KINDS = {
    OperationClass.SEND: POINT_TO_POINT,
    OperationClass.RECV: POINT_TO_POINT,
    OperationClass.ISEND: POINT_TO_POINT,
    OperationClass.IRECV: POINT_TO_POINT,
    OperationClass.SENDRECV: COMBINED,
}
_KINDS_BY_NAME = {
    "MPI_Start": START,
    "MPI_Startall": STARTALL,
    "MPI_Mrecv": MATCHED,
    "MPI_Imrecv": MATCHED,
    "MPI_Isendrecv": EXCHANGE,
    "MPI_Isendrecv_replace": EXCHANGE,
}
_OPERATIONS = {operation.name.lower(): operation for operation in ALL_OPERATIONS}
_OF_FRAMEWORKS = {
    operation.name for operation in ALL_OPERATIONS if not operation.name.startswith("MPI_")
}

Rules = Sequence[tuple[str, str]]

TRAINING: Rules = (
    *(("train", glob) for glob in ("train", "train_*", "training", "training_*", "*_train")),
    *(("train", glob) for glob in ("fit", "fit_*", "*trainstep*", "train*step*")),
)
"""Names that show that the program trains something; only then the names below tell a phase."""

OF_TRAINING: Rules = (
    *(("evaluate", glob) for glob in ("eval", "eval_*", "*_eval", "*evaluat*", "*validat*")),
    *(("evaluate", glob) for glob in ("test_step", "test_epoch", "test_on_batch", "test_loop")),
    *(("predict", glob) for glob in ("predict", "predict_*", "generate_samples")),
    *(("checkpoint", glob) for glob in ("*checkpoint*", "save_model*", "save_weights*", "*_ckpt*")),
    *(("checkpoint", glob) for glob in ("save_state*", "torch.save", "torch:save")),
    *(("input", glob) for glob in ("*data_loader*", "*dataloader*", "*load*batch*", "*input_fn*")),
    *(("input", glob) for glob in ("*next*batch*", "*get*batch*", "*read*batch*", "*fetch*batch*")),
    *(("forward", glob) for glob in ("forward", "forward_*", "*_forward")),
    *(("backward", glob) for glob in ("backward", "backward_*", "*_backward", "*.backward")),
    *(
        ("optimizer", glob)
        for glob in ("optimizer", "optimizer_*", "optimizer.*", "*optimizer*step")
    ),
    *(("optimizer", glob) for glob in ("apply_gradients*", "*apply_gradients")),
    *(("communication", glob) for glob in ("*horovod*allreduce*", "*horovod*synchronize*")),
    *(("communication", glob) for glob in ("*hvd*allreduce*", "*horovod*broadcast*")),
)

PHASE_IDS: Rules = tuple((kind.name.lower(),) * 2 for kind in PhaseKind if kind != PhaseKind.USER)
"""By which phases of perfscope's own export keep their ids."""

_DEFAULTS: Rules = (*OF_TRAINING, *TRAINING)

_TELLING = re.compile(
    "train|fit|eval|valid|test_|predict|generate|checkpoint|save|ckpt|load|input|batch|forward"
    "|backward|optimizer|gradients|horovod|hvd"
)
"""Occurs in each name that a default rule matches; found faster than by many globs."""
LONGEST = 512
"""Characters of a name that rules look at."""

_SEPARATORS = re.compile(r"::|[:.]")


@dataclass(frozen=True)
class Region:
    """A region as the archive defines it."""

    id: int
    name: str
    canonical: str
    file: str
    line: int
    role: int
    paradigm: int

    @property
    def function(self) -> str:
        """The last part of a qualified name: `evaluate` of `keras.engine:Model.evaluate`."""
        name = self.name[:LONGEST]
        return next((part for part in reversed(_SEPARATORS.split(name)) if part), name)

    @property
    def is_mpi(self) -> bool:
        """Whether it is a function of MPI, or a framework's operation as perfscope exports it."""
        if self.name[:4].upper() == "MPI_" or self.name in _OF_FRAMEWORKS:
            return True
        return self.paradigm == MPI and self.role != ARTIFICIAL


@dataclass(frozen=True)
class Phases:
    """Phases of regions: (kind, name) by region, None where a region is none."""

    of_region: tuple[tuple[PhaseKind, str] | None, ...]

    @classmethod
    def of(cls, regions: Sequence[Region], rules: Rules) -> "Phases":
        """Finds the phases; the user's rules go before the defaults.

        Rules are (phase id, glob), for full names and last parts of names.
        """
        is_training = any(_first(region, TRAINING) for region in regions if not region.is_mpi)
        defaults = _DEFAULTS if is_training else ()
        return cls(tuple(_phase(region, rules, defaults) for region in regions))


OWN_STEP = "step"
"""The name of the region that is a step in an export of perfscope."""
STEP = "training step"
"""The name of a phase whose occurrences are the steps of a training."""
_STEPS: Rules = tuple(
    ("train", glob)
    for glob in ("train_step", "training_step", "train_on_batch", "*trainstep", "train_one_batch")
)


def _phase(region: Region, rules: Rules, defaults: Rules) -> tuple[PhaseKind, str] | None:
    own = _first(region, rules)
    if own is None and not region.is_mpi and _first(region, _STEPS):
        return PhaseKind.TRAIN, STEP
    if own is not None:
        kind = _kind(own)
        return kind, own.removeprefix("user:") if kind is PhaseKind.USER else own
    if region.is_mpi:
        return None
    found = _first(region, defaults)
    if found is not None:
        return _kind(found), found
    if region.role in {FILE_IO, FILE_IO_METADATA}:
        return PhaseKind.IO, "io"
    if region.paradigm == USER and region.role == CODE:
        return PhaseKind.USER, region.name
    return None


def _kind(phase: str) -> PhaseKind:
    try:
        return PhaseKind[phase.upper()]
    except KeyError:
        return PhaseKind.USER


def _first(region: Region, rules: Rules) -> str | None:
    if not rules:
        return None
    texts = {text[:LONGEST].lower() for text in _texts(region)}
    if rules is TRAINING or rules is _DEFAULTS or rules is _STEPS:
        texts = {text for text in texts if _TELLING.search(text)}
    for phase, glob in rules:
        if any(fnmatchcase(text, glob.lower()) for text in texts):
            return phase
    return None


def _texts(region: Region) -> Iterator[str]:
    yield region.name
    yield region.function
    if region.canonical != region.name:
        yield region.canonical


def roles(
    regions: Sequence[Region], phases: Phases, names: Iterable[str], *, is_export: bool = False
) -> Table:
    """What the engine has to know of each region, shape (regions,), dtype ROLE_DTYPE.

    `names` are those of phases in the order of their indices. An export of perfscope tells steps,
    and which phases were sampled.
    """
    index = {name: place for place, name in enumerate(names)}
    table = np.zeros(len(regions), ROLE_DTYPE)
    table["name"] = -1
    for place, (region, phase) in enumerate(zip(regions, phases.of_region, strict=True)):
        if region.is_mpi:
            operation = _OPERATIONS.get(region.name.lower())
            table["op"][place] = operation.code if operation else MPI_OTHER
            if operation:
                kind = _CALL_KINDS.get(operation.cls, 0)
                table["call"][place] = _KINDS_BY_NAME.get(operation.name, kind)
        if phase is not None:
            table["phase"][place] = phase[0]
            table["name"][place] = index[phase[1]]
        if is_export:
            table["phase"][place] |= _mark(region)
    return table


def _mark(region: Region) -> int:
    """What an export says of a region by its paradigm and role."""
    if (region.name, region.role, region.paradigm) == (OWN_STEP, LOOP, USER):
        return STEP_MARK
    return SAMPLED_MARK if region.paradigm == SAMPLING else 0
