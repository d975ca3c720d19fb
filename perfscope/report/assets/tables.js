// Tables: sorted by a column where its head is pressed, and copied as CSV or Markdown.
(() => {
  "use strict";
  const FORMULA = /^'*[\s\0]*[=+\-@\t\r\n＝＋－＠]/, NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const tidy = text => text.replace(/\s+/g, " ").trim();
  const rowsOf = table => [...table.querySelectorAll("tbody > tr")];
  const exact = cell => cell.dataset.value || whole(cell);

  // All that a cell says: texts that are shown cut stand in titles, lines are apart.
  function whole(cell) {
    const copied = cell.cloneNode(true);
    for (const name of copied.querySelectorAll(".name[title]")) name.textContent = name.title;
    for (const line of copied.querySelectorAll("br, div, small")) line.before(" ");
    return tidy(copied.textContent);
  }

  // A cell that a spreadsheet may run as a formula gets a mark that keeps it from that.
  function quoted(text) {
    const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
    return /[",\n]|^'/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  function asCsv(table) {
    const heads = [...table.querySelectorAll("thead th")].map(head =>
      tidy(head.textContent) + (head.dataset.unit ? ` [${head.dataset.unit}]` : ""));
    const rows = rowsOf(table).map(row => [...row.cells].map(exact));
    return [heads, ...rows].map(row => row.map(quoted).join(",")).join("\n") + "\n";
  }

  function asMarkdown(table) {
    const line = cells => `| ${cells.map(cell =>
      whole(cell).replace(/[\\`*_{}[\]<>#|&~]/g, "\\$&")).join(" | ")} |`;
    const heads = [...table.querySelectorAll("thead th")];
    const rule = `|${heads.map(head => head.classList.contains("n") ? " ---: " : " --- ").join("|")}|`;
    return [line(heads), rule, ...rowsOf(table).map(row => line([...row.cells]))].join("\n") + "\n";
  }

  function copy(text) {
    const old = () => {
      const box = document.createElement("textarea");
      box.value = text;
      document.body.append(box);
      box.select();
      const done = document.execCommand("copy");
      box.remove();
      return done ? Promise.resolve() : Promise.reject(new Error("copy"));
    };
    return navigator.clipboard ? navigator.clipboard.writeText(text).catch(old) : old();
  }

  function copier(label, text) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.addEventListener("click", () => copy(text()).then(
      () => { button.textContent = "Copied"; },
      () => { button.textContent = "Not copied"; },
    ).then(() => setTimeout(() => { button.textContent = label; }, 2000)));
    return button;
  }

  // What is to be typed is copied as it stands; a mere name is not typed alone, and what leaves
  // something open not as it stands. Sentences are not interrupted: buttons stand behind them.
  function offerCode(code) {
    if (/^[\w. ]+$|\.\.\.|…/.test(code.textContent)) return;
    if (!/\s|\(|^[A-Z][A-Z0-9_]*=./.test(code.textContent)) return;
    const button = copier("Copy", () => code.textContent);
    button.className = "copy-code";
    button.setAttribute("aria-label", `Copy ${code.textContent}`);
    button.title = code.textContent;
    const told = code.closest("p, li, dd, td");
    if (told) told.append(button);
    else code.after(button);
  }

  function offerCopies(table) {
    const tools = document.createElement("p");
    tools.className = "table-tools";
    tools.append(copier("Copy CSV", () => asCsv(table)));
    tools.append(copier("Copy Markdown", () => asMarkdown(table)));
    (table.closest(".scroll") || table).after(tools);
  }

  // What is missing comes last, whichever way the rest is sorted.
  function order(rows, column, isUp) {
    const text = new Intl.Collator("en", { numeric: true }).compare;
    const isMissing = row => !tidy(row.cells[column].textContent).replace(/^[–-]$/, "");
    return [...rows].sort((a, b) => {
      const [one, two] = [a.cells[column], b.cells[column]];
      if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);
      const by = one.dataset.value && two.dataset.value
        ? one.dataset.value - two.dataset.value : text(exact(one), exact(two));
      return isUp ? by : -by;
    });
  }

  // Numbers first rise from the press on that shows the most; a third press is the page's own order.
  function offerOrder(table) {
    const rows = rowsOf(table), heads = [...table.querySelectorAll("thead th")];
    if (rows.length < 3 || "fixed" in table.dataset || table.querySelector("[class^=depth-], [rowspan], [colspan]")) return;
    heads.forEach((head, column) => {
      const isNumber = head.classList.contains("n");
      if (isNumber && !rows.some(row => row.cells[column].dataset.value)) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      const ways = isNumber ? ["descending", "ascending"] : ["ascending", "descending"];
      button.addEventListener("click", () => {
        const way = [...ways, null][(ways.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
        heads.forEach(other => other.removeAttribute("aria-sort"));
        if (way) head.setAttribute("aria-sort", way);
        table.tBodies[0].append(...(way ? order(rows, column, way === "ascending") : rows));
      });
    });
  }

  document.querySelectorAll(".line bdi > code, .finding-body ol bdi > code").forEach(offerCode);
  for (const table of document.querySelectorAll("table:not(.heat)")) {
    if (!table.tHead || !table.tBodies.length || !table.rows.length) continue;
    offerOrder(table);
    offerCopies(table);
  }
})();
