"""Words of other programs: the one place where a decision may rest on a sentence.

What perfscope itself says is for people alone and may be reworded; its parts tell each other by
flags, enums and numbers. What another program printed can only be read as text.
"""


def mentions(text: str, *marks: str) -> bool:
    """Whether what another program printed holds one of these words."""
    return any(mark in text for mark in marks)


def is_called(text: str, *names: str) -> bool:
    """Whether another program gave it one of these names."""
    return text in names
