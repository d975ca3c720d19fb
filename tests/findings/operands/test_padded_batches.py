"""Batches that are padded too far, named where the program puts them together."""

from typing import Any

from tests.findings.operands.operand_runs import faults, operand, site

COLLATED = {"training": True, "collate_at": "collate\x1f/home/me/data.py\x1f7"}


def tokens() -> dict[str, Any]:
    """A line that takes a table of tokens, of which the longest rows end early."""
    shares = {"padding": 0.8, "padding_of_longest": 0.6}
    told = operand(name="tokens", dtype="int64", shape=[32, 160], contents=10, shares=shares)
    return site(told, contents=10)


def test_padded_batches_are_named_where_they_are_made() -> None:
    (finding,) = faults(tokens(), loaders=[COLLATED]).values()
    assert finding.title.endswith("is padding, of batches made in collate() (data.py:7)")
    assert finding.actions[0].startswith("In collate() (data.py:7): pad each batch")
    assert [one.line for one in finding.where] == [7, 20]


def test_of_two_loaders_none_is_named() -> None:
    (finding,) = faults(tokens(), loaders=[COLLATED, {"training": True}]).values()
    assert finding.actions[0].startswith("Where `tokens` is made, before this line: pad each batch")
    assert finding.is_elsewhere
    assert [one.line for one in finding.where] == [20]
