// Everything is made of elements and text nodes: what a model said is never read as HTML.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function svg(name, attributes = {}, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const SIDE = 16, TOP = 30;

function path(xs, ys) {
  return xs.map((x, k) => `${k ? "L" : "M"}${x.toFixed(1)} ${ys[k].toFixed(1)}`).join("");
}

// Drawn at the size it is shown in, so that letters keep theirs on a phone.
function canvas(holder, height, labelledBy) {
  const width = Math.max(280, Math.min(620, holder.clientWidth || 460));
  return [svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": labelledBy }), width];
}

// Round values from 0 to `reach` and, for the last, up to one step beyond: at most `most` steps.
export function ticks(reach, most) {
  const unit = 10 ** Math.floor(Math.log10(reach / most));
  const step = unit * [1, 2, 5, 10].find((each) => reach / (unit * each) <= most + 1e-9);
  const found = [];
  for (let k = 0; k <= Math.ceil(reach / step - 1e-9); k += 1) found.push(Number((k * step).toPrecision(6)));
  return found;
}

// The belief as a curve, the ones before it as ghosts, its interval, its mean and the threshold.
export function drawBelief(holder, now, before, threshold, other) {
  const height = 260, base = height - 60;
  const [picture, width] = canvas(holder, height, "curve-text");
  const reach = Math.max(threshold * 1.4, ...[now, ...before, other].filter(Boolean).map((e) => e.curve?.reach ?? e.mean * 1.4));
  const x = (value) => SIDE + (width - 2 * SIDE) * Math.min(1, value / reach);
  // The square root keeps a sharp peak at 0 from flattening everything else; only the shape is read off it.
  const lift = (density) => Math.sqrt(Math.max(0, density));
  const tallest = Math.max(0.5, ...[now, other, ...before].filter((e) => e?.curve).flatMap((e) => e.curve.density.map(lift)));
  const y = (density) => base - (base - TOP) * Math.min(1, lift(density) / tallest);
  const line = (entropy, kind) => {
    if (!entropy?.curve) return;
    picture.append(svg("path", { class: kind, d: path(entropy.curve.x.map(x), entropy.curve.density.map(y)) }));
  };
  before.forEach((entropy) => line(entropy, "ghost"));
  if (now.curve) {
    const shape = path(now.curve.x.map(x), now.curve.density.map(y));
    picture.append(svg("path", { class: "area", d: `${shape}L${x(now.curve.x.at(-1))} ${base}L${x(0)} ${base}Z` }));
  }
  line(now, "density");
  line(other, "if");
  picture.append(svg("line", { class: "axis", x1: SIDE, x2: width - SIDE, y1: base, y2: base }));
  for (const tick of ticks(reach, 7).filter((each) => each <= reach)) {
    picture.append(svg("text", { x: x(tick), y: base + 32, "text-anchor": "middle" }, tick));
  }
  picture.append(svg("text", { x: width - SIDE, y: height - 6, "text-anchor": "end" }, "semantic entropy in nats"));
  picture.append(svg("line", { class: "threshold", x1: x(threshold), x2: x(threshold), y1: 4, y2: base }));
  const right = x(threshold) < width - 140; // the name stands on the side that has room for it
  picture.append(svg("text", {
    class: "threshold-name", x: x(threshold) + (right ? 5 : -5), y: 14, "text-anchor": right ? "start" : "end",
  }, `flagged above ${threshold.toFixed(2)}`));
  if (now.interval) {
    const [low, high] = now.interval;
    picture.append(svg("line", { class: "interval", x1: x(low), x2: x(high), y1: base + 9, y2: base + 9 }));
  }
  picture.append(svg("circle", { class: "mean", cx: x(now.mean), cy: base + 9, r: 6 }));
  holder.replaceChildren(picture);
}

// What the stopping rule looks at after each sample, and the level at which it stops: `target(drawn)`.
// `scale`: where the axis begins and ends, the values it names, and how they are written.
export function drawProgress(holder, points, target, scale, labelledBy) {
  const height = 150, top = 28, base = height - 40, left = 46;
  const [picture, width] = canvas(holder, height, labelledBy);
  const first = points[0].drawn, last = Math.max(first + 1, points.at(-1).drawn);
  const x = (drawn) => left + 8 + (width - left - SIDE - 16) * ((drawn - first) / (last - first));
  const y = (value) => base - (base - top) * Math.max(0, Math.min(1, (value - scale.from) / (scale.to - scale.from)));
  for (const tick of scale.ticks) {
    picture.append(svg("line", { class: "axis", x1: left, x2: width - SIDE, y1: y(tick), y2: y(tick) }));
    picture.append(svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, scale.write(tick)));
  }
  const levels = points.map((point) => y(target(point.drawn)));
  const edges = [left, ...points.map((point) => x(point.drawn)), width - SIDE];
  picture.append(svg("path", { class: "target", d: path(edges, [levels[0], ...levels, levels.at(-1)]) }));
  picture.append(svg("path", { class: "track", d: path(points.map((point) => x(point.drawn)), points.map((point) => y(point.value))) }));
  for (const point of points) picture.append(svg("circle", { class: "point", cx: x(point.drawn), cy: y(point.value), r: 3.5 }));
  picture.append(svg("text", { x: 4, y: 12 }, scale.title));
  picture.append(svg("text", { class: "target-name", x: width - SIDE, y: 12, "text-anchor": "end" }, `stops at ${scale.write(target(points.at(-1).drawn))}`));
  const each = Math.ceil((last - first) / 10);
  for (let drawn = first; drawn <= last; drawn += each) {
    picture.append(svg("text", { x: x(drawn), y: base + 18, "text-anchor": "middle" }, drawn));
  }
  picture.append(svg("text", { x: width - SIDE, y: height - 6, "text-anchor": "end" }, "samples drawn"));
  holder.replaceChildren(picture);
}

