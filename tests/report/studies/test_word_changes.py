"""Two long texts by the words that differ."""

import pytest

from perfscope.report.studies.word_changes import changed_words

COMMAND = "mpirun -n 2 python train.py --epochs 3 --every 2"


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ("mpirun -n 2 python train.py --epochs 3", "− --every 2"),
        ("mpirun -n 4 python train.py --epochs 3 --every 2 --quiet", "-n 2 → -n 4; + --quiet"),
        (COMMAND, COMMAND),
        (None, None),
        ("python other.py", "python other.py"),
    ],
)
def test_of_a_command_what_changed_is_told(after: str | None, told: str | None) -> None:
    assert changed_words(COMMAND, after) == told


def test_one_option_is_not_paired_with_another() -> None:
    before = "python train.py --every 2 --quiet"
    after = "python train.py --every 4 --seed 1"
    assert changed_words(before, after) == "--every 2 → --every 4; − --quiet; + --seed 1"


def test_paths_in_a_list_are_words_and_short_values_stay() -> None:
    assert changed_words("/usr/lib:/opt/lib:/a:/b", "/usr/lib:/opt/lib:/a:/c") == "/b → /c"
    assert changed_words("4", "8") == "8"
    assert changed_words(None, "spread") == "spread"
