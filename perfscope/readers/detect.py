"""What lies at a path, told by its first bytes and never by its name.

A reader module offers `READER`, a `Reader`; `perfscope.readers.registry` finds it.
"""

import os
import shlex
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from pathlib import Path

from perfscope import files
from perfscope.errors import UnreadableInputError, refused
from perfscope.readers.encoding import in_utf8
from perfscope.readers.lookalikes import LIST, LookAlike, by_ending, look_alike
from perfscope.structures import dataclass
from perfscope.trace.model import Format, Trace
from perfscope.units import counted

HEAD_BYTES = 1 << 16
"""How much of a file a reader sees to recognize it, after decompression."""
MOST_FILES = 20_000
DEEPEST = 6
MOST_NAMED = 5
PAGE_HEAD_BYTES = 1 << 15
GZIP = b"\x1f\x8b"
_SHOWN_BYTES = 24


@dataclass(frozen=True)
class ReadOptions:
    """What the user says about how files are to be understood."""

    # --phase evaluate='*evaluate*': (phase id, glob), before the defaults
    phase_rules: tuple[tuple[str, str], ...] = ()
    # --communication '*my_all2all*': kernels that communicate, by glob
    communication: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """A file or directory that a reader may know."""

    path: Path
    is_directory: bool

    @cached_property
    def raw(self) -> bytes:
        """The first bytes as they are stored; empty for a directory."""
        if self.is_directory:
            return b""
        try:
            return files.head_of(self.path, HEAD_BYTES)
        except OSError as error:
            raise refused(self.path, error) from error

    @property
    def is_compressed(self) -> bool:
        """Whether it is a gzip file."""
        return self.raw.startswith(GZIP)

    @cached_property
    def head(self) -> bytes:
        """The first bytes, decompressed, at most `HEAD_BYTES` of them; marked text as UTF-8."""
        head = self.raw
        if self.is_compressed:
            try:
                head = zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
            except zlib.error:
                head = b""
        return b"".join(in_utf8(iter([head])))

    @cached_property
    def _known(self) -> LookAlike | None:
        if self.is_directory:
            return self._inside[1] if self._inside else None
        return look_alike(self.head)

    @cached_property
    def _inside(self) -> tuple[str, LookAlike] | None:
        """The first file in a directory that is known to be another tool's, and what it is."""
        names = next(os.walk(self.path), ("", [], []))[2]
        for name in sorted(names)[:MOST_NAMED]:
            with suppress(UnreadableInputError):
                if known := look_alike(Place(self.path / name, is_directory=False).head):
                    return name, known
        return None

    def advice(self) -> str:
        """What to do about a path that no reader knows."""
        if self._known is not None:
            return self._known.action
        named = None if self.is_directory else by_ending(self.path)
        return named[1] if named else LIST

    def description(self) -> str:
        """What was seen, for a person who gave a path that no reader knows."""
        if self.is_directory:
            what = "a directory in which no file is a known trace"
            return f"{what}; {self._inside[0]} is {self._inside[1].what}" if self._inside else what
        packed = ", compressed with gzip" if self.is_compressed else ""
        if not self.raw:
            return "an empty file"
        if self.is_compressed and not self.head:
            return "a gzip file that cannot be decompressed or holds nothing"
        if is_own_result(self):
            return "a result of perfscope analyze; give what was analyzed"
        if self._known is not None:
            return self._known.what + packed
        if named := by_ending(self.path):
            return f"{named[0]}, by its name"
        first = self.head[:_SHOWN_BYTES]
        if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in first):
            return f"text that begins with {first.decode('ascii')!r}{packed}"
        return f"data that begins with the bytes {first[:8].hex(' ')}{packed}"


def is_own_result(place: Place) -> bool:
    """Whether it is an analysis.json, which looks like JSON of other tools, or a page."""
    is_page = b'<meta name="generator" content="perfscope' in place.head[:PAGE_HEAD_BYTES]
    is_document = b'"schema_version"' in place.head[:64] and b'"perfscope"' in place.head[:256]
    return is_document or is_page


THE_TOOL = "files that the tool itself wrote"


@dataclass(frozen=True)
class Tells:
    """What a format can tell of a run, in words for people; "" for nothing."""

    efficiencies: str = ""  # POP's efficiencies and the ledger
    waits: str = ""  # who waited for whom
    phases: str = ""  # phases and steps
    devices: str = ""  # what accelerators did
    counters: str = ""  # of hardware, or of the program
    resources: str = ""  # memory, threads, bytes of files
    clock: str = ""  # whether its times are those of a calendar
    known_from: str = THE_TOOL  # what the files in the tests are, against which this is held


