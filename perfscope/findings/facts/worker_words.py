"""What the processes that make a rank's batches do: whether they are busy, and at what."""

from perfscope.findings.core.finding import Evidence
from perfscope.findings.core.wording import place
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.metrics.host.worker_use import WorkerUse
from perfscope.metrics.results import Results
from perfscope.schema.enums import Activity
from perfscope.units import counted, format_share, inside


def use_of(results: Results, rank: int) -> WorkerUse | None:
    """What the processes that work for a rank were seen doing; None where too little was seen."""
    found = (one for one in results.worker_use if one.rank == rank)
    return next((one for one in found if one.working + one.waiting >= FEWEST_SAMPLES), None)


def is_idle(use: WorkerUse) -> bool:
    """Whether they mostly wait for others, so that more of them would only wait with them."""
    return use.waiting > MAIN * (use.waiting + use.working)


def use_evidence(use: WorkerUse | None) -> list[Evidence]:
    """How many there are, whether they are busy, and where."""
    if use is None:
        return []
    whole = use.waiting + use.working
    activities = ", ".join(
        f"{format_share(count / whole)} {inside(activity.label)}"
        for activity, count in list(use.activities.items())[:3]
    )
    waits = f"{format_share(use.waiting / whole)} waiting for work or for room in a queue"
    rows = [
        Evidence("Worker processes seen", _seen(use)),
        Evidence("What they do", f"{f'{activities}, ' if activities else ''}{waits}"),
    ]
    if use.cpu_share is not None and use.queue_share is not None:
        cpus = f"{format_share(use.cpu_share)} of the time"
        queue = f"{format_share(use.queue_share)} of it"
        rows.append(Evidence("A worker uses a CPU", f"{cpus}, and waits for one {queue}"))
    if use.place is not None:
        share = format_share(use.at_place / use.working)
        rows.append(Evidence(f"Of their work in {place(use.place)}", share))
    return rows


def _seen(use: WorkerUse) -> int | str:
    if use.processes == use.at_once:
        return use.processes
    return f"{use.processes}, of which {use.at_once} at once"


def use_action(use: WorkerUse | None) -> str:
    """What follows from what they do; "" where nothing was seen of them."""
    if use is None:
        return ""
    share = use.waiting / (use.waiting + use.working)
    they = counted(use.at_once, "worker process", "worker processes")
    if is_idle(use):
        return (
            f"{they} {'waits' if use.at_once == 1 else 'wait'} for work or for room in a queue "
            f"{format_share(share)} of the time: more of them would not help. Request batches "
            "earlier (raise prefetch_factor), and make them cheaper to hand over: few large "
            "arrays, no Python objects."
        )
    if use.place is None or use.at_place <= MAIN * use.working:
        return ""
    main = next(iter(use.activities), Activity.UNKNOWN)
    where, at = place(use.place), inside(main.label)
    part = f"{format_share(use.at_place / use.working)} of the work of {they}"
    it, s = ("it", "s") if use.at_once == 1 else ("they", "")
    if use.cpu_share is None or use.queue_share is None:
        return f"Make {where} cheaper: {part} is there ({at})."
    wanted = use.cpu_share + use.queue_share
    if wanted > MAIN * use.working / (use.working + use.waiting):
        return (
            f"Make {where} cheaper: {part} is there ({at}), and {it} use{s} or want{s} a CPU "
            f"{format_share(min(1.0, wanted))} of the time."
        )
    return (
        f"Shorten what {where} waits for: {part} is there ({at}), but {it} use{s} a CPU only "
        f"{format_share(use.cpu_share)} of the time."
    )
