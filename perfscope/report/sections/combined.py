"""What the findings of the first screen save together, and whether their savings add up."""

from collections.abc import Sequence

from perfscope.schema.findings import FindingRow
from perfscope.schema.run import Verdict
from perfscope.units import capitalized

MAY_OVERLAP = "Savings may overlap: do not add them up"
SAME_WITHIN = 0.005  # sums of savings that are printed with three digits


def together(verdict: Verdict, rows: Sequence[FindingRow]) -> list[str]:
    """What the findings of the first screen save together, and whether their savings add up.

    In sentences; none where fewer than two of them save anything.
    """
    alone = {row.id: (row.first_action or row).gain_s for row in rows if row.id in verdict.top}
    priced = {name: gain_s for name, gain_s in alone.items() if gain_s is not None}
    if len(priced) < 2:
        return []
    if not verdict.combined_text or verdict.combined_gain_s is None:
        if sum(row.id in priced and not row.seen_with for row in rows) < 2:
            return []  # what else stands there is of the same problem, and says so
        return [
            "Their combined saving is unknown, because they could not be simulated together",
            MAY_OVERLAP,
        ]
    told = [capitalized(verdict.combined_text)]
    if len(verdict.combined_of) < len(priced):
        told.append(MAY_OVERLAP)
    elif sum(priced.values()) > verdict.combined_gain_s * (1 + SAME_WITHIN):
        told.append("Savings overlap: do not add them up")
    return told