// The methods that have a line, in the order of preference; the table has the others too.
const COLOURS = {
  bayes: "#0072B2", agreement: "#56B4E9", "bayes-paper": "#D55E00", histogram: "#808080", rescaled: "#009E73",
  "log-likelihood": "#CC79A7", "p-true": "#E69F00", length: "#7F7F7F",
};
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4", "1 4", "12 4"];

// AUROC against the number of samples, with a line for each method. The first one's 95% interval is a band: several
// would cover each other, and the table has them all.
export function drawStudy(holder, every) {
  const has = new Set(every.map((row) => row.estimator)), known = Object.keys(COLOURS).filter((name) => has.has(name));
  const names = known.length ? known : [...has].slice(0, DASHES.length);
  const rows = every.filter((row) => names.includes(row.estimator));
  const budgets = [...new Set(rows.map((row) => row.budget))].sort((a, b) => a - b);
  const values = rows.flatMap((row) => (row.estimator === names[0] ? [row.auroc, row.low, row.high] : [row.auroc]));
  const low = Math.floor(Math.min(...values) * 20) / 20, high = Math.ceil(Math.max(...values) * 20 + 1e-9) / 20;
  const height = 300, left = 44, right = 130, bottom = height - 40;
  const span = budgets.at(-1) - budgets[0] || 1;
  const x = (budget) => left + (620 - left - right) * ((budget - budgets[0]) / span);
  const y = (value) => bottom - (bottom - 26) * ((value - low) / (high - low || 1));
  const picture = svg("svg", { viewBox: `0 0 620 ${height}`, role: "img", "aria-labelledby": "study-text" });
  const between = high - low > 0.35 ? 0.1 : 0.05;
  for (let tick = Math.ceil(low / between - 1e-9) * between; tick <= high + 1e-9; tick += between) {
    picture.append(svg("line", { class: "axis", x1: left, x2: 620 - right, y1: y(tick), y2: y(tick) }));
    picture.append(svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, tick.toFixed(2)));
  }
  for (const budget of budgets) {
    picture.append(svg("text", { x: x(budget), y: bottom + 18, "text-anchor": "middle" }, budget));
  }
  picture.append(svg("text", { x: 620 - right, y: height - 4, "text-anchor": "end" }, "samples per question"));
  picture.append(svg("text", { x: 4, y: 10 }, "AUROC"));
  const ends = [];
  names.forEach((name, k) => {
    const mine = rows.filter((row) => row.estimator === name).sort((a, b) => a.budget - b.budget);
    const stroke = COLOURS[name] ?? "#888888";
    if (k === 0) {
      const there = mine.map((row) => x(row.budget)), top = mine.map((row) => y(row.high)), under = mine.map((row) => y(row.low));
      picture.append(svg("path", {
        class: "band", fill: stroke, d: `${path([...there, ...there.slice().reverse()], [...top, ...under.reverse()])}Z`,
      }));
    }
    picture.append(svg("path", {
      class: "line", stroke, "stroke-dasharray": DASHES[k % DASHES.length],
      d: path(mine.map((row) => x(row.budget)), mine.map((row) => y(row.auroc))),
    }));
    ends.push({ name, stroke, dash: DASHES[k % DASHES.length], at: y(mine.at(-1).auroc) });
  });
  ends.sort((a, b) => a.at - b.at);
  let last = -Infinity;
  for (const end of ends) { // names stand beside their lines, none on top of another
    last = Math.max(end.at, last + 16);
    const start = 620 - right + 6;
    picture.append(svg("path", { class: "line", stroke: end.stroke, "stroke-dasharray": end.dash, d: `M${start} ${last}h18` }));
    picture.append(svg("text", { x: start + 22, y: last + 4 }, end.name));
  }
  holder.replaceChildren(picture);
  return names[0];
}

export function studyTable(rows) {
  const names = [...new Set(rows.map((row) => row.estimator))];
  const budgets = [...new Set(rows.map((row) => row.budget))].sort((a, b) => a - b);
  const head = element("tr", {}, element("th", { scope: "col" }, "estimator"),
    ...budgets.map((budget) => element("th", { scope: "col" }, String(budget))));
  const body = names.map((name) => element("tr", {}, element("th", { scope: "row" }, name), ...budgets.map((budget) => {
    const cell = rows.find((row) => row.estimator === name && row.budget === budget);
    const bounds = cell ? `${cell.low.toFixed(2)} to ${cell.high.toFixed(2)}` : "";
    return element("td", { title: bounds }, cell ? `${cell.auroc.toFixed(3)} ± ${cell.half_width.toFixed(2)}` : "");
  })));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}