@dataclass(frozen=True)
class Reader:
    """One format: how it is recognized and opened."""

    format: Format  # what it reads
    description: str  # what a person calls it, for the list of what can be read
    # whether a place is of this format; looks at `Place.head` for a file, and into the directory
    # for a format that is one
    recognizes: Callable[[Place], bool]
    # the trace in the paths; raises UnreadableInputError
    open: Callable[[Sequence[Path], ReadOptions], Trace]
    tells: Tells  # what its files can tell
    # whether several files of one directory are the ranks of one run, opened together
    joins: bool = False
    # whether it takes what a more special reader also recognizes; asked last
    is_generic: bool = False
    is_directory: bool = False  # whether a trace of this format is a directory, and never a file
    # files and directories that belong to a recognized path and are not looked at
    companions: Callable[[Path], Sequence[Path]] = lambda _: ()


@dataclass(frozen=True)
class Source:
    """Paths that one reader opens as one trace; `is_named` where the user gave them."""

    reader: Reader
    paths: tuple[Path, ...]
    is_named: bool = True

    @property
    def text(self) -> str:
        """How the source is called in messages."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"


@dataclass
class Detection:
    """What was found below the paths that the user gave."""

    readers: Sequence[Reader]
    sources: list[Source] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)
    """What was taken of several runs below a directory, for the user to hear of."""
    _unknown_files: list[Path] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Finds the sources at a path.

        Raises:
            UnreadableInputError: nothing is there, or no reader knows it.
        """
        place = look(path)
        reader = self._reader(place)
        found = [Source(reader, (path,))] if reader else []
        if place.is_directory:
            inside = self._inside(path, set(reader.companions(path)) if reader else set())
            if inside and reader is None:
                self.choices += self._account(path, inside)
            found += inside if reader else self._nearest(path, inside)
        if not found:
            raise self._unknown(place)
        self.sources += found

    def _reader(self, place: Place) -> Reader | None:
        if not place.is_directory and is_own_result(place):
            return None
        return next((reader for reader in self.readers if reader.recognizes(place)), None)

    def _nearest(self, path: Path, found: Sequence[Source]) -> list[Source]:
        """What is opened of all that lies below a directory that is no trace itself.

        Files of several formats may be one run; several of the same are several runs, of which the
        one is taken that lies nearest.

        Raises:
            UnreadableInputError: several are equally near.
        """
        chosen = []
        readers = dict.fromkeys(source.reader for source in found)
        has_run = any(not reader.format.is_report for reader in readers)
        for reader in readers:
            form = reader.format
            if form.is_report or (form.is_of_one_process and has_run and len(readers) > 1):
                chosen += [source for source in found if source.reader is reader]
                continue
            same = sorted((s for s in found if s.reader is reader), key=_depth)
            nearest = [source for source in same if _depth(source) == _depth(same[0])]
            if len(nearest) > 1:
                raise _undecided(path, nearest, len(same))
            chosen.append(nearest[0])
            if len(same) > 1:
                self.choices.append(
                    f"{nearest[0].text} is what was read of {len(same)} runs below {path}: it lies "
                    f"nearest. The others: {_named(same[1:])}."
                )
        return chosen

    def _account(self, path: Path, found: Sequence[Source]) -> list[str]:
        """What lies below a directory, where that is of several kinds or of none.

        What became of each is said where it is read.
        """
        files: dict[str, int] = {}
        for source in found:
            kind = source.reader.format.value
            files[kind] = files.get(kind, 0) + len(source.paths)
        unknown = self._unknown_files
        if len(files) < 2 and not unknown:
            return []
        kinds = ", ".join(f"{counted(count, 'file')} of {kind}" for kind, count in files.items())
        shown = ", ".join(str(file.relative_to(path)) for file in unknown[:MOST_NAMED])
        more = f" and {len(unknown) - MOST_NAMED} more" if len(unknown) > MOST_NAMED else ""
        aside = f"; {counted(len(unknown), 'file')} of unknown format: {shown}{more}"
        return [f"{path} holds {kinds}{aside if unknown else ''}."]

    def _inside(self, path: Path, known: set[Path]) -> list[Source]:
        """The sources in the files below a directory; ranks of one run are one source."""
        self._unknown_files = []
        alone: list[Source] = []
        joined: dict[tuple[int, Path], list[Path]] = {}
        for file in self._files(path, known, alone):
            reader = self._file_reader(file)
            if reader is None:
                continue
            known.update(reader.companions(file))
            if reader.joins:
                joined.setdefault((self.readers.index(reader), path), []).append(file)
            else:
                alone.append(Source(reader, (file,), is_named=False))
        # what belongs to a trace may stand before it in the order of names
        self._unknown_files = [file for file in self._unknown_files if file not in known]
        alone = [source for source in alone if source.paths[0] not in known]
        own = {key: [one for one in files if one not in known] for key, files in joined.items()}
        ranks = [
            Source(self.readers[index], tuple(files), is_named=False)
            for (index, _), files in own.items()
            if files
        ]
        return alone + ranks

    def _file_reader(self, file: Path) -> Reader | None:
        place = Place(file, is_directory=False)
        try:
            reader = self._reader(place)
            if reader is None and not is_own_result(place):
                self._unknown_files.append(file)
            return reader
        except UnreadableInputError as error:
            # what another process made and renamed meanwhile belongs to nothing
            if not isinstance(error.__cause__, FileNotFoundError):
                self.notes.append(f"{error.what} {error.why}")
            return None

    def _files(self, path: Path, known: set[Path], alone: list[Source]) -> Iterator[Path]:
        """Regular files below a directory, top first; never into what belongs to one of them.

        Directories that are traces are added to `alone`, and what belongs to them to `known`.
        """
        count, is_run = 0, False
        for folder, folders, names in os.walk(path):
            place = Path(folder)
            here = Place(place, is_directory=True)
            # those within a run are no runs to choose from
            reader = None if is_run else self._directory_reader(here)
            if place == path:
                is_run = reader is not None
            elif reader:
                known.update(reader.companions(place))
                alone.append(Source(reader, (place,), is_named=False))
            for name in sorted(names):
                file = place / name
                if file in known or not _is_file(file):
                    continue
                count += 1
                if count > MOST_FILES:
                    self.notes.append(f"Only the first {MOST_FILES:,} files in {path} were seen.")
                    return
                yield file
            is_deepest = len(place.relative_to(path).parts) >= DEEPEST
            folders[:] = [] if is_deepest else sorted(n for n in folders if place / n not in known)

    def _directory_reader(self, place: Place) -> Reader | None:
        try:
            return next((r for r in self.readers if r.is_directory and r.recognizes(place)), None)
        except OSError:  # another process has taken it away meanwhile
            return None

    def _unknown(self, place: Place) -> UnreadableInputError:
        return UnreadableInputError(
            f"{place.path} is not a trace that perfscope can read.",
            why=f"It is {place.description()}.",
            action=place.advice(),
        )


