"""The trace engine: decoders and reductions that work on a trace in one pass, without the GIL."""

class FormatError(ValueError):
    """A file is damaged or of another format: path, byte offset and reason, in `args`."""

def row_layouts() -> dict[str, dict[str, int]]:
    """Byte offsets of the fields of each packed row; under the empty name the size of a row."""
