"""`{name}` in a command, replaced by the value of a variable; other braces stay as they are."""

import re
from collections.abc import Mapping

from perfscope.errors import UsageError

# ${name} is the shell's, {} is find's, {"a": 1} is JSON; {{name}} stands for {name} itself.
_PLACEHOLDER = re.compile(r"\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}|(?<!\$)\{([A-Za-z_][A-Za-z0-9_]*)\}")


def names(text: str) -> set[str]:
    """The placeholders that a text holds."""
    return {name for _, name in _PLACEHOLDER.findall(text) if name}


def fill(text: str, variables: Mapping[str, str]) -> str:
    """The text with its placeholders replaced, once: a value is never looked into.

    Raises:
        UsageError: a placeholder has no variable.
    """

    def replaced(match: re.Match[str]) -> str:
        kept, name = match.groups()
        if kept:
            return f"{{{kept}}}"
        if name not in variables:
            raise _unknown(name, variables)
        return variables[name]

    return _PLACEHOLDER.sub(replaced, text)


def _unknown(name: str, variables: Mapping[str, str]) -> UsageError:
    known = ", ".join(sorted(variables)) or "none"
    return UsageError(
        f"The command has a placeholder {{{name}}} without values.",
        why=f"Variables given by --var or by the set: {known}.",
        action=f"Add --var {name}=VALUE,VALUE, or write {{{{{name}}}}} where braces shall stay.",
    )
