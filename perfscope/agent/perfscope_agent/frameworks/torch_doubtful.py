"""Batches of which the next backward pass tells whether they are trained on or evaluated.

An evaluation ends where the model that was set to it is set to training again. Programs that have
several models, as one for each part of a cross-validation, go on with another one: the first batch
that this one is trained on looks like one more of the evaluation until then.
"""


class Doubtful:
    """Those that were fetched with gradients, since the last of what was surely evaluation."""

    __slots__ = ("is_epoch", "samples", "start_ns", "taken_ns")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """What was fetched was evaluated."""
        self.start_ns = self.taken_ns = self.samples = 0
        self.is_epoch = False

    def asks(self, is_first: bool, now_ns: int) -> None:
        """A batch is requested, perhaps the first one of an iterator."""
        if is_first:
            self.clear()
            self.is_epoch = True
        self.start_ns = self.start_ns or now_ns

    def takes(self, samples: int, now_ns: int) -> None:
        """It was delivered."""
        self.samples += samples
        self.taken_ns = now_ns
