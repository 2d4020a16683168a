// Everything is made of elements and text nodes: what a model said is never read as HTML.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function svg(name, attributes = {}, text) {
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
export function drawBelief(holder, now, before, threshold, other, labelledBy = "curve-text") {
  const height = 260, base = height - 60;
  const [picture, width] = canvas(holder, height, labelledBy);
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
  const height = 260, top = 34, base = height - 60, left = 46; // as high as the belief beside it
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
    picture.append(svg("text", { x: x(drawn), y: base + 32, "text-anchor": "middle" }, drawn));
  }
  picture.append(svg("text", { x: width - SIDE, y: height - 6, "text-anchor": "end" }, "samples drawn"));
  holder.replaceChildren(picture);
}
