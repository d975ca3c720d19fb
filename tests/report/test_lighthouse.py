"""Lighthouse gives a report and a study full marks for accessibility and best practices."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from perfscope.report.build import write_report
from perfscope.schema.read import read_known
from tests.support.environments import REPOSITORY
from tests.support.requirements import require_browser, require_tool
from tests.support.study_pages import page_of

LIGHTHOUSE = "lighthouse@13.5.0"
CATEGORIES = ("accessibility", "best-practices")
TIMEOUT_S = 600


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lighthouse, installed by npm."""
    folder = tmp_path_factory.mktemp("lighthouse")
    npm = str(require_tool("npm"))
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), LIGHTHOUSE]
    subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_S)
    return folder / "node_modules" / ".bin" / "lighthouse"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of a report and a study on this machine: Lighthouse opens no files."""
    folder = tmp_path_factory.mktemp("pages")
    report = REPOSITORY / "reports" / "rank_zero_evaluation" / "analysis.json"
    write_report(read_known(json.loads(report.read_text("utf-8"))), folder / "report.html")
    study = REPOSITORY / "reports" / "studies" / "ranks_and_threads" / "study.json"
    page = page_of(json.loads(study.read_text("utf-8")))
    (folder / "study.html").write_text(page, encoding="utf-8")
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Requests of a test are no news."""


@pytest.mark.long
@pytest.mark.parametrize("name", ["report", "study"])
def test_full_marks(program: Path, address: str, name: str, tmp_path: Path) -> None:
    out = tmp_path / "marks.json"
    flags = "--headless=new --no-sandbox --disable-gpu"
    command = [str(program), f"{address}/{name}.html", "--quiet", "--output=json"]
    command += [f"--only-categories={','.join(CATEGORIES)}", f"--chrome-flags={flags}"]
    environment = {**os.environ, "CHROME_PATH": str(require_browser())}
    subprocess.run(
        [*command, f"--output-path={out}"],
        check=True,
        capture_output=True,
        env=environment,
        timeout=TIMEOUT_S,
    )
    found = json.loads(out.read_text("utf-8"))
    failed = [one["title"] for one in found["audits"].values() if one["score"] not in (None, 1)]
    assert failed == []
    assert {one: found["categories"][one]["score"] for one in CATEGORIES} == dict.fromkeys(
        CATEGORIES, 1
    )
