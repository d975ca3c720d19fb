"""The runs of a study: each analyzed once, as `perfscope analyze` does it, and read in one way.

How to use it in a study:

    runs = load_runs(paths, progress=tell)
    for run in runs:
        run.label, run.ranks, run.focus_s           # plain facts
        run.result.run.wall_s, run.result.findings  # all of analysis.json, see schema.analysis
        run.ledger_s["evaluation"]                  # seconds of all ranks together, by account
        run.phase("train").seconds_by_rank          # a phase, or None
        run.transport, run.pinning, run.ending      # what may make two runs incomparable

`load_run` takes what `perfscope analyze` takes (a run directory, a trace of another tool), a stored
analysis.json, or a directory that holds one and no trace. It keeps the result beside the trace, see
`study.cache`. `StudyRun(path, label, document)` may be made by hand, for tests and other sources.

What was found becomes one structure, and that a document, a page and a summary:

    study = studies.findings.catalog.study_of("sweep", judged, runs, verdict=..., body=...)
    cli.answer.finish_study(study, output, forms=...)

Findings of a study are files in `studies/findings/` with a `DIAGNOSIS`. A section of the page is
a file in `report/studies/sections/` with a `SECTION`, and what the terminal prints of a kind of
study is a file in `report/studies/terminals/` with a `TERMINAL`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from perfscope import files
from perfscope.errors import PerfscopeError, UnreadableInputError, UsageError
from perfscope.metrics.results import Options
from perfscope.schema.check import problems
from perfscope.schema.read import read_known, version_of
from perfscope.studies.common import cache
from perfscope.studies.common.run import StudyRun

__all__ = ["StudyRun", "labels", "load_run", "load_runs"]

Json = dict[str, Any]
SCHEMA_VERSION = "1"
ANALYSIS_FILE = "analysis.json"
MOST_RANKS = 10**8
TOOL = "perfscope"


def load_runs(
    paths: Sequence[Path],
    *,
    options: Options | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[StudyRun, ...]:
    """The runs at some paths, one after the other, with labels that tell them apart.

    A path may be given once; `progress` is told what is being read.

    Raises:
        UsageError: a path is given twice.
        PerfscopeError: one of them cannot be read.
    """
    known: dict[Path, Path] = {}
    for path in paths:
        if (place := files.resolved(path)) in known:
            raise UsageError(
                f"{path} is given twice.",
                why=f"It is the same run as {known[place]}, and a study counts each run once.",
                action="Give each run once.",
            )
        known[place] = path
    runs = []
    for position, (path, label) in enumerate(zip(paths, labels(paths), strict=True), start=1):
        progress(f"Reading run {position} of {len(paths)}: {path}")
        runs.append(load_run(path, label=label, options=options))
    return tuple(runs)


def load_run(path: Path, *, label: str = "", options: Options | None = None) -> StudyRun:
    """The run at a path: a run directory, a trace of another tool, or a stored analysis.json.

    Raises:
        UnreadableInputError: nothing is there, it is no trace, or the stored result is damaged or
            of another version.
        UsageError: `options` ask for what is not in the run, or for a stored result to be narrowed.
    """
    document = _stored(path, options) or _analyzed(path, options)
    return StudyRun(path, label or labels([path])[0], document)


def labels(paths: Sequence[Path]) -> list[str]:
    """Short names of paths that are unique among them: the last parts that tell them apart."""
    parts = [_telling_parts(path) for path in paths]
    for count in range(1, max((len(p) for p in parts), default=1) + 1):
        names = ["/".join(p[-count:]) or "/" for p in parts]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _telling_parts(path: Path) -> list[str]:
    """The parts of a path; the name that every stored result has tells nothing."""
    place = path.absolute()
    if place.name == ANALYSIS_FILE and place.parent.name:
        place = place.parent
    return [part for part in place.parts if part != "/"]


def _stored(path: Path, options: Options | None) -> Json | None:
    """A stored analysis.json; None when the path is something else."""
    if path.is_file() and (path.name.endswith(".json") and _is_own_result(path)):
        if options is not None and (options.focus or options.phase_rules):
            raise UsageError(
                f"{path} is a finished analysis: it cannot be narrowed.",
                why="--foa and --phase change how a recording is read.",
                action="Give the recording that it was made from.",
            )
        return _read_result(path)
    return None


def _is_own_result(path: Path) -> bool:
    try:
        return b'"schema_version"' in files.head_of(path, 256)
    except OSError:
        return False


def _read_result(path: Path) -> Json:
    try:
        document = files.read_json(path)
    except (OSError, ValueError) as error:
        raise UnreadableInputError(
            f"Cannot read {path}.",
            why=f"It is no JSON document that can be read: {error}.",
            action="Make it again: perfscope analyze RUN-DIRECTORY",
        ) from error
    if (version := version_of(document)) != SCHEMA_VERSION:
        raise UnreadableInputError(
            f"{path} is not a result that this version reads.",
            why=f"It is of schema {version!r}, and this version reads {SCHEMA_VERSION!r}.",
            action="Make it again: perfscope analyze RUN-DIRECTORY",
        )
    if (problem := next(problems(document, is_whole=False), None)) is not None:
        raise UnreadableInputError(
            f"{path} is damaged.",
            why=f"It does not hold what a result holds: {problem}.",
            action="Make it again: perfscope analyze RUN-DIRECTORY",
        )
    assert isinstance(document, dict)
    found = read_known(document)
    if found.tool.name != TOOL:
        raise UnreadableInputError(
            f"{path} is not a result of perfscope.",
            why=f"It was written by {found.tool.name or 'no tool that it names'}.",
            action="Give run directories, traces, or the analysis.json of runs.",
        )
    if not 1 <= found.run.ranks <= MOST_RANKS:
        raise UnreadableInputError(
            f"{path} is not the result of a run.",
            why="It names no ranks: it is damaged, or the result of a study.",
            action="Give run directories, traces, or the analysis.json of runs.",
        )
    return document


def _analyzed(path: Path, options: Options | None) -> Json:
    """The result of what was recorded at a path, kept from an earlier study where it counts."""
    from perfscope.metrics.results import Options as RunOptions  # noqa: PLC0415 - only when needed

    chosen = options or RunOptions()
    key = cache.key_of(path, repr((chosen.focus, chosen.phase_rules)))
    document = cache.kept_result(path, key)
    if document is None:
        try:
            document = _analyze(path, chosen)
        except PerfscopeError:
            # a folder of reports/: the result was kept and the recording was not
            if (stored := _stored(path / ANALYSIS_FILE, options)) is None:
                raise
            return stored
        cache.keep_result(path, key, document)
    # the same bytes whether kept or made now, from whichever directory
    document["run"] |= {"source": str(path)}
    return document


def _analyze(path: Path, options: Options) -> Json:
    from perfscope.document.analysis import analysis  # noqa: PLC0415
    from perfscope.readers.detect import ReadOptions  # noqa: PLC0415 - takes half a second
    from perfscope.readers.registry import open_trace  # noqa: PLC0415
    from perfscope.schema.write import document_text  # noqa: PLC0415

    trace = open_trace(path, ReadOptions(phase_rules=options.phase_rules))
    document = files.parse_json(document_text(analysis(trace, options)))
    assert isinstance(document, dict)
    return document
