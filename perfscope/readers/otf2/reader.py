"""OTF2 archives, as Score-P and other tools write them: one `Trace` from the engine's reduction."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perfscope.arrays import ordinals
from perfscope.engine import engine
from perfscope.errors import UnreadableInputError
from perfscope.files import parse_json
from perfscope.readers.common import exported, texts
from perfscope.readers.common.clocks import set_clock_domains
from perfscope.readers.common.exported import KEY
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.kineto.communication import look_like_communication
from perfscope.readers.otf2.assembly import assemble_ranks, corrected_ranks
from perfscope.readers.otf2.notes import notes_on, reasons
from perfscope.readers.otf2.ranks import Location, LocationGroup, find_ranks
from perfscope.readers.otf2.reduced import Member, Reduced, counter_kinds
from perfscope.readers.otf2.regions import PHASE_IDS, Phases, Region, Rules, roles
from perfscope.scratch import calls_that_fit
from perfscope.trace.model import Communicator, Format, Rank, Trace
from perfscope.trace.operations import COLLECTIVE_CLASSES, OperationClass, codes_mask

_ORDERED = codes_mask(COLLECTIVE_CLASSES - {OperationClass.COMMUNICATOR})
SELF = -2
"""In a row: the communicator of the row's rank alone."""


def communicators(archive: engine.Otf2Archive, ranks: int) -> list[Communicator]:
    """The communicators of the archive, the world first; one of all ranks where it has none."""
    rows = archive.communicators()
    if not rows:
        return [Communicator(1, tuple(range(ranks)), -1)]
    index = {identity: place for place, (identity, _, _) in enumerate(rows)}
    return [
        Communicator(
            place + 1,
            tuple(rank for rank in members.tolist() if rank >= 0),
            index.get(parent, 0) if place else -1,
        )
        for place, (_, parent, members) in enumerate(rows)
    ]


def with_self_communicators(ranks: Sequence[Rank], shared: list[Communicator]) -> None:
    """Gives each rank that used MPI_COMM_SELF a communicator of its own."""
    for rank in ranks:
        own = -1
        for rows in (rank.operations, rank.completions):
            here = np.flatnonzero(rows["comm"] == SELF)
            if not len(here):
                continue
            if own < 0:
                own = len(shared)
                shared.append(Communicator(own + 1, (rank.number,), 0))
            rows["comm"][here] = own
            partner = rows["peer"][here]
            rows["peer"][here] = np.where(partner == -2, rank.number, partner)


def number_collectives(ranks: Sequence[Rank]) -> None:
    """Gives each collective its ordinal on its communicator, in the order of the calls."""
    for rank in ranks:
        rows = rank.operations
        ordered = _ORDERED[rows["op"]]
        rows["seq"][ordered] = -1
        chosen = np.flatnonzero(ordered & (rows["comm"] >= 0))
        rows["seq"][chosen] = ordinals(rows["comm"][chosen])


MAGICS = (b"\x03BOTF2\0", b"\x03#OTF2\0")

MOST_SAMPLES = 2_000
"""Samples kept of each counter on each location."""


def open_otf2(paths: Sequence[Path], options: ReadOptions) -> Trace:
    """The run stored in an OTF2 archive.

    Raises:
        UnreadableInputError: the archive is damaged, or of a kind that is not read.
    """
    anchor = paths[0]
    try:
        archive = engine.Otf2Archive(os.fsencode(anchor))
        return _trace(anchor, archive, options)
    except engine.FormatError as error:
        path, offset, reason = error.args
        raise UnreadableInputError(
            f"{anchor} is not an OTF2 archive that perfscope can read.",
            why=f"{path}, byte {offset:,}: {reason}.",
            action="Compare with `otf2-print`; copy the archive again, or record it again.",
        ) from error
    except OSError as error:
        raise UnreadableInputError(
            f"A part of the OTF2 archive {anchor} cannot be read.",
            why=f"{error.filename}: {error.strerror}.",
            action="An archive is the anchor file, the .def file and the directory beside it.",
        ) from error


