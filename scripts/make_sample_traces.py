#!/usr/bin/env python3
"""Records the runs in sample_traces/ anew: `python3 scripts/make_sample_traces.py`.

Each run is made in a directory of neutral name with an environment of its own, so that a recording,
which is kept exactly as it was written, holds no path, user or host name of the machine; that is
checked at the end. For root the host is called node01 in the recording. The packages are those of
the environments that `make environments` makes.
"""

from __future__ import annotations

import argparse
import getpass
import json
import os
import platform
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.sample_runs import LOG, SAMPLES, Known, Sample  # noqa: E402, the path above finds it

DESTINATION = ROOT / "sample_traces"
SYSTEM_PYTHON = Path("/usr/bin/python3")
NEUTRAL_PLACE = Path("/tmp/perfscope-samples")
HOST = "node01"
OWN = "mpich"  # the environment that perfscope is installed in
SIZE_AIM_BYTES = 300_000
SIZE_LIMIT_BYTES = 2 * SIZE_AIM_BYTES  # a busy machine makes a run longer, and so its samples more
LONGEST_RUN_S = 90.0
LONGEST_INSTALL_S = 600.0


class SampleError(Exception):
    """A recording could not be made or may not be published; the text says why."""


def main() -> int:
    """Makes all recordings, or those named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [sample.name for sample in SAMPLES]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--python", type=Path, default=default_python(), help="of the runs")
    parser.add_argument("--destination", type=Path, default=DESTINATION, metavar="DIR")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(names):
        parser.error(f"no such sample: {', '.join(sorted(unknown))}")
    if NEUTRAL_PLACE.exists():
        print(f"{NEUTRAL_PLACE} exists: remove it first", file=sys.stderr)
        return 1
    NEUTRAL_PLACE.mkdir()
    began = time.monotonic()
    try:
        chosen = [s for s in SAMPLES if not arguments.names or s.name in arguments.names]
        make_environments(arguments.python, {OWN, *(sample.environment for sample in chosen)})
        for sample in chosen:
            make(sample, arguments.destination)
    except SampleError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(NEUTRAL_PLACE)
    print(f"{time.monotonic() - began:.0f} s; next: make reports")
    return 0


def default_python() -> Path:
    """The system's Python, whose paths are the same everywhere, else this one."""
    return SYSTEM_PYTHON if SYSTEM_PYTHON.exists() else Path(sys.executable)


def make_environments(python: Path, names: set[str]) -> None:
    """Gives the packages of environments neutral paths, and copies perfscope to one."""
    for name in sorted(names):
        if not (ROOT / ".envs" / name / "bin" / "python").exists():
            print(f"making the environment {name} ...", flush=True)
            script = str(ROOT / "scripts" / "environments.py")
            run([sys.executable, script, name], longest_s=LONGEST_INSTALL_S)
        borrow(python, name)
    [packages] = (NEUTRAL_PLACE / OWN).glob("lib/python3.*/site-packages")
    compiled = packages.resolve() / "perfscope"
    installed = list(packages.resolve().iterdir())
    # perfscope is there in editable form: its sources would keep their paths.
    packages.unlink()
    packages.mkdir()
    for path in installed:
        if path.name != "perfscope" and not path.name.startswith("_editable"):
            (packages / path.name).symlink_to(path)
    ignored = shutil.ignore_patterns("__pycache__")
    for source in (ROOT / "perfscope", compiled):
        shutil.copytree(source, packages / "perfscope", ignore=ignored, dirs_exist_ok=True)


def borrow(python: Path, name: str) -> None:
    """An environment of the same packages as .envs/<name>, whose files have neutral paths."""
    source, place = ROOT / ".envs" / name, NEUTRAL_PLACE / name
    run([str(python), "-m", "venv", "--without-pip", str(place)])
    [packages] = source.glob("lib/python3.*")
    if not (place / "lib" / packages.name).is_dir():
        raise SampleError(
            f"{source} is made with {packages.name}, and {python} is another version: "
            "name the interpreter of the environment with --python"
        )
    shutil.rmtree(place / "lib" / packages.name / "site-packages")
    beside = [path for path in source.glob("lib/*") if path != packages]
    for path in [*beside, packages / "site-packages"]:
        (place / path.relative_to(source)).symlink_to(path)
    for path in source.glob("bin/*"):
        link = place / "bin" / path.name
        # Scripts of Python packages name the interpreter that they were installed with.
        if path.is_file() and not link.exists() and not is_script(path):
            link.symlink_to(path)


def is_script(path: Path) -> bool:
    """Whether a file names its interpreter."""
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def make(sample: Sample, destination: Path) -> None:
    """Records one sample, checks it and puts it where the old one was."""
    print(f"{sample.name}: {shlex.join(sample.program)}", flush=True)
    place = NEUTRAL_PLACE / sample.name
    place.mkdir()
    for name in sample.files:
        path = ROOT / "examples" / name
        if path.is_dir():
            shutil.copytree(path, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(path, place / name)
    record = [str(NEUTRAL_PLACE / OWN / "bin" / "python"), "-m", *sample.command]
    if os.geteuid() == 0 and shutil.which("unshare"):
        script = f"hostname {HOST} && exec {shlex.join(record)}"
        record = ["unshare", "--uts", "sh", "-c", script]
    run(record, cwd=place, environment=neutral_environment(sample))
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


def neutral_environment(sample: Sample) -> dict[str, str]:
    """Environment variables that tell nothing about this machine or its user."""
    place = NEUTRAL_PLACE / sample.environment
    search = f"{place}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    neutral = {"PATH": search, "HOME": str(NEUTRAL_PLACE), "LANG": "C.UTF-8"}
    # Before the path of its build, which stands in Horovod's library.
    neutral["LD_LIBRARY_PATH"] = f"{place}/lib"
    return neutral | dict(sample.variables)


def run(
    command: list[str],
    *,
    cwd: Path = NEUTRAL_PLACE,
    environment: dict[str, str] | None = None,
    longest_s: float = LONGEST_RUN_S,
) -> None:
    """Runs a step; raises with its output when it fails or does not end."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=longest_s,
        )
    except subprocess.TimeoutExpired:
        raise SampleError(f"no end after {longest_s:.0f} s: {shlex.join(command)}") from None
    if done.returncode != 0:
        raise SampleError(f"failed: {shlex.join(command)}\n{done.stdout}{done.stderr}")


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
        raise SampleError(f"{trace.parent.name}: {size(trace)} bytes, over {SIZE_LIMIT_BYTES}")
    words = sorted({word for word in private_words() if len(word) > 3})
    for path in (path for path in trace.rglob("*") if path.is_file()):
        content = path.read_bytes()
        found = [word for word in words if word.encode() in content]
        if found:
            raise SampleError(f"{path} holds {found}")


def private_words() -> Iterator[str]:
    """Names that must not be published: the checkout, the home, the user, the host, secrets."""
    yield from (str(ROOT), str(Path.home()), socket.gethostname())
    if getpass.getuser() != "root":  # which is also part of many a function's name
        yield getpass.getuser()
    secret = ("TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL")
    yield from (value for name, value in os.environ.items() if any(s in name for s in secret))


def size(directory: Path) -> int:
    """Bytes of all files below a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(main())
