"""uv gets packages from where pip would, and pip does what uv cannot."""

from pathlib import Path
from typing import Any

import pytest

from scripts import installer
from tests.support.environments import environment


def test_uv_is_told_what_pip_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = tmp_path / "pip.conf"
    files.write_text("[global]\nindex-url = https://one/simple\nfind-links = /one\n  /two\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(files))
    monkeypatch.setenv("PIP_INDEX_URL", "https://two/simple")
    monkeypatch.setenv("PIP_CERT", "/certificates")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    told = installer.configured(environment("mpich").python)
    words = " ".join(installer.options(told))
    assert "--index-url https://two/simple" in words
    assert "https://one" not in words
    assert "--find-links /one --find-links /two" in words
    assert installer.variables(told) == {"SSL_CERT_FILE": "/certificates"}


@pytest.mark.parametrize("has_uv", [True, False])
def test_pip_installs_what_uv_cannot(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *, has_uv: bool
) -> None:
    started = []

    def run(*command: str | Path, **_: Any) -> None:
        started.append(Path(command[0]).name)
        if started[-1] == "uv" and not has_uv:
            raise OSError("there is none")

    monkeypatch.setattr(installer, "configured", lambda _: {})
    installer.install(Path("tools"), Path("some"), ["numpy"], run=run)
    assert started == (["uv"] if has_uv else ["uv", "python"])
    assert ("there is none" in capfd.readouterr().err) == (not has_uv)
