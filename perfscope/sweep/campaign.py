"""Works through the runs of a plan, one after the other, and says how far it is."""

from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path

from perfscope.errors import UsageError
from perfscope.structures import dataclass
from perfscope.sweep import one_run, outcome
from perfscope.sweep.plan import Plan, Run, unwritable
from perfscope.sweep.progress import Progress
from perfscope.sweep.store import Store


@dataclass
class Tally:
    """How many runs were made now, found finished, and failed."""

    made: int = 0
    found: int = 0
    failed: list[str] = field(default_factory=list)


def work_through(
    plan: Plan, runs: Iterable[Run], *, place: Path, total: int, tell: Callable[[str], None]
) -> Tally:
    """Makes all runs that are not there yet.

    Raises:
        KeyboardInterrupt: the user stopped it; what was finished stays.
        PerfscopeError: the directory cannot be written.
    """
    if not Path(plan.directory).is_dir():
        raise UsageError(
            "The directory in which the command runs is gone.",
            why=f"The sweep was begun in {plan.directory}.",
            action="Put it back, or start the sweep anew from where the command works now.",
        )
    store, tally = Store(place), Tally()
    progress = Progress(total, tell)
    for number, run in enumerate(runs, start=1):
        done = store.finished(run)
        if done is None:
            done = _make(plan, run, store=store, progress=progress, number=number)
            tally.made += 1
        else:
            tally.found += 1
        record = outcome.record(done)
        progress.finished(run, record)
        if record is None or record.end != outcome.End.FINISHED.value:
            tally.failed.append(f"{run.name}: {record.reason if record else 'no record'}")
            for line in outcome.last_words(done):
                tell(line)
    progress.close()
    return tally


def _make(plan: Plan, run: Run, *, store: Store, progress: Progress, number: int) -> Path:
    progress.start(run, number)
    with store.claim(run, limit_s=plan.time_limit_s, while_waiting=progress.tick) as claim:
        if claim is not None:
            try:
                found = one_run.make(plan, run, claim, while_running=progress.tick)
                return store.commit(claim, run, found)
            except OSError as error:
                raise unwritable(store.place, error) from error
            finally:
                progress.pause()
    done = store.finished(run)
    assert done is not None  # a run that nobody may make is finished
    return done