def _depth(source: Source) -> int:
    return len(source.paths[0].parts)


def _undecided(path: Path, nearest: Sequence[Source], count: int) -> UnreadableInputError:
    first = nearest[0].paths[0]
    return UnreadableInputError(
        f"{path} holds {count} runs, and none of them lies nearer than the others.",
        why=f"One run is read at a time; there are {_named(nearest)}.",
        action=f"Name one of them: perfscope analyze {shlex.quote(str(first))}",
    )


def _named(sources: Sequence[Source]) -> str:
    """Where some sources are; of many, the first ones and how many more there are."""
    shown = [str(source.paths[0]) for source in sources[:MOST_NAMED]]
    more = len(sources) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def look(path: Path) -> Place:
    """The place at a path.

    Raises:
        UnreadableInputError: nothing is there, or it is neither a file nor a directory.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        gone = isinstance(error, FileNotFoundError)
        why = "The path does not exist." if gone else f"{getattr(error, 'strerror', '') or error}."
        raise UnreadableInputError(
            f"There is nothing at {path}." if gone else f"Cannot read {path}.",
            why=why,
            action="Record a run first: perfscope run -- mpirun -n 2 python train.py",
        ) from error
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise UnreadableInputError(
            f"Cannot read {path}.",
            why="It is neither a file nor a directory.",
            action="Copy what it gives into a file first.",
        )
    return Place(path, stat.S_ISDIR(mode))


def _is_file(path: Path) -> bool:
    """Whether there is a regular file; a link may lead where nobody may look, or nowhere at all."""
    try:
        return path.is_file()
    except OSError:
        return False
