"""Ranks that stall on file I/O: storage, not the CPU, sets the pace."""

from typing import Any

from perfscope.attribution.ledger import INDEX
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, not_measured, passed
from perfscope.findings.core.gain import as_bound, bound_s, predicted_gain
from perfscope.findings.facts import sampled_places
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.communication.call_sites import Places
from perfscope.metrics.host.resources import RankFiles
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import Account, Confidence, Status
from perfscope.units import NS, capitalized, format_bytes, format_seconds, format_share

IO_FAIL_SHARE = 0.15  # what no cache and no faster disk takes away completely
FAULTS_PER_STALLED_S = 50.0  # pages waited for, in a second of it: each takes 20 ms at most
BYTES_PER_FAULT = 64 << 10  # the kernel brings up to as much with a page; reading brings more
IO_START_S = 20.0  # who stood still before it only, read what it needs to begin; or before these
IO_START_SHARES = (0.3, 0.5)  # of the focus: at least the first, at most the second
IO_LEAST_S = 1.0  # a few samples of a short run are chance
EDIT = Edit(Account.IO)
BEGINS = " All of it is at the start, while programs, libraries and data are first read."
WHOLE_LIVES = {"process_lifetime", "communication_lifetime"}
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs", "afs"})
PARALLEL = frozenset({"lustre", "gpfs", "beegfs", "panfs", "orangefs", "pvfs2", "wekafs"})
_PARTS = {
    Account.INPUT_WAIT: "while it waits for input",
    Account.CHECKPOINT: "in checkpoints",
    Account.EVALUATION: "in evaluation",
    Account.TRAINING: "in training steps",
    Account.IO: "in file phases",
}
_OVERLAPS = ("data_stall", "checkpoint_stall", "rank_zero_evaluation", "frequent_evaluation")


def judge(run: Facts) -> Outcome:
    """Whether file access holds ranks up, where in the run, and on which file system."""
    results, replay = run.results, run.replay
    files = results.resources.files
    spent_s = (results.ledger.ns[INDEX[Account.IO]] * NS).tolist()
    marked = (
        predicted_gain(results, replay, [EDIT], bound_s=bound_s(results, spent_s), is_planned=True)
        if any(spent_s)
        else None
    )
    length_s = results.focus.length_ns * NS
    known = [one for one in files if one.stalled_s is not None]
    if not known and (marked is None or marked.share < thresholds.FAIL_SHARE_UPPER_BOUND):
        return not_measured(
            wording.not_recorded(
                results.trace,
                "io",
                "Waiting for devices was not sampled: record with --sample-hz 10 (the default) and "
                "this version of perfscope.",
            )
        )
    share = (
        max((one.stalled_s or 0.0 for one in known), default=0.0) / length_s if length_s else 0.0
    )
    if marked is not None and marked.share >= thresholds.FAIL_SHARE_UPPER_BOUND:
        return _marked(results, marked, spent_s)
    least_s = max(IO_LEAST_S, thresholds.FAIL_SHARE_UPPER_BOUND * length_s)
    long = [one for one in known if (one.stalled_s or 0.0) >= least_s]
    if not long:
        much = f" for more than {format_share(share)} of the analyzed window" if share else ""
        return passed(
            f"No rank was seen to wait for a disk or a file system{much}; together they read "
            f"{format_bytes(sum(one.read_bytes for one in files))} and wrote "
            f"{format_bytes(sum(one.written_bytes for one in files))}. CPU time for reading, "
            "writing and serializing is not counted here."
        )
    again = [one for one in long if not _is_start(results, one)]
    return _stalled(results, again or long, is_start=not again)


def _marked(results: Results, marked: Gain, spent_s: list[float]) -> Finding:
    """File phases and MPI's file calls, which a replay can take away."""
    worst = spent_s.index(max(spent_s))
    rank, places = results.ledger.ranks[worst], results.call_sites.files
    of_rank = {one.rank: one for one in results.resources.files}
    told = sampled_places.frames(places)
    where = sampled_places.mostly(places, ", mainly in")
    return Finding(
        status=_status(marked.share),
        title=f"File I/O takes up to {wording.of_window(marked.share)}",
        summary=(
            f"Rank {rank} spends the most time in file calls: {format_seconds(max(spent_s))}"
            f"{where}. "
            f"Without any of it the run would take "
            f"{wording.saving(results, marked.seconds, is_bound=True)} less: "
            "more than a faster file system can save."
        ),
        gain=as_bound(marked),  # no file system needs no time
        confidence=Confidence.HIGH if not marked.is_bound else Confidence.MEDIUM,
        ranks=tuple(
            rank
            for rank, seconds in zip(results.ledger.ranks, spent_s, strict=True)
            if seconds >= max(spent_s) / 2
        ),
        where=told,
        evidence=(*_evidence(results, results.resources.files), *sampled_places.rows(places, told)),
        actions=_actions(results, of_rank.get(rank)),
        overlaps=_OVERLAPS,
    )


