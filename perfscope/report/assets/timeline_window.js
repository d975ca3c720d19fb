// What is shown of the timeline, kept in the address of the page and saved for other tools.
(() => {
  "use strict";
  const WAIT = 250; // milliseconds: an address follows when the picture rests
  const figure = document.querySelector("[data-timeline]");
  if (!figure || !figure.timeline) return;
  const { show, shown, events } = figure.timeline;
  const digits = bin => Math.min(Math.max(Math.ceil(-Math.log10(bin)), 0), 9);
  let timer = null, isOwn = false;

  function named() {
    const { from, to, bin } = shown();
    return `${from.toFixed(digits(bin))}-${to.toFixed(digits(bin))}`;
  }

  function follow() {
    const found = /^#t=(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(location.hash);
    if (!found || !(Number(found[2]) > Number(found[1]))) return;
    isOwn = true; // the address is there already
    show(Number(found[1]), Number(found[2]));
    isOwn = false;
    figure.scrollIntoView({ block: "center" });
  }

  figure.addEventListener("windowchange", () => {
    clearTimeout(timer);
    if (isOwn) return;
    timer = setTimeout(() => {
      try {
        history.replaceState(null, "", shown().isAll ? "#timeline" : `#t=${named()}`);
      } catch { /* a browser that keeps no addresses of files shows the picture all the same */ }
    }, WAIT);
  });
  addEventListener("hashchange", follow);
  follow();

  figure.querySelector("[data-save]").addEventListener("click", () => {
    const link = document.createElement("a");
    const text = JSON.stringify({ displayTimeUnit: "ms", traceEvents: events() });
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = `timeline-${named()}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    document.getElementById("timeline-status").textContent =
      `${link.download} is saved: open it at ui.perfetto.dev. perfscope export --to chrome writes every call of the run.`;
  });
})();
