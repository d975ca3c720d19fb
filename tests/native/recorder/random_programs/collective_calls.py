"""Collectives of generated programs. The bytes follow the standard's meaning of the arguments."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.native.recorder.random_programs.calls import WORD, Call, Comm, Truth, take


@dataclass(frozen=True)
class _Place:
    """Where a collective is called: the number of elements, the root, and who calls."""

    count: int
    root: int
    me: int
    size: int

    @property
    def counts(self) -> list[int]:
        """Elements by rank, of collectives in which they differ."""
        return [self.count + rank for rank in range(self.size)]

    @property
    def exchanged(self) -> list[int]:
        """Elements that this rank sends to each and gets from each."""
        return [self.count + (self.me + rank) % 3 for rank in range(self.size)]


@dataclass(frozen=True)
class _Form:
    """Arguments in C and in Python, elements sent and received, and what may be looked at."""

    c: str
    python: str
    sent: int
    received: int
    rooted: bool = False
    result: str = "into"


def _array(values: list[int]) -> str:
    return "(int[]){" + ", ".join(map(str, values)) + "}"


def _offsets(values: list[int]) -> list[int]:
    return [sum(values[:place]) for place in range(len(values))]


def _varied(buffer: str, counts: list[int]) -> tuple[str, str]:
    c = f"{buffer}, {_array(counts)}, {_array(_offsets(counts))}, MPI_INT"
    return c, f"[s.{buffer}, {counts}, {_offsets(counts)}, MPI.INT]"


def _bcast(p: _Place) -> _Form:
    at_root = p.me == p.root
    c = f"out, {p.count}, MPI_INT, {p.root}, "
    python = f"s.out[:{p.count}], {p.root}"
    return _Form(
        c, python, p.count if at_root else 0, 0 if at_root else p.count, rooted=True, result="out"
    )


def _reduction(*, exclusive: bool = False) -> Callable[[_Place], _Form]:
    def form(p: _Place) -> _Form:
        c = f"out, into, {p.count}, MPI_INT, MPI_SUM, "
        python = f"s.out[:{p.count}], s.into[:{p.count}], MPI.SUM"
        return _Form(c, python, p.count, 0 if exclusive and p.me == 0 else p.count)

    return form


def _reduce(p: _Place) -> _Form:
    c = f"out, into, {p.count}, MPI_INT, MPI_SUM, {p.root}, "
    python = f"s.out[:{p.count}], s.into[:{p.count}], MPI.SUM, {p.root}"
    return _Form(c, python, p.count, p.count if p.me == p.root else 0, rooted=True)


def _reduce_scatter_block(p: _Place) -> _Form:
    total = p.count * p.size
    python = f"s.out[:{total}], s.into[:{p.count}], MPI.SUM"
    return _Form(f"out, into, {p.count}, MPI_INT, MPI_SUM, ", python, total, p.count)


def _reduce_scatter(p: _Place) -> _Form:
    counts, total = p.counts, sum(p.counts)
    python = f"s.out[:{total}], s.into[:{counts[p.me]}], {counts}, MPI.SUM"
    return _Form(f"out, into, {_array(counts)}, MPI_INT, MPI_SUM, ", python, total, counts[p.me])


def _both(p: _Place) -> str:
    return f"out, {p.count}, MPI_INT, into, {p.count}, MPI_INT, "


def _gather(p: _Place) -> _Form:
    python = f"s.out[:{p.count}], s.into[:{p.count * p.size}], {p.root}"
    received = p.count * p.size if p.me == p.root else 0
    return _Form(f"{_both(p)}{p.root}, ", python, p.count, received, rooted=True)


def _scatter(p: _Place) -> _Form:
    python = f"s.out[:{p.count * p.size}], s.into[:{p.count}], {p.root}"
    sent = p.count * p.size if p.me == p.root else 0
    return _Form(f"{_both(p)}{p.root}, ", python, sent, p.count, rooted=True)


def _allgather(p: _Place) -> _Form:
    python = f"s.out[:{p.count}], s.into[:{p.count * p.size}]"
    return _Form(_both(p), python, p.count, p.count * p.size)


def _alltoall(p: _Place) -> _Form:
    total = p.count * p.size
    return _Form(_both(p), f"s.out[:{total}], s.into[:{total}]", total, total)


def _gatherv(p: _Place) -> _Form:
    own, (c, python) = p.counts[p.me], _varied("into", p.counts)
    received = sum(p.counts) if p.me == p.root else 0
    head = f"out, {own}, MPI_INT, {c}, {p.root}, "
    return _Form(head, f"s.out[:{own}], {python}, {p.root}", own, received, rooted=True)


def _scatterv(p: _Place) -> _Form:
    own, (c, python) = p.counts[p.me], _varied("out", p.counts)
    sent = sum(p.counts) if p.me == p.root else 0
    head = f"{c}, into, {own}, MPI_INT, {p.root}, "
    return _Form(head, f"{python}, s.into[:{own}], {p.root}", sent, own, rooted=True)


def _allgatherv(p: _Place) -> _Form:
    own, (c, python) = p.counts[p.me], _varied("into", p.counts)
    head = f"out, {own}, MPI_INT, {c}, "
    return _Form(head, f"s.out[:{own}], {python}", own, sum(p.counts))


def _alltoallv(p: _Place) -> _Form:
    (c_out, python_out), (c_in, python_in) = (_varied(b, p.exchanged) for b in ("out", "into"))
    total = sum(p.exchanged)
    return _Form(f"{c_out}, {c_in}, ", f"{python_out}, {python_in}", total, total)


_FORMS: dict[str, Callable[[_Place], _Form]] = {
    "Barrier": lambda _: _Form("", "", 0, 0),
    "Bcast": _bcast,
    "Reduce": _reduce,
    "Allreduce": _reduction(),
    "Scan": _reduction(),
    "Exscan": _reduction(exclusive=True),
    "Reduce_scatter_block": _reduce_scatter_block,
    "Reduce_scatter": _reduce_scatter,
    "Gather": _gather,
    "Gatherv": _gatherv,
    "Scatter": _scatter,
    "Scatterv": _scatterv,
    "Allgather": _allgather,
    "Allgatherv": _allgatherv,
    "Alltoall": _alltoall,
    "Alltoallv": _alltoallv,
}
COLLECTIVES = tuple(_FORMS)


def collective(
    name: str, comm: Comm, me: int, *, root: int, count: int, is_nonblocking: bool
) -> list[Call]:
    """A call of a collective by one rank, without its wait, and then the look at its result.

    Args:
        name: of the blocking form.
        comm: where.
        me: rank of the caller in it.
        root: rank of the root in it; not used by collectives without one.
        count: number of elements.
        is_nonblocking: whether the request is left in slot 0.
    """
    form = _FORMS[name](_Place(count, root, me, len(comm.members)))
    function = f"I{name.lower()}" if is_nonblocking else name
    request = ", &requests[0]" if is_nonblocking else ""
    c = f"MPI_{function}({form.c}comms[{comm.slot}]{request});"
    python = f"s.comms[{comm.slot}].{function}({form.python})"
    truth = Truth(
        f"MPI_{function}",
        comm,
        comm.members[root] if form.rooted else -1,
        -1,
        form.sent * WORD,
        form.received * WORD,
    )
    done = Call(c, f"s.requests[0] = {python}" if is_nonblocking else python, (truth,))
    return [done, take(form.received, form.result)]
