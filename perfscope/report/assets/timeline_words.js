// What a timeline says in words and as events: moments, lengths, and what is in a stretch of a row.
const timelineWords = (data, levels, codes) => {
  "use strict";
  const { NOBODY, MOST_PARTS, MOST_ROWS, MOST_CELLS, NEARLY, FIRST, LETTERS } = timelineWords;
  const finest = levels[levels.length - 1];

  function number(value, digits) {
    const most = Math.min(digits, 9);
    return value.toLocaleString("en-US", { minimumFractionDigits: most, maximumFractionDigits: most });
  }

  function moment(time, bin) {
    const digits = Math.max(0, Math.ceil(-Math.log10(bin / data.factor)));
    return `${number((data.start + time) / data.factor, digits)}\u00a0${data.unit}`;
  }

  function length(time) {
    for (const [factor, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]) {
      if (time >= factor * 0.9995) return `${Number((time / factor).toPrecision(3))}\u00a0${unit}`;
    }
    return "0 s";
  }

  // Neighboring bins with one majority are no single event: the finest level tells what is in them.
  function counted(row, begin, finish, counts = new Map()) {
    const { bin, cells } = finest, own = cells[row];
    const last = Math.min(Math.max(Math.round(finish / bin), Math.round(begin / bin) + 1), own.length);
    for (let place = Math.min(Math.round(begin / bin), last - 1); place < last; place += 1) {
      counts.set(own[place], (counts.get(own[place]) ?? 0) + 1);
    }
    return counts;
  }

  const name = account => account === NOBODY ? "the process was not there" : data.accounts[account].label;
  const share = part => part < 0.005 ? "< 1\u00a0%" : `${Math.round(100 * part)}\u00a0%`;
  const inside = label => `${label.charAt(0).toLowerCase()}${label.slice(1)}`;

  function shares(counts) {
    const parts = [...counts].sort((a, b) => b[1] - a[1]);
    const all = parts.reduce((sum, [, count]) => sum + count, 0);
    const told = parts.slice(0, MOST_PARTS).map(([account, count]) => `${share(count / all)} ${inside(name(account))}`);
    return told.join(", ") + (parts.length > MOST_PARTS ? " and more" : "");
  }

  function content(row, begin, finish) {
    const counts = counted(row, begin, finish);
    const [[most, count]] = [...counts].sort((a, b) => b[1] - a[1]);
    const all = [...counts.values()].reduce((sum, one) => sum + one, 0);
    if (counts.size === 1) return name(most);
    return count / all < NEARLY ? `mixed: ${shares(counts)}` : `${name(most)} (over 99\u00a0%)`;
  }

  // Whether two stretches hold one category alone, and the same.
  function isAlike(row, one, other) {
    const [mine, others] = [counted(row, ...one), counted(row, ...other)];
    return mine.size === 1 && others.size === 1 && others.has(mine.keys().next().value);
  }

  // The step that is under way, of the rank whose steps the ruler shows.
  function step(time) {
    const before = data.steps.filter(([, start]) => start <= time);
    return before.length ? `, step ${before[before.length - 1][0]}` : "";
  }

  // What a rank did at a moment: phase, line, call, and for whom it waited.
  function behind(row, time) {
    const at = 2 * Math.min(Math.floor(time / (data.behind?.bin ?? Infinity)), codes(row).length / 2 - 1);
    const [high, low] = [0, 1].map(next => codes(row).charCodeAt(at + next) - FIRST);
    const told = data.behind?.words[high * LETTERS + low];
    return told ? `. Here: ${told}` : "";
  }

  // What a selected stretch holds: rank by rank where they are few, and together.
  function sums(begin, finish, bin) {
    const together = new Map(), told = [];
    data.rows.forEach((row, place) => {
      counted(place, begin, finish, together);
      if (data.rows.length <= MOST_ROWS) told.push(`${row.name}: ${shares(counted(place, begin, finish))}`);
    });
    if (data.rows.length > 1) told.push(`all ranks: ${shares(together)}`);
    return `Selected ${moment(begin, bin)} to ${moment(finish, bin)} (${length(finish - begin)}). ${told.join("; ")}.`;
  }

  // The same as a trace in Chrome's JSON, from the finest bins where these are not too many.
  function events(begin, finish, level) {
    const { bin, cells } = (finish - begin) / finest.bin * data.rows.length <= MOST_CELLS ? finest : level;
    const first = Math.max(Math.floor(begin / bin), 0), found = [];
    const micro = time => Math.round((data.start + time) * 1e9) / 1e3;
    data.rows.forEach((row, pid) => {
      const own = cells[pid], last = Math.min(Math.ceil(finish / bin), own.length);
      found.push({ ph: "M", name: "process_name", pid, tid: 0, args: { name: row.name } });
      for (let place = first; place < last;) {
        const account = own[place], start = place;
        do place += 1; while (place < last && own[place] === account);
        if (account === NOBODY) continue;
        const ts = micro(start * bin);
        found.push({ ph: "X", name: name(account), cat: "account", pid, tid: 0, ts, dur: micro(place * bin) - ts });
      }
    });
    for (const [number, start] of data.steps) {
      if (start >= begin && start <= finish) found.push({ ph: "i", s: "g", name: `step ${number}`, pid: 0, tid: 0, ts: micro(start) });
    }
    return found;
  }

  return { number, moment, length, content, isAlike, step, behind, sums, events };
};
timelineWords.NOBODY = 255; // of a bin in which the process was not there
timelineWords.FIRST = 97; // the letter a
timelineWords.LETTERS = 26; // two of which name what stands behind a bin
timelineWords.NEARLY = 0.995; // of a stretch: the rest is not worth naming
timelineWords.MOST_PARTS = 3; // of a mixed stretch that are named
timelineWords.MOST_ROWS = 4; // that are told one by one
timelineWords.MOST_CELLS = 200000; // that are saved as events
