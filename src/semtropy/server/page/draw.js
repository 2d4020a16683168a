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

const WIDTH = 460, HEIGHT = 250, LEFT = 12, RIGHT = 12, TOP = 22, BOTTOM = 44;

function path(xs, ys) {
  return xs.map((x, k) => `${k ? "L" : "M"}${x.toFixed(1)} ${ys[k].toFixed(1)}`).join("");
}

// The belief as a curve, the ones before it as ghosts, its interval, its mean and the threshold.
export function drawBelief(holder, now, before, threshold, other) {
  const reach = Math.max(threshold * 1.4, ...[now, ...before, other].filter(Boolean).map((e) => e.curve?.reach ?? e.mean * 1.4));
  const x = (value) => LEFT + (WIDTH - LEFT - RIGHT) * Math.min(1, value / reach);
  const base = HEIGHT - BOTTOM;
  // The square root keeps a sharp peak at 0 from flattening everything else; only the shape is read off it.
  const lift = (density) => Math.sqrt(Math.max(0, density));
  const tallest = Math.max(0.5, ...[now, other].filter((e) => e?.curve).flatMap((e) => e.curve.density.map(lift)));
  const y = (density) => base - (base - TOP) * Math.min(1, lift(density) / tallest);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-labelledby": "curve-text" });
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
  picture.append(svg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: base, y2: base }));
  for (let tick = 0; tick <= reach + 1e-9; tick += reach > 3.5 ? 1 : 0.5) {
    picture.append(svg("text", { x: x(tick), y: base + 30, "text-anchor": "middle" }, tick.toFixed(1)));
  }
  picture.append(svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 1, "text-anchor": "end" }, "semantic entropy, nats"));
  picture.append(svg("line", { class: "threshold", x1: x(threshold), x2: x(threshold), y1: TOP - 6, y2: base }));
  picture.append(svg("text", { class: "threshold-name", x: x(threshold) + 5, y: TOP + 2 }, `flagged above ${threshold.toFixed(2)}`));
  if (now.interval) {
    const [low, high] = now.interval;
    picture.append(svg("line", { class: "interval", x1: x(low), x2: x(high), y1: base + 8, y2: base + 8 }));
  }
  picture.append(svg("circle", { class: "mean", cx: x(now.mean), cy: base + 8, r: 6 }));
  holder.replaceChildren(picture);
}

// What the stopping rule watches, sample by sample, and the level at which it stops.
export function drawProgress(holder, points, target, name, labelledBy) {
  const height = 96, top = 16, base = height - 22;
  const most = Math.max(target, ...points.map((point) => point.value)) * 1.08 || 1;
  const last = Math.max(2, points.at(-1).drawn);
  const x = (drawn) => LEFT + 10 + (WIDTH - LEFT - RIGHT - 20) * ((drawn - 1) / (last - 1));
  const y = (value) => base - (base - top) * Math.min(1, value / most);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-labelledby": labelledBy });
  picture.append(svg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: base, y2: base }));
  picture.append(svg("line", { class: "target", x1: LEFT, x2: WIDTH - RIGHT, y1: y(target), y2: y(target) }));
  picture.append(svg("path", { class: "track", d: path(points.map((point) => x(point.drawn)), points.map((point) => y(point.value))) }));
  for (const point of points) picture.append(svg("circle", { class: "point", cx: x(point.drawn), cy: y(point.value), r: 3.5 }));
  // The name stands where the points are not: they come down to the level from above, or climb to it.
  const falling = points[0].value >= target;
  const [side, anchor] = falling || points.length === 1 ? [WIDTH - RIGHT, "end"] : [LEFT, "start"];
  picture.append(svg("text", { class: "target-name", x: side, y: falling ? top : y(target) + 15, "text-anchor": anchor }, name));
  for (let drawn = 1; drawn <= last; drawn += Math.ceil(last / 10)) {
    picture.append(svg("text", { x: x(drawn), y: height - 4, "text-anchor": "middle" }, drawn));
  }
  holder.replaceChildren(picture);
}

const COLOURS = {
  bayes: "#0072B2", "bayes-paper": "#D55E00", histogram: "#808080", rescaled: "#009E73", "rescaled-length": "#56B4E9",
  "log-likelihood": "#CC79A7", "p-true": "#E69F00", length: "#7F7F7F",
};
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4", "1 4", "12 4"];

// AUROC against the number of samples, one line an estimator.
export function drawStudy(holder, rows) {
  const names = [...new Set(rows.map((row) => row.estimator))];
  const budgets = [...new Set(rows.map((row) => row.budget))].sort((a, b) => a - b);
  const values = rows.map((row) => row.auroc);
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
  picture.append(svg("text", { x: 620 - right, y: height - 4, "text-anchor": "end" }, "samples a question"));
  picture.append(svg("text", { x: 4, y: 10 }, "AUROC"));
  const ends = [];
  names.forEach((name, k) => {
    const mine = rows.filter((row) => row.estimator === name).sort((a, b) => a.budget - b.budget);
    const stroke = COLOURS[name] ?? "#888888";
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
}

export function studyTable(rows) {
  const names = [...new Set(rows.map((row) => row.estimator))];
  const budgets = [...new Set(rows.map((row) => row.budget))].sort((a, b) => a - b);
  const head = element("tr", {}, element("th", { scope: "col" }, "estimator"),
    ...budgets.map((budget) => element("th", { scope: "col" }, String(budget))));
  const body = names.map((name) => element("tr", {}, element("th", { scope: "row" }, name), ...budgets.map((budget) => {
    const cell = rows.find((row) => row.estimator === name && row.budget === budget);
    return element("td", {}, cell ? cell.auroc.toFixed(3) : "");
  })));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}
