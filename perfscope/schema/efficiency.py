"""The efficiency tree of analysis.json: its factors, how they multiply, and their meaning."""

from collections.abc import Iterator

from perfscope.structures import dataclass

GOOD_FROM, ACCEPTABLE_FROM = 0.8, 0.6
"""The POP Center's bands."""


@dataclass(frozen=True)
class Factor:
    """One node of the tree."""

    id: str  # its key in `metrics`
    label: str  # what people call it
    meaning: str  # what it is the share of, and what a low one says
    children: tuple[str, ...] = ()  # ids of the factors whose product it is
    level: int = 0  # depth in the tree of the page


EFFICIENCIES = {
    factor.id: factor
    for factor in (
        Factor(
            "training_efficiency",
            "Training efficiency",
            "Share of all ranks' time that went into training steps: what you pay for and get.",
            ("parallel_efficiency", "productive_share"),
            0,
        ),
        Factor(
            "parallel_efficiency",
            "Parallel efficiency",
            "Share of all ranks' time spent outside communication. The rest goes into waiting for "
            "other ranks and moving data.",
            ("load_balance", "communication_efficiency"),
            1,
        ),
        Factor(
            "load_balance",
            "Load balance",
            "How evenly the work is spread: mean work of a rank divided by that of the busiest "
            "rank. Low means that one rank has more to do than the others.",
            level=2,
        ),
        Factor(
            "communication_efficiency",
            "Communication efficiency",
            "Share of the time in which the busiest rank worked. Even that rank loses the rest "
            "inside communication.",
            ("serialization_efficiency", "transfer_efficiency"),
            2,
        ),
        Factor(
            "serialization_efficiency",
            "Serialization efficiency",
            "What would remain of communication efficiency on a network without transfer time. Low "
            "means that ranks wait for each other in turn.",
            level=3,
        ),
        Factor(
            "transfer_efficiency",
            "Transfer efficiency",
            "What moving the data costs: run time on a network without transfer time, divided by "
            "the measured time.",
            level=3,
        ),
        Factor(
            "productive_share",
            "Productive share",
            "Of the time outside communication, the share spent in training steps rather than in "
            "evaluation, input, checkpoints and the like.",
            level=1,
        ),
    )
}
"""Every factor of a run by its id, in the order of the page: each below what it is a part of."""
DEVICE_FACTORS = {
    "load_balance": "Load balance",
    "communication_efficiency": "Communication efficiency",
    "orchestration_efficiency": "Orchestration efficiency",
}
"""The factors whose product is the parallel efficiency of devices, and what people call them."""


def subtree(identity: str) -> Iterator[str]:
    """The ids of a factor and of all that it is the product of, the whole before its parts."""
    yield identity
    for child in EFFICIENCIES[identity].children:
        yield from subtree(child)


POP_FACTORS = tuple(subtree("parallel_efficiency"))
"""The factors that POP defines for any program: parallel efficiency and its own factors."""
METRICS = (*POP_FACTORS, "productive_share", "training_efficiency")
"""The keys of `metrics` in the order of the document."""
PRODUCTS = {factor.id: factor.children for factor in EFFICIENCIES.values() if factor.children}
"""Each factor that is a product, and of what."""
