// What a page offers beside its text: another theme, paper, its document, and words explained.
// A box that can scroll is reached with the keyboard while it has something to scroll, and only then.
(() => {
  "use strict";
  const root = document.documentElement;
  const held = () => document.getElementById("held"); // behind the script: it is not there yet

  // All are measured before one is changed, and none in a fold that is shut: each would be a layout.
  function fit(part) {
    const boxes = [...part.querySelectorAll(".scroll")].filter(box => box.checkVisibility());
    const canScroll = boxes.map(box => box.scrollWidth > box.clientWidth);
    boxes.forEach((box, place) => {
      if (canScroll[place]) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
  }
  addEventListener("resize", () => fit(document));
  document.addEventListener("toggle", event => fit(event.target), true);
  fit(document);

  // The style sheet has a dark palette under a condition; a choice takes the place of the condition.
  const scheme = "(prefers-color-scheme: dark)";
  const dark = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules])
    .find(rule => rule.media && rule.media.mediaText === scheme);
  let chosen = null;
  function changeTheme() {
    const isDark = chosen === null ? matchMedia(scheme).matches : chosen;
    chosen = !isDark;
    dark.media.mediaText = chosen ? "screen" : "not all";
    dispatchEvent(new Event("themechange"));
  }

  function print(isSummary) {
    root.classList.toggle("summary-only", isSummary);
    window.print();
  }
  addEventListener("afterprint", () => root.classList.remove("summary-only"));

  async function unpacked() {
    const bytes = Uint8Array.from(atob(held().content.textContent), one => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).blob();
  }
  async function save() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await unpacked());
    link.download = held().dataset.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    return `${held().dataset.file} is saved.`;
  }

  const tools = document.querySelector(".tools"), status = tools.querySelector("[role=status]");
  const does = {
    theme: changeTheme,
    "print-summary": () => print(true),
    print: () => print(false),
    save: () => save().then(said => { status.textContent = said; },
      () => { status.textContent = "This browser cannot save it."; }),
  };
  tools.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (button) does[button.dataset.do](button);
  });
  tools.hidden = false;

  // Terms that the page defines are explained where they head something.
  const meaning = new Map();
  for (const pair of document.querySelectorAll(".terms > div")) {
    const [term, text] = [pair.querySelector("dt"), pair.querySelector("dd")];
    if (term && text) meaning.set(term.textContent.trim().toLowerCase(), text.textContent.trim());
  }
  for (const head of document.querySelectorAll("thead th, tbody th, .node-label, .evidence h2, dt")) {
    const found = meaning.get(head.textContent.trim().toLowerCase());
    if (!found || head.closest(".terms") || head.querySelector("[title]")) continue;
    const word = document.createElement("dfn");
    word.title = found;
    word.append(...head.childNodes);
    head.append(word);
  }
})();
