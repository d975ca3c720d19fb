#!/usr/bin/env python3
"""Records the runs in sample_traces/ anew: `python3 scripts/make_sample_traces.py`.

A recording is kept exactly as it was written; scripts/neutral.py says what keeps it from telling
of the machine that it was made on.
"""

import json
import os
import platform
import shlex
import shutil
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import neutral  # noqa: E402, the path above finds it
from scripts.neutral import NeutralError  # noqa: E402
from scripts.sample_runs import LOG, SAMPLES, Known, Sample  # noqa: E402

DESTINATION = ROOT / "sample_traces"
SIZE_AIM_BYTES = 300_000
SIZE_LIMIT_BYTES = 2 * SIZE_AIM_BYTES  # a busy machine makes a run longer, and so its samples more
LONGEST_RUN_S = 90.0


def main() -> int:
    """Makes all recordings, or those named."""
    chosen = neutral.arguments(__doc__ or "", [sample.name for sample in SAMPLES], DESTINATION)
    began = time.monotonic()
    samples = [sample for sample in SAMPLES if sample.name in chosen.names]
    try:
        with neutral.place(chosen.python, {sample.environment for sample in samples}):
            for sample in samples:
                make(sample, chosen.destination)
    except NeutralError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{time.monotonic() - began:.0f} s; next: make reports")
    return 0


def make(sample: Sample, destination: Path) -> None:
    """Records one sample, checks it and puts it where the old one was."""
    print(f"{sample.name}: {shlex.join(sample.program)}", flush=True)
    place = neutral.PLACE / sample.name
    neutral.copy_examples(sample.files, place)
    neutral.perfscope(
        sample.command[1:],
        [sample.environment],
        cwd=place,
        longest_s=LONGEST_RUN_S,
        **dict(sample.variables),
    )
    trace = place / "trace"
    known = sample.known_values(place / LOG)
    (trace / "known_values.json").write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    (trace / "README.md").write_text(readme(sample, known), encoding="utf-8")
    check(trace)
    target = destination / sample.name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(trace, target)
    note = ", more than wanted: is the machine busy?" if size(target) > SIZE_AIM_BYTES else ""
    print(f"  {size(target)} bytes{note}", flush=True)


def readme(sample: Sample, known: Known) -> str:
    """What a reader of the recording should know, as Markdown."""
    return f"""# {sample.name}

Machine: {os.cpu_count()} cores, {platform.machine()}, Linux; everything on one node.

Command, with the program of examples/:

    {shlex.join([*(f"{name}={value}" for name, value in sample.variables), *sample.command])}

What is wrong on purpose: {sample.wrong}

What the report should say: {sample.expected}

Known values, by the program's own clock (known_values.json):

{table(sample, known)}

Recorded by `python3 scripts/make_sample_traces.py`; nothing was changed afterwards.
"""


def table(sample: Sample, known: Known) -> str:
    """The known values that are there for each rank, and the others below them."""
    rows = {key: value for key, value in known.items() if isinstance(value, list)}
    rows |= {f"seconds in {part}": v for part, v in known.get("seconds_by_rank", {}).items()}
    header = " | ".join(f"rank {rank}" for rank in range(sample.ranks))
    lines = [f"| | {header} |", "|---|" + "---|" * sample.ranks]
    for name, values in rows.items():
        lines.append(f"| {name} | " + " | ".join(f"{value:.6g}" for value in values) + " |")
    single = [f"{k}: {v:.6g}" for k, v in known.items() if isinstance(v, int | float)]
    return "\n".join([*lines, "", ", ".join(single) + "."])


def check(trace: Path) -> None:
    """Refuses a recording that is too large or holds words that belong to this machine or user."""
    if size(trace) > SIZE_LIMIT_BYTES:
        raise NeutralError(f"{trace.parent.name}: {size(trace)} bytes, over {SIZE_LIMIT_BYTES}")
    neutral.refuse_private_words(trace)


def size(directory: Path) -> int:
    """Bytes of all files below a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(main())
