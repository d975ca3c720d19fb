"""What a diagnosis returns: a finding, with its evidence and what fixing it saves."""

from dataclasses import replace
from typing import Protocol, TypeVar

from perfscope.replay.model import Edit
from perfscope.savings import ROUGHLY
from perfscope.schema import findings as schema
from perfscope.schema.common import Place
from perfscope.schema.enums import Basis, Confidence, NoInterval, Status
from perfscope.structures import dataclass
from perfscope.trace.model import Frame


@dataclass(frozen=True)
class Evidence:
    """One measured fact: what it is, its value and unit, and what it should be."""

    label: str
    value: float | str
    unit: str = ""
    expected: str = ""


def place_of(frame: Frame) -> Place:
    """A place as documents hold it."""
    return Place(frame.file, frame.line, frame.function)


@dataclass(frozen=True)
class Spent:
    """What something takes a rank, as a finding tells it: its saving is a part of that, or more."""

    seconds: float
    is_each: bool = False  # the mean of several ranks
    # what it is, behind the seconds ("by which ..."); "" where the title tells these
    lead: str = ""
    # of a part of it, which alone a change takes away: what that part is; else ""
    part: str = ""
    most_s: float | None = None  # of the rank that spends most, beyond which no range goes
    is_gone: bool = False  # whether it is what a change takes away, and nothing of it stays
    # whether no other time ends with it, as with sleep: computing takes caches and memory as well
    is_exact: bool = False


@dataclass(frozen=True)
class Gain:
    """What a change saves of the job as a whole."""

    seconds: float  # of this run
    share: float  # of the focus of analysis
    run_share: float | None = None  # of the whole run; None where its length is not known
    basis: Basis = Basis.UPPER_BOUND  # how the seconds were found
    # None for a bound, and where the run is too short for one
    interval_s: tuple[float, float] | None = None
    is_by_assumption: bool = False  # it lies between what is saved under several assumptions
    assumed: str = ""  # which these are at its two ends, a clause
    edits: tuple[Edit, ...] = ()  # what was replayed, so that findings can be replayed together
    assumptions: tuple[str, ...] = ()  # what the replay takes for granted, in sentences
    # what costs the time is planned by the program and no matter of chance
    is_planned: bool = False
    is_once: bool = False  # it comes once a run, however long that is
    # of the seconds, those that come once, before or behind the steps; None not asked
    once_s: float | None = None
    # it is of the whole run already where that was thinned, and not of its kept steps
    is_of_run: bool = False
    # of the seconds, those that ranks spend on what goes away, mean of all ranks; the rest others
    # wait because of it. None: the losses tell it
    own_s: float | None = None
    # what the seconds count that the title does not: the rest of a sentence about the saving, or ""
    counts: str = ""
    counts_more: bool = False  # whether that is work beside what the title is about
    # what the change saves while other work holds the job up; None where that is no more
    under_load_s: float | None = None
    no_interval: NoInterval | None = None  # why there is none, of a replay that could tell one
    # what late ranks wait longer for CPUs than others is taken off already
    is_on_equal_cpus: bool = False
    spent: Spent | None = None  # what the title or the action says that it takes
    bridge: str = ""  # how that leads to the seconds, in sentences

    def of(self, seconds: float) -> "Gain":
        """So many of the seconds, with the shares that they have."""
        part = seconds / self.seconds if self.seconds else 0.0
        run_share = None if self.run_share is None else self.run_share * part
        own_s = None if self.own_s is None else self.own_s * part
        share = self.share * part
        load_s = None if self.under_load_s is None else self.under_load_s * part
        return replace(
            self,
            seconds=seconds,
            share=share,
            run_share=run_share,
            own_s=own_s,
            under_load_s=load_s,
        )

    @property
    def is_bound(self) -> bool:
        """Whether no change need save as much."""
        return self.basis is Basis.UPPER_BOUND

    @property
    def roughly(self) -> str:
        """What must stand before the seconds: "about " where they are all that a fix concerns."""
        return ROUGHLY if self.is_bound else ""


@dataclass(frozen=True)
class Quiet:
    """That a diagnosis has no fault to tell of: why, in sentences.

    Whoever runs the diagnosis makes the finding from it, with the title that is declared for it.
    """

    status: Status
    summary: str
    confidence: Confidence = Confidence.HIGH
    evidence: tuple[Evidence, ...] = ()
    actions: tuple[str, ...] = ()


def passed(summary: str, confidence: Confidence = Confidence.HIGH) -> Quiet:
    """That what is looked for is not there, or costs little."""
    return Quiet(Status.PASS, summary, confidence)


def not_applicable(summary: str, confidence: Confidence = Confidence.HIGH) -> Quiet:
    """That this run cannot have what is looked for."""
    return Quiet(Status.NOT_APPLICABLE, summary, confidence)


def not_measured(summary: str) -> Quiet:
    """That the recording does not tell; the summary says what would measure it."""
    return Quiet(Status.NOT_MEASURED, summary)


