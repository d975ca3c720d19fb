"""The trace engine: decoders and reductions that work on a trace in one pass, without the GIL."""

from typing import Any

import numpy as np
import numpy.typing as npt

class FormatError(ValueError):
    """A file is damaged or of another format: path, byte offset and reason, in `args`."""

class HorovodTimeline:
    """Decodes a HOROVOD_TIMELINE file from its bytes; tables are bytes of packed rows."""

    def __init__(self, path: str) -> None: ...
    def feed(self, block: bytes) -> None:
        """Reads the next bytes of the file."""
    def finish(self) -> None:
        """Closes what is open; to be called once, after the last bytes."""
    def facts(self) -> dict[str, Any]:
        """Counts of events, times of the first and last, whether the list was closed or cut."""
    def ranks(self) -> list[int]:
        """Ranks that became ready, in order."""
    def names(self) -> list[bytes]:
        """Names of operations and activities."""
    def tensors(self) -> list[bytes]:
        """Names of tensors."""
    def negotiations(self) -> npt.NDArray[np.uint8]:
        """Rows of NEGOTIATION_DTYPE; can be taken once."""
    def ticks(self) -> npt.NDArray[np.uint8]:
        """Rows of TICK_DTYPE; can be taken once."""
    def activities(self) -> npt.NDArray[np.uint8]:
        """Rows of TENSOR_ACTIVITY_DTYPE; can be taken once."""

def row_layouts() -> dict[str, dict[str, int]]:
    """Byte offsets of the fields of each packed row; under the empty name the size of a row."""
