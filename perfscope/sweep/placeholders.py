"""`{name}` in a command, replaced by the value of a variable; other braces stay as they are."""

import re
from collections.abc import Mapping

from perfscope.errors import UsageError

# ${name} is the shell's, {} is find's, {"a": 1} is JSON; {{name}} stands for {name} itself.
_PLACEHOLDER = re.compile(
    r"\{\{(?P<kept>[A-Za-z_][A-Za-z0-9_]*)\}\}|(?<!\$)\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}"
)


def names(text: str) -> set[str]:
    """The placeholders that a text holds."""
    return {match["name"] for match in _PLACEHOLDER.finditer(text) if match["name"]}


def fill(text: str, variables: Mapping[str, str]) -> str:
    """The text with its placeholders replaced, once: a value is never looked into.

    Raises:
        UsageError: a placeholder has no variable.
    """

    def replaced(match: re.Match[str]) -> str:
        if match["kept"]:
            return f"{{{match['kept']}}}"
        if match["name"] not in variables:
            raise _unknown(match["name"], variables)
        return variables[match["name"]]

    return _PLACEHOLDER.sub(replaced, text)


def _unknown(name: str, variables: Mapping[str, str]) -> UsageError:
    known = ", ".join(sorted(variables)) or "none"
    return UsageError(
        f"The command has a placeholder {{{name}}} without values.",
        why=f"Variables given by --var or by the set: {known}.",
        action=f"Add --var {name}=VALUE,VALUE, or write {{{{{name}}}}} where braces shall stay.",
    )