@dataclass(frozen=True)
class Finding:
    """The outcome of one diagnosis.

    `gain` is what the job as a whole would save; None when no seconds can be claimed. `first` is
    what the first action saves, where that is not all that the fault costs. `overlaps` are ids of
    findings whose gains are not additive with this one. Whoever runs a diagnosis gives what it
    found its `id` and `references`.
    """

    status: Status
    title: str
    summary: str
    gain: Gain | None = None
    confidence: Confidence = Confidence.MEDIUM
    ranks: tuple[int, ...] = ()
    window_s: tuple[float, float] | None = None
    where: tuple[Frame, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    actions: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    overlaps: tuple[str, ...] = ()
    first: Gain | None = None
    at_stake: Gain | None = None
    """All that it is about, where nobody knows how much of it a change saves: no claim."""
    holder: schema.Holder | None = None
    """Of a lock or queue that ranks wait for; what it does is part of the JSON of runs alone."""
    id: str = ""
    is_inferred: bool = False
    """It is less certain than its gain allows, as its cause is inferred from what was measured."""
    is_elsewhere: bool = False
    """Its place is where it costs most, and its first action tells where it is changed."""
    set_at: Frame | None = None
    """The line to change, where that is another than the one in which time is spent."""
    is_loop: bool = False
    """That line begins the loop around the one in which time is spent."""
    is_setting: bool = False
    """Its first action sets variables of the environment: no line of the program is to be edited.
    """
    titled_s: float | None = None
    """What its title says that something takes a rank, where its gain does not tell that as spent;
    not part of the JSON."""
    damage: str = ""
    """Id of the damage that it is about, which the verdict names first; not part of the JSON."""

    @property
    def recommended(self) -> Gain | None:
        """What the first action saves: this is what a headline may promise."""
        return self.first or self.gain

    @property
    def gain_s(self) -> float | None:
        """Seconds that the job would save; None when none can be claimed."""
        return self.gain.seconds if self.gain else None

    @property
    def gain_share(self) -> float | None:
        """The same as a share of the focus of analysis."""
        return self.gain.share if self.gain else None

    @property
    def gain_interval_s(self) -> tuple[float, float] | None:
        """The interval of these seconds, of 95 %."""
        return self.gain.interval_s if self.gain else None

    @property
    def gain_basis(self) -> Basis | None:
        """How these seconds were found."""
        return self.gain.basis if self.gain else None

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What the gain replays."""
        return self.gain.edits if self.gain else ()

    @property
    def changes(self) -> tuple[Edit, ...]:
        """What its own change replays: all of the fault, or else the first action."""
        return self.edits or (self.first.edits if self.first else ())

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the replay of the gain takes for granted."""
        return self.gain.assumptions if self.gain else ()

    @property
    def row(self) -> schema.Outcome:
        """What documents hold of it."""
        return schema.Outcome(
            id=self.id,
            status=self.status,
            title=self.title,
            summary=self.summary,
            gain_s=self.gain_s,
            gain_interval_s=self.gain_interval_s,
            gain_share=self.gain_share,
            gain_basis=self.gain_basis,
            assumptions=self.assumptions,
            confidence=self.confidence,
            ranks=self.ranks,
            window_s=self.window_s,
            where=tuple(map(place_of, self.where)),
            evidence=tuple(schema.FindingEvidence(**vars(one)) for one in self.evidence),
            actions=self.actions,
            references=self.references,
            overlaps=self.overlaps,
        )


class _Declared(Protocol):
    """What a diagnosis, of a run or of a study, declares of the findings that it makes."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def passed(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def references(self) -> tuple[str, ...]: ...


Found = TypeVar("Found", bound=Finding)


def settled(found: Found | Quiet, diagnosis: _Declared, kind: type[Found]) -> Found:
    """What a diagnosis found, under its name; of what is no fault it makes a finding, too."""
    if isinstance(found, Finding):
        references = () if found.status is Status.PASS else diagnosis.references
        return replace(found, id=diagnosis.id, references=references)
    return kind(
        id=diagnosis.id,
        status=found.status,
        title=quiet_title(found.status, diagnosis),
        summary=found.summary,
        confidence=found.confidence,
        evidence=found.evidence,
        actions=found.actions,
    )


def quiet_title(status: Status, diagnosis: _Declared) -> str:
    """What a diagnosis is called where it found no fault, or could not be made."""
    title = diagnosis.passed if status is Status.PASS else diagnosis.subject
    return title or diagnosis.title


def broken(diagnosis: _Declared, error: Exception, kind: type[Found]) -> Found:
    """The row of a diagnosis that threw."""
    return kind(
        id=diagnosis.id,
        status=Status.ERROR,
        title=diagnosis.title,
        summary=f"The diagnosis failed: {type(error).__name__}: {error}",
        confidence=Confidence.LOW,
    )
