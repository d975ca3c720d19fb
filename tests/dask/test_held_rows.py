"""What devices did stays with the workers that read it, whichever tool wrote the files."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perfscope.dataframes.source import Source
from perfscope.export import perfetto
from perfscope.readers.registry import open_trace
from tests.readers.nsys.exports import steps_of, write_export
from tests.readers.rocprof import profiles as rocprof
from tests.readers.xplane import profiles as xplane
from tests.support.environments import Environment
from tests.support.recording import run_with
from tests.support.write_kineto import small

# Of each of the places that are named, the first process that is asked for rows is killed.
ASKING = """
import json, os, signal, sys
from pathlib import Path
from perfscope.dask.scheduler import reading_on
from perfscope.document.analysis import analysis
from perfscope.metrics.results import Options
from perfscope.readers.detect import ReadOptions
from perfscope.readers.registry import open_traces
from perfscope.trace.elsewhere import ask_ranks, held_of

def asked(rows, mark):
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return len(rows), os.getpid()

def document(trace):
    return json.dumps(analysis(trace, Options()), default=str)

def opened(place):
    return open_traces([place], ReadOptions((), ('*gemm*',)))

if __name__ == '__main__':
    places = sorted(Path(sys.argv[1]).iterdir())
    here = [document(opened(place)) for place in places]
    with reading_on('local:2'):
        for place, expected in zip(places, here, strict=True):
            trace, mark = opened(place), Path(sys.argv[1]).with_name(place.name + '.killed')
            counts = ask_ranks(asked, trace.ranks, [mark] * len(trace.ranks))
            found = document(trace)
            held = [held_of(rank.devices) is not None for rank in trace.ranks]
            is_same = found == expected and mark.exists()
            of_ranks = [rank.devices.count for rank in opened(place).ranks]
            away = [count > 0 and process != os.getpid() for count, process in counts]
            is_same = is_same and [count for count, _ in counts] == of_ranks
            print(place.name, trace.format.value, len(held), all(held), all(away), is_same)
"""


def _kineto(place: Path) -> None:
    for number in range(2):
        small(number, 2).write(place / f"rank{number}.pt.trace.json")


def _nsys(place: Path) -> None:
    for pid in (101, 102):
        write_export(place / f"{pid}.sqlite", steps_of(pid, late_ms=2 * (pid == 102)))


def _xplane(place: Path) -> None:
    for number in range(2):
        content = xplane.space(xplane.steps(), xplane.gpu(), host=f"node{number}")
        (place / f"node{number}.xplane.pb").write_bytes(content)


def _perfetto(place: Path) -> None:
    """Two ranks in one file, as perfscope exports them."""
    beside = place.with_name("profiles")
    beside.mkdir()
    _kineto(beside)
    assert perfetto.write(Source(open_trace(beside)), place / "run.perfetto-trace") == []


def _rocprof(place: Path) -> None:
    rocprof.document(place / "7_results.json", rocprof.process(7))
    rocprof.database(place / "8_results.db", 8)


@pytest.fixture
def dask(environment: Callable[[str], Environment]) -> Environment:
    return environment("integrations")


def test_of_each_tool_the_result_is_the_same_and_a_lost_worker_is_made_good(
    tmp_path: Path, dask: Environment
) -> None:
    every = {"kineto": _kineto, "nsys": _nsys, "xplane": _xplane, "rocprof": _rocprof}
    places = tmp_path / "places"
    for name, write in {**every, "perfetto": _perfetto}.items():
        place = places / name
        place.mkdir(parents=True)
        write(place)
    (places / "profiles").rename(tmp_path / "profiles")
    (tmp_path / "asking.py").write_text(ASKING)
    done = run_with([sys.executable, "asking.py", str(places)], tmp_path, dask)
    lines = [f"{name} {name} 2 True True True" for name in sorted([*every, "perfetto"])]
    assert (done.returncode, done.stdout.splitlines()) == (0, lines), done.stderr
