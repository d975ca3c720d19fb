"""The report as a browser shows it: nothing leaves the file, and everybody can read it."""

from pathlib import Path

import pytest

from benchmarks.browser import Browser
from perfscope.report.build import write_report
from perfscope.schema.read import read_known
from tests.report.sample_document import ALL, two_ranks_evaluation
from tests.report.test_first_screen import leading

OPEN_ALL = "document.querySelectorAll('details').forEach(d => { d.open = true; })"
WIDE_ELEMENTS = """[...document.querySelectorAll('body *')].filter(e =>
  e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll, .contents, .skip')
).slice(0, 5).map(e => e.outerHTML.slice(0, 120))"""
WITHOUT_GESTURES = (
    "document.querySelectorAll('.timeline, [data-window], .tools, .table-tools')"
    ".forEach(e => e.remove())"
)
HANDLERS = """[...document.querySelectorAll('*')].filter(
  e => [...e.attributes].some(a => /^on/i.test(a.name))).length"""
LOW_CONTRAST = """(() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return null;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const failures = []; let seen = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || e.closest('.unseen') || !e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    const ink = parse(e.closest('svg') ? style.fill : style.color), paper = behind(e);
    const [a, b] = [light(ink), light(paper)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    seen += 1;
    if (!(ratio >= 4.5)) failures.push([node.data.slice(0, 40), e.className, ratio]);
  }
  return {seen, failures: failures.slice(0, 10)};
})()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The report of every sample document."""
    folder = tmp_path_factory.mktemp("pages")
    out = {}
    for name, document in ALL.items():
        out[name] = folder / f"{name}.html"
        write_report(read_known(document()), out[name])
    return out


@pytest.mark.parametrize("name", ALL)
def test_asks_for_nothing_but_itself_and_reports_no_error(
    window: Browser, pages: dict[str, Path], name: str
) -> None:
    window.open(pages[name])
    asked = [event["request"]["url"] for event in window.seen("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith("data:")] == [pages[name].as_uri()]
    for kind in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
        assert window.seen(kind) == []
    assert window.seen("Audits.issueAdded") == []


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_never_scrolls_sideways(
    window: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    window.open(pages[name], width=width)
    window.run(OPEN_ALL)
    assert window.run(WIDE_ELEMENTS) == []
    assert window.run("document.documentElement.scrollWidth <= innerWidth") is True


@pytest.mark.parametrize("name", ["two_ranks", "null", "thousand_ranks"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_has_enough_contrast(
    window: Browser, pages: dict[str, Path], name: str, dark: bool
) -> None:
    window.open(pages[name], dark=dark)
    window.run(OPEN_ALL)
    result = window.run(LOW_CONTRAST)
    assert result["failures"] == []
    assert result["seen"] > 150


def test_dark_mode_is_dark(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["two_ranks"], dark=True)
    assert window.run("getComputedStyle(document.body).backgroundColor") == "rgb(15, 18, 23)"


def test_all_but_what_needs_a_gesture_reads_the_same_without_javascript(
    window: Browser, pages: dict[str, Path]
) -> None:
    text = f"{OPEN_ALL}, {WITHOUT_GESTURES}, document.body.innerText"
    window.open(pages["two_ranks"])
    with_scripts = window.run(text)
    window.page("Emulation.setScriptExecutionDisabled", value=True)
    try:
        window.open(pages["two_ranks"])
        without_scripts = window.run(text)
    finally:
        window.page("Emulation.setScriptExecutionDisabled", value=False)
    assert without_scripts == with_scripts
    for expected in (
        "Rank 0 evaluates alone",
        "train_numpy.py:96",
        "Load balance",
        "MPI_Allreduce",
    ):
        assert expected in without_scripts


def test_hostile_texts_execute_nothing(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["hostile"])
    window.run(OPEN_ALL)
    assert window.run("window.pwned") is None
    assert window.run("document.querySelectorAll('img, iframe, object').length") == 0
    assert window.run("document.querySelectorAll('script').length") == 1
    assert window.run("document.querySelectorAll('style').length") == 1
    assert window.run(HANDLERS) == 0
    links = window.run("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    assert [link for link in links if not link.startswith("#")] == ["https://docs.example.org/fine"]


def test_skip_link_and_links_take_the_keyboard(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["two_ranks"])
    for kind in ("keyDown", "keyUp"):
        window.page(
            "Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9
        )
    assert window.run("document.activeElement.getAttribute('href')") == "#main"
    assert window.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert window.run("document.activeElement.getBoundingClientRect().left >= 0") is True


AROUND_CARDS = """
[...new Set([...document.querySelectorAll("#overview .card")]
  .map(card => getComputedStyle(card.parentElement).display))]
"""


def test_prints_on_paper(window: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    window.open(pages["two_ranks"], dark=True)
    window.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    window.page("Emulation.setEmulatedMedia", media="print")
    try:
        ink = window.run("getComputedStyle(document.querySelector('h1')).color")
        around = window.run(AROUND_CARDS)
    finally:
        window.page("Emulation.setEmulatedMedia", media="")
    assert ink == "rgb(23, 26, 33)"
    assert around == ["block"]  # what a grid breaks between pages lies on top of what follows


BESIDE = """[...document.querySelectorAll('.verdict .line')]
  .filter(one => one.checkVisibility()).map(line => {
  const [label, text] = [...line.children].map(one => one.getBoundingClientRect());
  const words = document.createRange();
  words.selectNodeContents(line.children[0]);
  const end = words.getBoundingClientRect();
  return [line.children[0].textContent, end.right <= text.left || end.bottom <= text.top + 1,
    text.width > label.width];
})"""
"""Of each line of the verdict: whether its label ends where its text begins, and which is wide."""


@pytest.mark.parametrize("is_elsewhere", [False, True])
@pytest.mark.parametrize(("width", "media"), [(1280, "screen"), (390, "screen"), (794, "print")])
def test_labels_stand_beside_their_texts(
    window: Browser, tmp_path: Path, width: int, media: str, *, is_elsewhere: bool
) -> None:
    document = two_ranks_evaluation()
    where = [{"file": "/home/me/train.py", "line": 57, "function": "main"}]
    calls = {"calls": "torch.DistributedDataParallel.forward", "calls_samples": 67}
    leading(
        document,
        where=where,
        is_elsewhere=is_elsewhere,
        source_line="loss = nn.functional.cross_entropy(model(nodes), labels[nodes])",
        seen={"samples": 100, "of": 400, **calls},
        actions=["Exchange once: run the first backward passes `with model.no_sync():`. " * 4],
    )
    write_report(read_known(document), tmp_path / "page.html")
    window.open(tmp_path / "page.html", width=width)
    window.page("Emulation.setEmulatedMedia", media=media)
    found = window.run(BESIDE)
    window.page("Emulation.setEmulatedMedia", media="")
    labels = {label for label, _, _ in found}
    assert {"Ranks", "Line to open", "First action"} <= labels
    assert [label for label, is_beside, _ in found if not is_beside] == []
    if width > 520:
        assert [label for label, _, is_wide in found if not is_wide] == []