def _stalled(results: Results, long: list[RankFiles], *, is_start: bool) -> Finding:
    """Found by samples alone: what it costs is part of other times, so no seconds are claimed."""
    worst = max(long, key=lambda one: one.stalled_s or 0.0)
    stalled_s = worst.stalled_s or 0.0
    share = stalled_s / (results.focus.length_ns * NS)
    ranks = tuple(one.rank for one in long if (one.stalled_s or 0.0) >= stalled_s / 2)
    who = capitalized(wording.ranks(ranks))
    part, seconds = _largest_part(worst)
    places = results.call_sites.stalls.get(worst.rank, Places())
    # beside the place of most moments others are chance: samples are not taken at these moments
    told = sampled_places.main_place(places) or sampled_places.frames(places)
    where = f", {format_seconds(seconds)} of it {part}" if part else ""
    where += sampled_places.mostly(places, ", mainly in")
    kinds = ", ".join(dict.fromkeys(_types(results))) or "unknown"
    return Finding(
        status=Status.INFO if is_start else _status(share),
        title=f"{who} {'stalls' if len(ranks) == 1 else 'stall'} on file I/O for "
        f"{format_share(share)} of the analyzed window{', at the start' if is_start else ''}",
        summary=(
            f"Rank {worst.rank} waits {format_seconds(stalled_s)} for I/O while none of its "
            f"threads runs{where}. It read {format_bytes(worst.read_bytes)} and wrote "
            f"{format_bytes(worst.written_bytes)}; file systems of the job: {kinds}."
            f"{BEGINS if is_start else ''}"
        ),
        confidence=Confidence.MEDIUM,
        ranks=ranks,
        where=told,
        evidence=(*_evidence(results, results.resources.files), *sampled_places.rows(places, told)),
        actions=_actions(results, worst),
        overlaps=_OVERLAPS,
    )


def _status(share: float) -> Status:
    return Status.FAIL if share >= IO_FAIL_SHARE else Status.WARN


def _is_start(results: Results, one: RankFiles) -> bool:
    """Whether a rank only stood still while it began, outside phases and not for long."""
    if results.focus.kind not in WHOLE_LIVES:
        return False
    stalled_s = one.stalled_s or 0.0
    in_parts_s = sum(seconds for account, seconds in one.stalled_by_account if account in _PARTS)
    is_short = stalled_s < thresholds.START_UP_LEAST_S and in_parts_s < stalled_s / 2
    length_s = results.focus.length_ns * NS
    least, most = (share * length_s for share in IO_START_SHARES)
    return is_short and one.last_stalled_s <= min(most, max(least, IO_START_S))


def _largest_part(worst: RankFiles) -> tuple[str, float]:
    """In which part of the run most of it happens, in words; "" where that has no name."""
    if not worst.stalled_by_account:
        return "", 0.0
    account, seconds = max(worst.stalled_by_account, key=lambda pair: pair[1])
    return _PARTS.get(account, ""), seconds


def _places(results: Results) -> list[dict[str, Any]]:
    """The mounts on which the ranks had files, each once."""
    found: dict[str, dict[str, Any]] = {}
    for rank in results.trace.ranks:
        rows = rank.metadata.get("file_systems")
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and isinstance(row.get("type"), str):
                found.setdefault(f"{row['type']} {row.get('mount')}", row)
    return list(found.values())


def _types(results: Results) -> list[str]:
    return [str(row["type"])[:40] for row in _places(results)]


