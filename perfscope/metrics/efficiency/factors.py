"""The efficiency tree of a run: parallel efficiency and the factors that it is the product of."""

from perfscope.schema.common import Metric
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Efficiency:
    """The efficiency tree over one window; each factor is the product of those below it.

    `outside_s` are W_i (seconds outside communication) and `useful_s` U_i (training work), by rank,
    in seconds.
    """

    ranks: tuple[int, ...]
    window_s: float
    outside_s: tuple[float, ...]
    useful_s: tuple[float, ...]
    parallel_efficiency: Metric
    load_balance: Metric
    communication_efficiency: Metric
    serialization_efficiency: Metric  # None with a reason until every operation could be matched
    transfer_efficiency: Metric
    productive_share: Metric
    training_efficiency: Metric
    productive_split: dict[str, float]
    """Shares of sum W that were not training: input, evaluation, checkpoint, io, ..."""
    is_hybrid: bool = False
    """Whether the factors are those of all threads; `outside_s` are of the main ones."""