def _trace(anchor: Path, archive: engine.Otf2Archive, options: ReadOptions) -> Trace:
    most_rows = calls_that_fit()
    told = _exported(archive)
    rules = (*options.phase_rules, *(PHASE_IDS if told is not None else ()))
    reduced = _reduced(archive, rules, most_rows, is_export=told is not None)
    locations = [Location(index, *row) for index, row in enumerate(archive.locations())]
    groups = [LocationGroup(*row) for row in archive.location_groups()]
    world = archive.world().tolist()
    places = find_ranks(locations, groups, archive.system_nodes(), world)
    creator = archive.anchor()["creator"]
    ranks = assemble_ranks(places, reduced, creator=creator, communication=options.communication)
    if not ranks:
        raise UnreadableInputError(
            f"{anchor} holds no events of a process.",
            why="No location of the archive is a thread that recorded anything.",
            action="Check the recording: otf2-print shows what the archive holds.",
        )
    set_clock_domains(ranks, corrected_ranks(places, reduced))
    shared = communicators(archive, len(ranks))
    with_self_communicators(ranks, shared)
    number_collectives(ranks)
    trace = Trace(
        command=_program(reduced.locations),
        origin_unix_ns=archive.clock()["realtime_ns"] or 0,
        wall_ns=max(rank.end_ns for rank in ranks) - min(rank.start_ns for rank in ranks),
        exit_code=_exit_code(reduced.locations),
        world_size=max(len(world), *(place.number + 1 for place in places.ranks)),
        ranks=ranks,
        names=reduced.names,
        communicators=shared,
        environment={"recorded_with": creator},
        notes=[
            *notes_on(reduced, places, ranks),
            *look_like_communication(ranks, reduced.names),
        ],
        source=str(anchor),
        format=Format.OTF2,
        counter_kinds=counter_kinds(reduced.members.values()),
        not_recorded=_not_recorded(told, reasons(reduced, ranks, most_calls=most_rows)),
    )
    return exported.as_judged(trace, told or {})


def _not_recorded(told: Mapping[str, Any] | None, own: dict[str, str]) -> dict[str, str]:
    """Why parts are empty; a recording that was exported knows itself that nobody communicated."""
    if told is None:
        return own
    own.pop("communication", None)
    return exported.reasons(told, own)


def _exported(archive: engine.Otf2Archive) -> Mapping[str, Any] | None:
    """What perfscope's export says beside the events; None of an archive of another tool."""
    anchor = archive.anchor()
    if not anchor["creator"].startswith("perfscope "):
        return None
    try:
        return texts.mapping(texts.mapping(parse_json(anchor["description"], [])).get(KEY))
    except ValueError:
        return {}


def _reduced(
    archive: engine.Otf2Archive, rules: Rules, most_rows: int, *, is_export: bool
) -> Reduced:
    """The events of the archive as tables, at most so many rows each."""
    regions = [Region(*row) for row in archive.regions()]
    phases = Phases.of(regions, rules)
    names = list(dict.fromkeys(phase[1] for phase in phases.of_region if phase is not None))
    return Reduced(
        archive.reduce(
            roles(regions, phases, names, is_export=is_export).tobytes(),
            rows=most_rows,
            phases=most_rows,
            counter_samples=MOST_SAMPLES,
            threads=len(os.sched_getaffinity(0)),
        ),
        archive.clock(),
        regions,
        [Member(*row[:4]) for row in archive.metric_members()],
        names,
    )


def _program(locations: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """The name of the program and its arguments, where a location tells them."""
    return tuple(next((row["program"] for row in locations if any(row["program"])), ()))


def _exit_code(locations: Sequence[dict[str, Any]]) -> int | None:
    """The first exit status of a process that is not 0, else 0 where all told theirs."""
    told = [row["exit_status"] for row in locations if row["exit_status"] is not None]
    return next((code for code in told if code), 0) if told else None


def is_otf2(place: Place) -> bool:
    """Whether it is the anchor file of an archive."""
    return not place.is_directory and place.raw.startswith(MAGICS)


def decode(anchor: Path, location: int) -> dict[str, np.ndarray[Any, Any]]:
    """All events of one location as columns; see `Otf2Archive.events`."""
    return engine.Otf2Archive(os.fsencode(anchor)).events(location)


READER = Reader(
    format=Format.OTF2,
    description="an OTF2 archive (the .otf2 file or its directory)",
    recognizes=is_otf2,
    open=open_otf2,
    tells=Tells(
        efficiencies="yes",
        waits="collectives, messages",
        phases="regions, by rules",
        devices="where Score-P recorded them",
        counters="as metrics",
        clock="as the archive says",
    ),
    # global definitions, and files of the locations
    companions=lambda anchor: (anchor.with_suffix(".def"), anchor.with_suffix("")),
)