def _evidence(results: Results, files: tuple[RankFiles, ...]) -> tuple[Evidence, ...]:
    length_s = results.focus.length_ns * NS
    most = sorted(files, key=lambda one: -(one.stalled_s or 0.0))[:4]
    rows = [
        Evidence(f"Rank {one.rank} stalls", one.stalled_s, "s", "near 0")
        for one in most
        if one.stalled_s is not None
    ]
    for one in most[:1]:
        for name, amount in (("reads", one.read_bytes), ("writes", one.written_bytes)):
            pace = f"{format_bytes(amount / length_s if length_s else 0.0)}/s"
            rows.append(Evidence(f"Rank {one.rank} {name}", f"{format_bytes(amount)}, {pace}"))
        if one.major_faults:
            rows.append(Evidence(f"Pages rank {one.rank} waited for", one.major_faults))
    for row in _places(results)[:4]:
        text = str(row["type"])[:40]
        if isinstance(row.get("stripes"), int):
            text += f", {row['stripes']} stripes"
        rows.append(Evidence(f"File system at {str(row.get('mount'))[:60]}", text))
    return tuple(rows)


def _reads_pages(one: RankFiles) -> bool:
    """Whether a rank waited for single pages rather than for reading: swapped out, or mapped."""
    if not one.stalled_s or one.major_faults < FAULTS_PER_STALLED_S * one.stalled_s:
        return False
    return one.major_faults > 0 and one.read_bytes < one.major_faults * BYTES_PER_FAULT


def _writes(one: RankFiles | None) -> bool:
    """Whether a rank mostly writes where it waits for files: advice on reading would not help."""
    return one is not None and one.waited_written_bytes > one.waited_read_bytes


def _actions(results: Results, worst: RankFiles | None) -> tuple[str, ...]:
    types = set(_types(results))
    actions = []
    reads_pages = worst is not None and _reads_pages(worst)
    writes = not reads_pages and _writes(worst)
    if reads_pages:
        actions.append(
            "Start fewer ranks on the node, or ask for more memory, if the node swaps (vmstat 1, "
            "columns si and so); if it does not, read what is needed of mapped files at once: the "
            "rank waits for pages, and reads little in calls."
        )
    if writes:
        actions.append(
            "Write less often, in few large calls, and only what is needed (single precision, "
            "compressed); or from a thread while the next steps run, or to a disk of the node "
            "first."
        )
    elif types & PARALLEL or types & NETWORK:
        kind = min(types & (PARALLEL | NETWORK))
        actions.append(
            f"Copy the data from {kind} to a disk or RAM disk of the node before the job "
            "(for example $TMPDIR or /dev/shm) and read it there."
        )
    else:
        actions.append(
            "Keep the data in memory: read it once (tf.data: .cache(); torch: load it in the "
            "Dataset's constructor), or put it on /dev/shm before the job."
        )
    if "lustre" in types:
        actions.append("Lustre: spread large files over more servers: lfs setstripe -c 8 DIR.")
    if writes:
        return tuple(actions)
    actions.append(
        "Read few large files instead of many small ones (TFRecord, WebDataset, HDF5), and ahead "
        "of the training: DataLoader(num_workers=...), .prefetch(tf.data.AUTOTUNE)."
    )
    return tuple(actions)


DIAGNOSIS = Diagnosis(
    id="io_bound",
    title="Ranks stall on file I/O",
    description=(
        "Adds up the time in which threads of a rank wait for a device and none of them runs, "
        "outside communication, and the time in marked file phases and MPI's file calls; reports "
        "bytes, the file systems of the job's files, and in which part of the run it happens."
    ),
    judge=judge,
    passed="No rank stalls on file I/O",
    evidence=(
        "seconds in which a thread waits for a device and none runs, by part of the run; the "
        "function in which most of it happens; file calls; bytes; file systems"
    ),
    gain_from="replay without file calls: an upper bound; no seconds where only samples tell",
    counts_from=(
        f"{100 * thresholds.FAIL_SHARE_UPPER_BOUND:g} % warns, {100 * IO_FAIL_SHARE:g} % fails; "
        "less than "
        f"{thresholds.START_UP_LEAST_S:g} s, outside phases and in the beginning of the whole "
        f"run ({IO_START_S:g} s, but at least {100 * IO_START_SHARES[0]:g} % and at most "
        f"{100 * IO_START_SHARES[1]:g} %), are reported (info)"
    ),
    rank=270,
    references=(
        "Linux, process states: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html",
        "Lustre, striping: https://doc.lustre.org/lustre_manual.xhtml#managingstripingfreespace",
    ),
)
