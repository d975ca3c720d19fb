"""uv gets packages from where pip would, and pip does what uv cannot."""

import os
import subprocess
import sys
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


def test_wheelhouse_and_proxy_are_those_of_pip(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = tmp_path / "pip.conf"
    files.write_text("[global]\nno-index = yes\nproxy = http://gate:3128\n[install]\npre = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(files))
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    monkeypatch.setenv("HTTPS_PROXY", "http://other")
    told = installer.configured(environment("mpich").python)
    words = " ".join(installer.options(told))
    assert "--no-index" in words
    assert "--find-links /wheels" in words
    found = installer.variables(told)
    assert (found["HTTP_PROXY"], found["HTTPS_PROXY"]) == ("http://gate:3128",) * 2
    assert installer.for_pip_alone(told) == ["pre"]
    assert "--no-index" not in installer.options({"no-index": "false"})


def test_uv_takes_nothing_from_elsewhere_than_the_wheelhouse(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = tmp_path / "pip.conf"
    files.write_text(f"[global]\nno-index = true\nfind-links = {tmp_path}\n")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(files))
    place, said = tmp_path / "some", []
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)

    def run(*command: str | Path, **_: Any) -> None:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        said.append(done.stderr)
        if done.returncode:
            raise OSError(done.stderr)

    with pytest.raises(OSError, match="No matching distribution"):
        installer.install(environment("uv").prefix, place, ["numpy"], run=run)
    from_uv, from_pip = said
    assert "not found in the provided package locations" in from_uv
    assert "numpy" in from_pip


def test_pip_installs_where_it_is_told_what_uv_cannot_be(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    started = []

    def run(*command: str | Path, **_: Any) -> None:
        started.append(Path(command[0]).name)

    monkeypatch.setattr(installer, "configured", lambda _: {"only-binary": ":all:", "retries": "2"})
    installer.install(Path("tools"), Path("some"), ["numpy"], run=run)
    assert started == ["python"]
    assert "pip is told of only-binary" in capfd.readouterr().err


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
