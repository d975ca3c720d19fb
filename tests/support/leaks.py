"""Secrets that were planted and must not be found again."""

import base64
from collections.abc import Mapping


def leaked(content: bytes, secrets: Mapping[str, str]) -> list[str]:
    """The names of those that are in it: as they are, in UTF-16 or in base64."""
    found = []
    for name, secret in secrets.items():
        plain = secret.encode()
        forms = (plain, secret.encode("utf-16-le"), base64.b64encode(plain)[:-4])
        if any(form in content for form in forms):
            found.append(name)
    return found
