"""A gallery of faults: is each one named, and is nothing said of its cure? `make bench-gallery`.

Every fault and its cure are run for real, and so are healthy programs. Prints a table and, with
`--document`, writes it between the markers in docs/findings.md. Exit code 1 where precision is
below 0.95 or recall below 0.9. `python -m benchmarks.gallery unseen` runs the programs of unseen/,
`python -m benchmarks.gallery page_faults` holds what is said of their page faults to the cure.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.gallery.cases import CASES
from benchmarks.gallery.healthy import HEALTHY
from benchmarks.gallery.judging import judge_all, table
from benchmarks.gallery.page_fault_cure import main as cure_page_faults
from benchmarks.gallery.unseen_trial import main as try_unseen
from benchmarks.jobs import ROOT
from benchmarks.machine import describe, replace_between

OTHERS = {"unseen": try_unseen, "page_faults": cure_page_faults}
DOCUMENT = ROOT / "docs" / "findings.md"


def main() -> int:
    """Runs the gallery; 0 where precision and recall reach their goals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="faults that hold this text")
    parser.add_argument("--repeats", type=int, default=1, help="of the healthy runs")
    parser.add_argument("--document", action="store_true", help="write the table to the docs, too")
    asked = parser.parse_args()
    if asked.only and asked.document:
        parser.error("--document writes the whole table: leave --only away")
    where = describe()
    with tempfile.TemporaryDirectory(prefix="gallery-") as place:
        score = judge_all(
            Path(place),
            cases=[case for case in CASES if asked.only in case.fault],
            healthy=() if asked.only else HEALTHY,
            repeats=asked.repeats,
        )
    text = f"{where}\n\n{table(score)}"
    print(text)
    if asked.document:
        replace_between(DOCUMENT, "bench-gallery", f"\n{text}\n")
    return 0 if score.is_good else 1


if __name__ == "__main__":
    other = OTHERS.get("".join(sys.argv[1:2]))
    sys.exit(other(sys.argv[2:]) if other else main())
