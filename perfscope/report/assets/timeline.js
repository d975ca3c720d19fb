// The timeline as a canvas: zooms, moves, and says what is under the pointer. Without this script
// the page shows the picture that is in it.
(() => {
  "use strict";
  const LEAST_BINS = 16; // of the finest level, in the narrowest window
  const WIDEST_BIN = 8; // pixels; wider bins are drawn from a finer level
  const COLUMN = 4, LEAST_IN_COLUMN = 8; // pixels and bins: where a column shows shares
  const LEAST_PATTERN = 4; // pixels; narrower pieces have no room for a pattern
  const { NOBODY } = timelineWords;
  const STEP_ROOM = 64, LEAST_STEP = 5; // pixels: of a step's label, and between two marks
  const AXIS = 30, RIGHT = 14, TICK_ROOM = 76, MOST_TICKS = 50, SIDE = 3, MOST_HEIGHT = 416, LABEL_ROOM = 13, AROUND = 0.05;

  const figure = document.querySelector("[data-timeline]");
  if (!figure) return;
  const data = JSON.parse(figure.dataset.timeline);
  // The picture is text while scripts run: to make it costs as much as the rest of the page.
  const still = figure.querySelector("noscript");
  const picture = () => { if (still.isConnected) still.outerHTML = still.textContent; };
  addEventListener("beforeprint", picture);
  const canvas = figure.querySelector("canvas");
  const context = canvas.getContext("2d", { alpha: false });
  if (!context) {
    picture();
    return;
  }
  const status = document.getElementById("timeline-status");
  const shown = document.getElementById("timeline-window");
  const sums = document.getElementById("timeline-sums");
  const TOP = data.steps.length ? 24 : 6; // the ruler of steps is above the rows
  const rows = data.rows.length;
  const pitch = rows <= 4 ? 56 : Math.max(Math.min(26, Math.floor(MOST_HEIGHT / rows)), 5);
  const every = Math.ceil(LABEL_ROOM / pitch); // the labels that have room
  let held = null; // the finer levels and what stands behind bins: most of the page, at its end
  const later = () => (held ??= JSON.parse(document.getElementById("timeline-later").content.textContent));
  const levels = data.levels.map(({ bin, rows: texts }, place) => {
    let cells = null; // decoded when they are first shown
    return { bin, get cells() { return (cells ??= (texts ?? later().levels[place - 1]).map(decoded)); } };
  });
  const words = timelineWords(data, levels, row => (data.behind ? later().behind[row] : ""));
  const finest = levels[levels.length - 1];
  const least = Math.min(data.length, LEAST_BINS * finest.bin);

  let from = 0, to = data.length; // the edges, in seconds after the start of what is shown
  let cursor = null; // {row, time} that the status line is about
  let chosen = null; // the two ends of a selected stretch, as they were chosen
  let width = 0, left = 0, ratio = 1, labels = [];
  const bar = { width: 1, height: 1 }; // of a row, in pixels of the screen
  let paint = null; // colors and patterns, until the palette changes
  let pending = false, drag = null, isSelecting = false;

  function decoded(letters) {
    const index = new Uint8Array(128).fill(NOBODY);
    data.accounts.forEach((account, place) => { index[account.letter.charCodeAt(0)] = place; });
    const cells = new TextEncoder().encode(letters);
    for (let place = 0; place < cells.length; place += 1) cells[place] = index[cells[place]];
    return cells;
  }

  // ---- from time to pixels and back

  const scale = () => (width - left - RIGHT) / (to - from);
  const timeAt = x => Math.min(Math.max(from + (x - left) / scale(), from), to);
  const rowAt = y => Math.min(Math.max(Math.floor((y - TOP) / pitch), 0), rows - 1);
  const isWhole = () => document.readyState !== "loading"; // the finer levels are there
  const level = () => isWhole()
    ? levels.find(one => one.bin * scale() <= WIDEST_BIN) ?? finest : levels[0];
  const isShared = () => isWhole() && data.is_stacked && COLUMN / scale() >= LEAST_IN_COLUMN * finest.bin;

  // ---- what to show

  function show(newFrom, span) {
    const length = Math.min(Math.max(span, least), data.length);
    from = Math.min(Math.max(newFrom, 0), data.length - length);
    to = from + length;
    figure.dispatchEvent(new CustomEvent("windowchange"));
    if (cursor) cursor.time = Math.min(Math.max(cursor.time, from), to);
    request();
  }

  function zoom(factor, at) {
    const span = Math.min(Math.max((to - from) * factor, least), data.length);
    show(at - (at - from) / (to - from) * span, span);
  }

  function move(share) {
    const before = from, time = cursor?.time;
    show(from + share * (to - from), to - from);
    if (cursor) cursor.time = time + from - before; // stays at its place in the window
  }

  const center = () => (cursor ? cursor.time : (from + to) / 2);
  const actions = {
    in: () => zoom(1 / 2, center()),
    out: () => zoom(2, center()),
    left: () => move(-0.1),
    right: () => move(0.1),
    all: () => show(0, data.length),
    up: () => choose(-1),
    down: () => choose(1),
    none: () => { chosen = null; request(); },
    earlier: () => extend(-1),
    later: () => extend(1),
  };

  // A selection grows from the cursor, a hundredth of what is shown at a time.
  function extend(way) {
    cursor ??= { row: 0, time: center() };
    chosen ??= [cursor.time, cursor.time];
    cursor.time = chosen[1] = Math.min(Math.max(chosen[1] + way * (to - from) / 100, from), to);
    request();
  }

  function choose(step) {
    cursor ??= { row: step > 0 ? -1 : rows, time: (from + to) / 2 };
    cursor.row = Math.min(Math.max(cursor.row + step, 0), rows - 1);
    request();
  }

  // ---- drawing, once for each change

  function request() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      draw();
      describe();
    });
  }

  function measure() {
    width = canvas.parentElement.clientWidth;
    ratio = window.devicePixelRatio || 1;
    const height = TOP + pitch * rows + AXIS;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    context.font = font();
    labels = data.rows.map(({ label }) => (width >= 700 ? label : label.split(" · ")[0]));
    left = Math.ceil(Math.max(...labels.map(label => context.measureText(label).width))) + SIDE + 10;
    left = Math.min(left, Math.floor(width / 3));
    bar.width = Math.max(Math.round((width - left - RIGHT) * ratio), 1);
    bar.height = Math.round(Math.max(pitch * 0.8, pitch - 5) * ratio);
    paint = null;
  }

  const font = () => `${pitch < 16 ? 11 : 12.5}px ${getComputedStyle(figure).fontFamily}`;

  function draw() {
    if (width !== canvas.parentElement.clientWidth || ratio !== (window.devicePixelRatio || 1)) measure();
    paint ??= timelinePaint(data, bar, ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = paint.card;
    context.fillRect(0, 0, width, TOP + pitch * rows + AXIS);
    context.font = font();
    drawAxis();
    drawLabels();
    if (isShared()) drawShares();
    else drawBars(level());
    drawSteps();
    drawChosen();
    drawCursor();
  }

  function drawAxis() {
    const bottom = TOP + pitch * rows;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    for (const [time, label] of ticks()) {
      const x = left + (time - from) * scale();
      context.fillStyle = paint.grid;
      context.fillRect(Math.round(x), TOP, 1, bottom - TOP + 5);
      const half = context.measureText(label).width / 2;
      context.fillStyle = paint.ink;
      context.fillText(label, Math.min(Math.max(x, half), width - half), bottom + 20);
    }
  }

  function ticks() {
    const low = (data.start + from) / data.factor, high = (data.start + to) / data.factor;
    const room = (to - from) / data.factor / Math.max((width - left - RIGHT) / TICK_ROOM, 1);
    const power = 10 ** Math.floor(Math.log10(room));
    const step = power * [1, 2, 5, 10].find(factor => power * factor >= room * 0.999);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const found = [];
    const first = Math.ceil(low / step - 1e-9) || 0;
    for (let n = 0; n < MOST_TICKS; n += 1) { // a far end may be too far away for the step to count
      const value = (first + n) * step;
      if (value > high + step * 1e-9) break;
      found.push([value * data.factor - data.start, `${words.number(value, digits)} ${data.unit}`]);
    }
    return found;
  }

  function drawLabels() {
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = paint.ink;
    labels.forEach((label, place) => {
      if (place % every === 0) context.fillText(label, SIDE, TOP + pitch * (place + 0.5), left - SIDE - 6);
    });
  }

  // Rows are written pixel by pixel, which takes as long for many pieces as for few. First one line
  // of plain colors, which all lines repeat, then patterns where a piece has room for them.
  function drawBars({ bin, cells }) {
    const first = Math.max(Math.floor(from / bin), 0);
    const last = Math.min(Math.ceil(to / bin), cells[0].length);
    const edge = place => Math.min(Math.max(
      Math.round((place * bin - from) * scale() * ratio), 0), bar.width);
    const image = context.createImageData(bar.width, bar.height);
    const pixels = new Uint32Array(image.data.buffer);
    for (let row = 0; row < rows; row += 1) {
      const own = cells[row], wide = []; // pieces with room for a pattern: account, from, to
      pixels.fill(paint.track, 0, bar.width);
      for (let place = first, x = 0; place < last;) {
        const account = own[place];
        do place += 1; while (place < last && own[place] === account);
        const next = edge(place);
        if (account !== NOBODY) {
          pixels.fill(paint.fills[account].pixel, x, next);
          if (next - x >= LEAST_PATTERN * ratio) wide.push(account, x, next);
        }
        x = next;
      }
      for (let y = 1; y < bar.height; y += 1) pixels.copyWithin(y * bar.width, 0, bar.width);
      for (let n = 0; n < wide.length; n += 3) paint.textured(pixels, wide[n], wide[n + 1], wide[n + 2], 0, bar.height);
      put(image, row);
    }
  }

  // Zoomed out, a column has each color as high as its share of the finest bins in it.
  function drawShares() {
    const { bin, cells } = finest;
    const image = context.createImageData(bar.width, bar.height);
    const pixels = new Uint32Array(image.data.buffer);
    const place = x => Math.min(Math.max(Math.round((from + x / (scale() * ratio)) / bin), 0), cells[0].length);
    cells.forEach((own, row) => {
      paint.shares(pixels, own, place, Math.round(COLUMN * ratio));
      put(image, row);
    });
  }

  function put(image, row) {
    const middle = (TOP + pitch * (row + 0.5)) * ratio;
    context.putImageData(image, Math.round(left * ratio), Math.round(middle - bar.height / 2));
  }

  // Where steps begin: a mark for each that has room, a number for round ones.
  function drawSteps() {
    const near = data.steps.filter(([, start]) => start >= from && start <= to);
    if (near.length < 2) return;
    const count = Math.abs(near[near.length - 1][0] - near[0][0]);
    const pitched = count ? (near[near.length - 1][1] - near[0][1]) * scale() / count : Infinity; // pixels a step
    const every = [1, 2, 5].flatMap(one => [1, 10, 100, 1e3, 1e4, 1e5].map(ten => one * ten)).sort((a, b) => a - b)
      .find(one => one * pitched >= STEP_ROOM) ?? Infinity;
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.fillStyle = paint.ink;
    let last = -Infinity, lastLabel = -Infinity; // steps are not equally long
    for (const [number, start] of near) {
      const x = Math.round(left + (start - from) * scale());
      const isRound = number % every === 0 && x - lastLabel >= STEP_ROOM;
      if (!isRound && x - last < LEAST_STEP) continue;
      context.fillRect(x, isRound ? 6 : 16, 1, isRound ? 16 : 6);
      if (isRound && x + STEP_ROOM < width) context.fillText(`step ${number}`, x + 4, 15);
      last = x;
      if (isRound) lastLabel = x;
    }
  }

  function drawChosen() {
    if (!chosen) return;
    const [first, last] = [Math.min(...chosen), Math.max(...chosen)].map(
      time => Math.round(left + (Math.min(Math.max(time, from), to) - from) * scale()));
    context.globalAlpha = 0.18;
    context.fillStyle = paint.ink;
    context.fillRect(first, TOP, last - first, pitch * rows);
    context.globalAlpha = 1;
    for (const x of [first, last]) context.fillRect(x, TOP, 1, pitch * rows);
  }

  function drawCursor() {
    if (!cursor) return;
    const x = Math.round(left + (cursor.time - from) * scale());
    context.fillStyle = paint.ink;
    context.fillRect(x, TOP, 1, pitch * rows);
    context.strokeStyle = paint.ink;
    context.lineWidth = 2;
    context.strokeRect(x - 3, TOP + pitch * cursor.row + 1, 7, pitch - 2);
  }

  // ---- in words

  function describe() {
    const { cells } = level(), bin = isShared() ? COLUMN / scale() : level().bin;
    shown.textContent = `Shown: ${words.moment(from, bin)} to ${words.moment(to, bin)}, in parts of ${words.length(bin)}`;
    status.textContent = cursor ? under(cursor, bin, cells[cursor.row]) : "Hover over a bar for details.";
    sums.hidden = !chosen;
    sums.textContent = chosen ? words.sums(Math.min(...chosen), Math.max(...chosen), bin) : "";
  }

  // Under the cursor are the neighboring parts that look alike: bins, or columns of one color.
  function under({ row, time }, bin, own) {
    const start = isShared() ? from : 0, most = Math.ceil((isShared() ? to - from : data.length) / bin);
    const within = place => [start + place * bin, Math.min(start + (place + 1) * bin, data.length)];
    const here = Math.min(Math.floor((time - start) / bin), most - 1);
    const isLike = place => isShared() ? words.isAlike(row, within(here), within(place)) : own[place] === own[here];
    let first = here, last = here;
    while (first > 0 && isLike(first - 1)) first -= 1;
    while (last < most - 1 && isLike(last + 1)) last += 1;
    const [begin, finish] = [within(first)[0], within(last)[1]];
    return `${data.rows[row].name} at ${words.moment(time, bin)}${words.step(time)}: ${words.content(row, begin, finish)}, ` +
      `from ${words.moment(begin, bin)} to ${words.moment(finish, bin)} (${words.length(finish - begin)})${words.behind(row, time)}`;
  }

  // ---- pointer, wheel and keys

  function point(event) {
    const box = canvas.getBoundingClientRect();
    cursor = { row: rowAt(event.clientY - box.top), time: timeAt(event.clientX - box.left) };
    request();
  }

  canvas.addEventListener("pointerdown", event => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    point(event);
    isSelecting = event.shiftKey;
    if (isSelecting) chosen = [cursor.time, cursor.time];
    else drag = { x: event.clientX, from };
  });
  canvas.addEventListener("pointermove", event => {
    if (drag) show(drag.from - (event.clientX - drag.x) / scale(), to - from);
    point(event);
    if (isSelecting) chosen[1] = cursor.time;
  });
  for (const kind of ["pointerup", "pointercancel", "lostpointercapture"]) {
    canvas.addEventListener(kind, () => { drag = null; isSelecting = false; });
  }
  canvas.addEventListener("dblclick", actions.all);
  canvas.addEventListener("wheel", event => {
    const isMeant = document.activeElement === canvas || event.ctrlKey || event.metaKey;
    const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const isWhole = to - from >= data.length * 0.999999;
    if (!isMeant || (isWhole && (isSideways || event.deltaY > 0))) return; // the page scrolls
    event.preventDefault();
    const turned = (isSideways ? event.deltaX : event.deltaY) * (event.deltaMode === 1 ? 16 : 1);
    if (isSideways) move(turned / width);
    else zoom(Math.exp(Math.min(Math.max(turned, -300), 300) / 400), timeAt(event.offsetX));
  }, { passive: false });

  const KEYS = {
    "+": "in", "=": "in", "-": "out", "_": "out", Home: "all",
    ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down",
    w: "in", s: "out", a: "left", d: "right", f: "all", // as in Perfetto
    Escape: "none",
  };
  const SHIFTED = { ArrowLeft: "earlier", ArrowRight: "later" };
  canvas.addEventListener("keydown", event => {
    const action = (event.shiftKey && SHIFTED[event.key]) || KEYS[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[action]();
  });
  for (const button of figure.querySelectorAll("[data-do]")) {
    button.addEventListener("click", actions[button.dataset.do]);
  }

  // A finding shows when it was, with some time around it.
  for (const button of document.querySelectorAll("[data-window]")) {
    const [first, last] = button.dataset.window.split(" ").map(Number);
    button.hidden = false;
    button.addEventListener("click", () => {
      const around = (last - first) * AROUND;
      show(first - around - data.start, last - first + 2 * around);
      canvas.focus({ preventScroll: true });
      figure.scrollIntoView({ block: "center" });
    });
  }

  // ---- in place of the picture

  figure.timeline = {
    show: (first, last) => show(first - data.start, last - first),
    shown: () => ({ from: data.start + from, to: data.start + to, isAll: to - from >= data.length * 0.999999, bin: level().bin }),
    events: () => words.events(from, to, level()),
  };
  figure.classList.add("is-live");
  figure.querySelector(".timeline-live").hidden = false;
  new ResizeObserver(() => { if (canvas.parentElement.clientWidth !== width) request(); }).observe(canvas.parentElement);
  const repaint = () => { paint = null; request(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("themechange", repaint);
  addEventListener("DOMContentLoaded", () => { if (isShared() || level() !== levels[0]) request(); });
  request();
})();
