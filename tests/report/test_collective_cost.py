"""What the section on communication shows of the cost of collectives."""

from typing import Any

from perfscope.report.sections._collective_cost import collective_cost
from perfscope.report.table import Table
from perfscope.schema.read import read_known
from tests.report.sample_document import two_ranks_evaluation


def shown(document: dict[str, Any]) -> Any:
    """The context of the section, with ordinary spaces."""
    found = collective_cost(read_known(document).collectives.cost)
    assert found is not None
    return spaced(found)


def spaced(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\xa0", " ")
    if isinstance(value, dict):
        return {key: spaced(item) for key, item in value.items()}
    if isinstance(value, Table):
        return [{cell.column.title: spaced(cell.text) for cell in row} for row in value.cells]
    return [spaced(item) for item in value] if isinstance(value, list | tuple) else value


def test_every_piece_of_a_fit_has_a_line_with_its_intervals() -> None:
    small, large = shown(two_ranks_evaluation())["fits"]
    assert small["Sizes"] == "1.00 KiB to 64.0 KiB"
    assert large["Sizes"] == "64.0 KiB to 4.00 MiB"
    assert small["Latency (95 %)"] == "20.0 µs (10.0 µs to 30.0 µs)"
    assert small["Bandwidth (95 %)"] == "3.5 GB/s (3.4 GB/s or more)"


def test_every_torus_and_what_fusion_saves_are_shown() -> None:
    found = shown(two_ranks_evaluation())
    assert found["tori"][0]["X × Y: time"] == "2 × 2: 3.00 ms"
    assert found["fusion"]["is_dominant"]
    assert (found["fusion"]["calls"], found["fusion"]["saved"]) == ("400", "57.0 ms")


def test_a_document_without_them_has_none_of_it() -> None:
    document = two_ranks_evaluation()
    cost = document["collectives"]["cost"]
    cost["fusion"] = None
    for row in cost["allreduce"]:
        row["tori"] = []
    for row in cost["fits"]:
        row.pop("pieces")
        row.pop("pieces_meet_at_bytes")
    found = shown(document)
    assert found["tori"] == []
    assert found["fusion"] is None
    assert [row["Sizes"] for row in found["fits"]] == ["1.00 KiB to 4.00 MiB"]
