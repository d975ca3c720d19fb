"""What a program may keep from step to step, by what it computes with."""

import pytest

from tests.findings.test_memory import MIB, growth_of, series


@pytest.mark.parametrize(("framework", "has_graphs"), [("torch", True), ("mpi4py", False)])
def test_graphs_are_kept_where_there_are_any(framework: str, *, has_graphs: bool) -> None:
    finding = growth_of(series(growth=4 * MIB, frameworks={framework: {}}))
    text = " ".join(finding.actions)
    assert "drop results that nobody reads again" in text
    assert ("hold their graphs" in text) is has_graphs
