"""Many large Kineto files on a Dask cluster: `python -m benchmarks.engine.cluster`.

Writes profiles of two numbers of ranks, analyzes each without and with `--scheduler local:2`, and
says how the CPU seconds of the analysis grow with a GB: those that are spread (workers, or threads
of `perfscope.parallel`), and those that one thread takes for all ranks. From them follows how long
64 files of 1 GB take on 16 cores, where nothing else is slow. The results of both are compared to
the byte. Prints a Markdown table, and writes the numbers to bench-results/engine-cluster.json. Dask
is that of `.envs/integrations`.

`--whole DIR` analyzes the 64 files of 1 GB themselves, which are written below DIR: they differ in
the number of their rank alone, so that on Btrfs and XFS all take little more space than one.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.engine.kineto_trace import write_like, write_rank
from benchmarks.engine.tools import INSIDE, ROOT
from benchmarks.machine import describe, replace_between

RANKS = (3, 6)
MEGABYTES, MOST_MEGABYTES = 250, 1000
EVENTS_PER_MB = 4_000
KERNELS_PER_STEP = 4_000
GIGABYTES, CORES, GOAL_S = 64, 16, 120
HERE = "here, in threads"
SCHEDULERS = {HERE: (), "--scheduler local:2": ("--scheduler", "local:2")}

_ANALYZE = f"""
import json, resource, sys, time
from concurrent.futures import ThreadPoolExecutor

from perfscope import parallel

spread = []

class Timed(ThreadPoolExecutor):
    def map(self, function, *columns):
        def timed(*items):
            began = time.thread_time()
            found = function(*items)
            spread.append(time.thread_time() - began)
            return found
        return super().map(timed, *columns)

if __name__ == "__main__":
    parallel.ThreadPoolExecutor = Timed
    from perfscope.cli.main import main
    try:
        main(sys.argv[1:])
    except SystemExit as ended:
        assert not ended.code, ended.code
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    spent = time.process_time() - sum(spread)
    print("{INSIDE}" + json.dumps([spent, sum(spread), workers.ru_utime + workers.ru_stime, peak]))
"""


@dataclass(frozen=True)
class Run:
    """One analysis: CPU seconds of one thread for all ranks, of threads and of workers."""

    how: str
    gigabytes: float
    alone_s: float
    threads_s: float
    workers_s: float
    peak_mb: float
    elapsed_s: float


def run(script: Path, how: str, files: Sequence[Path], results: Path) -> Run:
    """Analyzes files; how says where they are decoded."""
    dask = next((ROOT / ".envs" / "integrations").glob("lib/python3*/site-packages"), None)
    more = {} if dask is None else {"PYTHONPATH": str(dask)}
    began = time.monotonic()
    words = ["analyze", str(files[0].parent), "--no-report", "--output", str(results)]
    done = subprocess.run(
        [sys.executable, script, *words, *SCHEDULERS[how]],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **more},
        check=False,
    )
    elapsed = time.monotonic() - began
    lines = [line for line in done.stdout.splitlines() if line.startswith(INSIDE)]
    if done.returncode or not lines:
        raise RuntimeError(f"{how} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    size = sum(file.stat().st_size for file in files) / 1e9
    return Run(how, size, *json.loads(lines[-1].removeprefix(INSIDE)), elapsed)


def written(place: Path, ranks: int, megabytes: int, *, is_alike: bool) -> list[Path]:
    """The files of so many ranks; where they are alike, all but the number is that of rank 0."""
    place.mkdir()
    files = [place / f"rank{rank}.json" for rank in range(ranks)]
    for rank, file in enumerate(files):
        if is_alike and rank:
            write_like(file, files[0], rank, ranks)
        else:
            write_rank(file, rank, megabytes * EVENTS_PER_MB, KERNELS_PER_STEP, ranks)
    return files


def measured(ranks: int, megabytes: int, below: Path | None = None) -> list[Run]:
    """The same profiles, analyzed in every way, with the same result."""
    with tempfile.TemporaryDirectory(dir=below) as name:
        place = Path(name)
        script = place / "analyze.py"
        script.write_text(_ANALYZE, encoding="utf-8")
        files = written(place / "ranks", ranks, megabytes, is_alike=below is not None)
        found, documents = [], []
        for how in SCHEDULERS:
            found.append(run(script, how, files, place / "results"))
            documents.append((place / "results" / "analysis.json").read_bytes())
            print(found[-1], flush=True)
        if len(set(documents)) > 1:
            raise RuntimeError("the results are not the same to the byte")
    return found


def projected(small: Run, large: Run) -> tuple[float, float, float]:
    """CPU seconds a GB of one thread and of what is spread, and seconds for all on all cores."""
    more = large.gigabytes - small.gigabytes
    alone = (large.alone_s - small.alone_s) / more
    spread = (large.threads_s + large.workers_s - small.threads_s - small.workers_s) / more
    start = small.alone_s - alone * small.gigabytes
    return alone, spread, start + GIGABYTES * (alone + spread / CORES)


def rows(runs: Sequence[Run]) -> list[str]:
    """What was measured."""
    return [
        "| decoded | GB | CPU s of one thread | of threads | of workers | peak MB here | elapsed |",
        "|" + "---|" * 7,
        *(
            f"| {one.how} | {one.gigabytes:.2f} | {one.alone_s:.2f} | {one.threads_s:.2f} | "
            f"{one.workers_s:.2f} | {one.peak_mb:.0f} | {one.elapsed_s:.1f} s |"
            for one in runs
        ),
        "",
    ]


def on_all_cores(one: Run) -> str:
    """What a run of all files says of the goal, where nothing but processors is slow."""
    spread = one.threads_s + one.workers_s
    whole = one.alone_s + spread / CORES
    return (
        f"* {one.how}: {one.alone_s:.0f} s of one thread and {spread:.0f} s that {CORES} cores "
        f"share come to {whole:.0f} s (goal: {GOAL_S})."
    )


def table(runs: Sequence[Run]) -> str:
    """What was measured, what a GB costs, and what follows for the goal."""
    lines = rows(runs)
    for how in SCHEDULERS:
        small, large = (one for one in runs if one.how == how)
        alone, spread, whole = projected(small, large)
        lines.append(
            f"* {how}: a GB more takes {alone:.2f} s of one thread and {spread:.2f} s of all "
            f"others. So {GIGABYTES} files of 1 GB take {whole:.0f} s on {CORES} cores (goal: "
            f"{GOAL_S})."
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] = ()) -> int:
    """Measures, prints the table and writes the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, help="of a file, about")
    parser.add_argument("--whole", type=Path, metavar="DIR", help="all that the goal is about")
    parser.add_argument("--document", type=Path, metavar="FILE", help="puts the table there")
    options = parser.parse_args(list(arguments))
    began = describe()
    name = "engine-cluster"
    if options.whole:
        name = "engine-cluster-whole"
        runs = measured(GIGABYTES, options.megabytes or MOST_MEGABYTES, options.whole)
        told = "\n".join([*rows(runs), *map(on_all_cores, runs)])
    else:
        megabytes = options.megabytes or MEGABYTES
        runs = [one for ranks in RANKS for one in measured(ranks, megabytes)]
        told = table(runs)
    whole = f"{began}\n\n{told}"
    print(f"\n{whole}")
    results = ROOT / "bench-results" / f"{name}.json"
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps([asdict(one) for one in runs], indent=1) + "\n", encoding="utf-8")
    if options.document:
        replace_between(options.document, f"bench-{name}", whole)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
