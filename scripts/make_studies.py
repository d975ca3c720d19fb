#!/usr/bin/env python3
"""Makes the studies in reports/studies/ anew: `make studies` (about a quarter of an hour).

Each study is made from runs of examples/ in a directory of neutral name, as the recordings of
sample_traces/ are; the runs themselves are not kept.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.make_sample_traces import (  # noqa: E402, the path above finds it
    HOST,
    NEUTRAL_PLACE,
    OWN,
    SampleError,
    default_python,
    make_environments,
    private_words,
)
from scripts.study_runs import OUT, STUDIES, Study  # noqa: E402

DESTINATION = ROOT / "reports" / "studies"
KEPT = ("study.json", "study.html", "scaling.csv")
LONGEST_STUDY_S = 900.0


def main() -> int:
    """Makes all studies, or those named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [study.name for study in STUDIES]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--python", type=Path, default=default_python(), help="of the runs")
    parser.add_argument("--destination", type=Path, default=DESTINATION, metavar="DIR")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(names):
        parser.error(f"no such study: {', '.join(sorted(unknown))}")
    if NEUTRAL_PLACE.exists():
        print(f"{NEUTRAL_PLACE} exists: remove it first", file=sys.stderr)
        return 1
    NEUTRAL_PLACE.mkdir()
    chosen = [s for s in STUDIES if not arguments.names or s.name in arguments.names]
    failed = 0
    try:
        make_environments(arguments.python, {OWN, *(e for s in chosen for e in s.environments)})
        for study in chosen:
            failed += not _made(study, arguments.destination)
    finally:
        shutil.rmtree(NEUTRAL_PLACE)
    _write_index(arguments.destination)
    return 1 if failed else 0


def _made(study: Study, destination: Path) -> bool:
    """Makes one study; whether it could be made."""
    began = time.monotonic()
    print(f"{study.name} ...", flush=True)
    try:
        make(study, destination)
    except SampleError as error:
        print(error, file=sys.stderr)
        return False
    print(f"  {time.monotonic() - began:.0f} s", flush=True)
    return True


def make(study: Study, destination: Path) -> None:
    """Runs the commands of a study and keeps what the last one wrote.

    Raises:
        SampleError: a command failed, or the result holds words of this machine or user.
    """
    place = NEUTRAL_PLACE / study.name
    place.mkdir()
    for name in study.files:
        path = ROOT / "examples" / name
        if path.is_dir():
            shutil.copytree(path, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(path, place / name)
    for name, content in _texts(study):
        (place / name).write_text(content, encoding="utf-8")
    own = str(NEUTRAL_PLACE / OWN / "bin" / "python")
    deadline = time.monotonic() + LONGEST_STUDY_S
    for words in study.commands:
        command = [own, "-m", "perfscope", *shlex.split(words)]
        _run(_with_neutral_host(command), place, _environment(study), deadline)
    target = destination / study.name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in KEPT:
        if (place / OUT / name).exists():
            shutil.copy2(place / OUT / name, target / name)
    (target / "README.md").write_text(_readme(study), encoding="utf-8")
    _check(target)


def _with_neutral_host(command: list[str]) -> list[str]:
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return command
    return ["unshare", "--uts", "sh", "-c", f"hostname {HOST} && exec {shlex.join(command)}"]


def _environment(study: Study) -> dict[str, str]:
    """Variables that tell nothing about this machine or its user."""
    places = [str(NEUTRAL_PLACE / name) for name in study.environments]
    search = ":".join([f"{places[0]}/bin", "/usr/local/bin", "/usr/bin", "/bin", "/sbin"])
    return {
        "PATH": search,
        "HOME": str(NEUTRAL_PLACE),
        "LANG": "C.UTF-8",
        **({"LD_LIBRARY_PATH": f"{places[0]}/lib"} if len(places) == 1 else {}),
    }


def _run(command: list[str], place: Path, environment: dict[str, str], deadline: float) -> None:
    left_s = max(1.0, deadline - time.monotonic())
    try:
        done = subprocess.run(
            command,
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=left_s,
        )
    except subprocess.TimeoutExpired:
        raise SampleError(f"no end after {left_s:.0f} s: {shlex.join(command)}") from None
    if done.returncode != 0:
        tail = (done.stdout + done.stderr)[-3000:]
        raise SampleError(f"failed: {shlex.join(command)}\n{tail}")


def _readme(study: Study) -> str:
    commands = "\n".join(f"    perfscope {words}" for words in study.commands)
    files = "".join(
        f"\n{name}:\n\n{_indented(content.replace('{place}', str(NEUTRAL_PLACE)))}\n"
        for name, content in study.texts
    )
    return f"""# {study.name}

{study.question}.

Made on {os.cpu_count()} cores, everything on one node, with the programs of examples/:

{commands}
{files}
Made by `python3 scripts/make_studies.py {study.name}`; nothing was changed afterwards.
"""


def _texts(study: Study) -> list[tuple[str, str]]:
    """Names and contents of the files that a study needs."""
    return [(name, text.replace("{place}", str(NEUTRAL_PLACE))) for name, text in study.texts]


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _check(target: Path) -> None:
    """Refuses a study that holds words of this machine or user."""
    words = sorted({word for word in private_words() if len(word) > 3})
    for path in target.iterdir():
        content = path.read_bytes()
        if found := [word for word in words if word.encode() in content]:
            raise SampleError(f"{path} holds {found}")


def _write_index(destination: Path) -> None:
    """A page that lists the studies that are there."""
    rows = [
        f"* [{study.name}]({study.name}/README.md): {study.question}"
        for study in STUDIES
        if (destination / study.name / "study.html").exists()
    ]
    text = "\n".join(["# Studies", "", *rows, "", "`make studies` makes them anew.", ""])
    (destination / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
