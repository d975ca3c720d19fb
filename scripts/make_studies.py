#!/usr/bin/env python3
"""Makes the studies in reports/studies/ anew: `make studies` (about half an hour).

Each study is made from runs of examples/; scripts/neutral.py says what keeps it from telling of the
machine that it was made on. The recordings are not kept; the analysis of every run is, in
measured.tar.xz, of which `make study-pages` tells a study anew without running anything.
"""

import os
import shlex
import shutil
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import measured, neutral  # noqa: E402, the path above finds it
from scripts.neutral import NeutralError  # noqa: E402
from scripts.study_runs import OUT, STUDIES, Study  # noqa: E402

DESTINATION = ROOT / "reports" / "studies"
KEPT = ("study.json", "study.html", "scaling.csv")
LONGEST_STUDY_S = 1800.0


def main() -> int:
    """Makes all studies, or those named."""
    chosen = neutral.arguments(__doc__ or "", [study.name for study in STUDIES], DESTINATION)
    studies = [study for study in STUDIES if study.name in chosen.names]
    try:
        with neutral.place(chosen.python, {e for study in studies for e in study.environments}):
            failed = [study for study in studies if not _made(study, chosen.destination)]
    except NeutralError as error:
        print(error, file=sys.stderr)
        return 1
    _write_index(chosen.destination)
    return 1 if failed else 0


def _made(study: Study, destination: Path) -> bool:
    """Makes one study; whether it could be made."""
    began = time.monotonic()
    print(f"{study.name} ...", flush=True)
    try:
        make(study, destination)
    except NeutralError as error:
        print(error, file=sys.stderr)
        return False
    print(f"  {time.monotonic() - began:.0f} s", flush=True)
    return True


def make(study: Study, destination: Path) -> None:
    """Runs the commands of a study and keeps what the last one wrote.

    Raises:
        NeutralError: a command failed, or the result holds words of this machine or user.
    """
    place = neutral.PLACE / study.name
    neutral.copy_examples(study.files, place)
    for name, content in _texts(study):
        (place / name).write_text(content, encoding="utf-8")
    deadline = time.monotonic() + LONGEST_STUDY_S
    for words in study.commands:
        left_s = max(1.0, deadline - time.monotonic())
        neutral.perfscope(
            shlex.split(words),
            study.environments,
            cwd=place,
            longest_s=left_s,
            packages=study.packages if words == study.commands[-1] else "",
        )
    target = destination / study.name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in KEPT:
        if (place / OUT / name).exists():
            shutil.copy2(place / OUT / name, target / name)
    (target / "README.md").write_text(_readme(study), encoding="utf-8")
    neutral.refuse_private_words(target)
    measured.keep(place, target, neutral.refuse_private_words)


def _readme(study: Study) -> str:
    commands = "\n".join(f"    perfscope {words}" for words in study.commands)
    files = "".join(
        f"\n{name}:\n\n{_indented(content.replace('{place}', str(neutral.PLACE)))}\n"
        for name, content in study.texts
    )
    packages = (
        f"\nThe last command ran with the packages of the environment {study.packages} "
        f"(`python3 scripts/environments.py {study.packages}`).\n"
        if study.packages
        else ""
    )
    return f"""# {study.name}

{study.question}.

Made on {os.cpu_count()} cores, everything on one node, with the programs of examples/:

{commands}
{files}{packages}
Measured by `python3 scripts/make_studies.py {study.name}`, told by `make study-pages`.
"""


def _texts(study: Study) -> list[tuple[str, str]]:
    """Names and contents of the files that a study needs."""
    return [(name, text.replace("{place}", str(neutral.PLACE))) for name, text in study.texts]


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _write_index(destination: Path) -> None:
    """A page that lists the studies that are there."""
    rows = [
        f"* [{study.name}]({study.name}/README.md): {study.question}"
        for study in STUDIES
        if (destination / study.name / "study.html").exists()
    ]
    made = "`make studies` measures them anew, `make study-pages` only tells them anew."
    text = "\n".join(["# Studies", "", *rows, "", made, ""])
    (destination / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
