"""The studies that are made into reports: what they need to be comparable."""

import re

import pytest

from scripts.environments import ENVIRONMENTS
from scripts.study_runs import OUT, STUDIES, Study


def name(study: Study) -> str:
    return study.name


@pytest.mark.parametrize("study", STUDIES, ids=name)
def test_a_study_can_be_made_and_compared(study: Study) -> None:
    assert {*study.environments, study.packages} - {""} <= set(ENVIRONMENTS)
    assert f"-o {OUT}" in study.commands[-1]
    for words in study.commands:
        assert not re.search(r"\{(n|share|rarer|points)\}", words)
        # without them samples are not known, and steps of other ranks hold other numbers of them
        assert ("--markers" in words) is ("train_numpy.py" in words)


@pytest.mark.parametrize("study", [s for s in STUDIES if s.packages == "extrap"], ids=name)
def test_laws_have_five_sizes_that_divide_the_steps(study: Study) -> None:
    runs = [words for words in study.commands if words.startswith("run ")]
    ranks = {int(found[1]) for words in runs if (found := re.search(r"-n (\d+)", words))}
    samples, batch = (
        int(found[1])
        for option in ("--samples", "--batch")
        if (found := re.search(rf"{option} (\d+)", runs[0]))
    )
    assert len(ranks) >= 5
    assert all(samples % (batch * number) == 0 for number in ranks)
