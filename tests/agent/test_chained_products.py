"""What the product of two matrices is multiplied by, as looks at a real program see it."""

from collections.abc import Callable

from tests.agent.jobs import Job
from tests.agent.test_operands import run_and_tell

CHAINED = """
def chained(table, scale, column):
    return table.T * scale @ table @ column
def applied():
    sites = list(operands.looker._sites.values()) if operands.looker else []
    return any(one.code is chained.__code__ and one.applied for one in sites)
table, scale, column = rng.normal(size=(1200, 300)), rng.normal(size=1200), rng.normal(size=300)
for _ in range(5000):  # a look meets one of its three operators
    chained(table, scale, column)
    if applied():
        break
"""


def test_what_a_product_is_multiplied_by_is_seen_though_it_is_no_operand(
    job: Callable[..., Job],
) -> None:
    sites = run_and_tell(job, CHAINED)["sites"]
    found = [one for one in sites if one["place"].startswith("chained\x1f") and "multiplied" in one]
    assert found
    for site in found:
        assert site["multiplied"] == {
            "left": ["table.T", "scale"],
            "right": ["table"],
            "by": "column",
            "by_shape": [300],
            "is_first": True,
        }
        assert {one["name"] for one in site["operands"]} <= {"table", "table.T", "scale"}
