// What passes through the gateway, read anew every two seconds while it is shown.

import { element, svg } from "./draw.js";
import { get } from "./talk.js";
import { percent, plural } from "./words.js";

const at = (id) => document.getElementById(id);
const EVERY = 2000; // milliseconds
const OUTCOMES = { steady: "steady", flagged: "flagged", undecided: "undecided", "no answer": "missing", error: "error", "not checked": "missing" };
const ORDER = ["steady", "undecided", "flagged", "no answer", "error"];
const ENOUGH = 20; // times of which 95% are less than all
let timer = null, shownHour = null;

const number = (value) => (value >= 10_000 ? `${(value / 1000).toFixed(value >= 100_000 ? 0 : 1)}k` : `${Math.round(value)}`);
const seconds = (value) => (value === null ? "–" : value < 0.1 ? `${(1000 * value).toFixed(0)} ms` : `${value.toFixed(value < 10 ? 2 : 0)} s`);

function tile(name, value, about) {
  return element("div", { class: "tile" }, element("dt", {}, name), element("dd", {}, element("strong", {}, value), element("span", { class: "quiet" }, about)));
}

function tiles({ totals, latency }) {
  const { checks, verdicts, sources } = totals, failed = checks.error ?? 0;
  const fresh = sources.new ?? 0, reused = (sources.cached ?? 0) + (sources.shared ?? 0);
  const share = totals.flagged_share === null ? "–" : `${percent(totals.flagged_share)}%`;
  const second = totals.second_answers ? `, ${plural(totals.second_answers, "answer")} of the second model` : "";
  const within = ({ count, p95 }, none) => (count === 0 ? none : count < ENOUGH ? `median of ${count}` : `median; 95% within ${seconds(p95)}`);
  at("tiles").replaceChildren(
    tile("Checks", number(verdicts), `${plural(totals.requests, "request")}, ${reused} from the cache, ${failed} failed`),
    tile("Flagged", share, `${checks.flagged ?? 0} of ${verdicts}, ${checks.undecided ?? 0} undecided, ${totals.blocked} withheld`),
    tile("Samples", fresh ? (totals.samples / fresh).toFixed(1) : "–", `for each check; ten each would be ${number(totals.samples_saved)} more`),
    tile("Tokens", number(totals.tokens), `generated for checks${second}`),
    tile("Time of a check", seconds(latency.check.median), within(latency.check, "none has finished yet")),
    tile("First byte", seconds(latency.first_byte.median), within(latency.first_byte, "no answer has passed yet")),
  );
}

function hour(minutes) {
  const width = Math.max(280, at("hour").clientWidth || 600), height = 110, base = height - 20;
  const sums = minutes.map((minute) => ORDER.reduce((sum, each) => sum + (minute[each] ?? 0), 0));
  const total = sums.reduce((a, b) => a + b, 0), most = Math.max(1, ...sums), step = width / minutes.length;
  at("hour-part").hidden = total === 0;
  if (!total) return;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "hour-title hour-text" });
  picture.append(svg("line", { class: "axis", x1: 0, x2: width, y1: base + 0.5, y2: base + 0.5 }));
  minutes.forEach((minute, k) => {
    let y = base;
    for (const outcome of ORDER) {
      const tall = ((minute[outcome] ?? 0) / most) * (base - 16);
      if (!tall) continue;
      y -= tall;
      picture.append(svg("rect", { class: `bar ${OUTCOMES[outcome]}`, x: k * step + 0.5, width: Math.max(1, step - 1.5), y, height: tall }));
    }
  });
  picture.append(svg("text", { x: 0, y: 11 }, `${most} a minute at most`));
  picture.append(svg("text", { x: 0, y: height - 4 }, "an hour ago"), svg("text", { x: width, y: height - 4, "text-anchor": "end" }, "now"));
  at("hour").replaceChildren(picture);
  const counted = ORDER.map((each) => [each, minutes.reduce((sum, minute) => sum + (minute[each] ?? 0), 0)]).filter(([, count]) => count);
  at("hour-text").replaceChildren(...counted.map(([each, count]) => element("span", { class: `key ${OUTCOMES[each]}` }, `${each} ${count}`)));
}

const COLUMNS = [
  ["Time", (row) => new Date(1000 * row.time).toLocaleTimeString()],
  ["Verdict", (row) => pill(row)],
  ["Asked again", (row) => again(row)],
  ["Model", (row) => row.model],
  ["Samples", (row) => row.samples ?? ""],
  ["Tokens", (row) => row.tokens ?? ""],
  ["Seconds", (row) => row.seconds?.toFixed(1) ?? ""],
  ["Route", (row) => row.route + (row.source && row.source !== "new" ? `, ${row.source}` : "")],
];
const LESS = new Set(["Model", "Samples", "Tokens", "Seconds", "Route"]); // not on a narrow screen
const NUMBERS = new Set(["Samples", "Tokens", "Seconds"]);

function again(row) {
  if (row.claims) return `${row.claims_flagged} of ${row.claims} claims flagged`;
  if (row.agreement === null || row.outcome === "no answer") return "";
  const second = typeof row.second === "number" ? `; other model ${percent(row.second)}` : "";
  return `${percent(row.agreement)} in 100${second}`;
}

function pill(row) {
  const said = row.outcome === "error" ? `error: ${row.error}` : row.outcome;
  return element("span", { class: `pill small ${OUTCOMES[row.outcome] ?? ""}` }, row.blocked ? `${said}, withheld` : said);
}

// Question and answer below their figures, where there is room for them.
function said({ question, answer }) {
  const inside = element("td", { colspan: COLUMNS.length }, element("p", {}, question ?? ""));
  if (answer) inside.append(element("p", { class: "quiet" }, answer));
  return element("tr", { class: "texts" }, inside);
}

function latest({ latest: rows, texts, processes }) {
  const note = rows === null
    ? "They are those of all clients, and shown to the operator: give one of the gateway’s operator_keys above."
    : `${rows.length ? "" : "None yet: this page shows them as they come. "}${texts ? "" : "Without questions and answers, unless the gateway is started with --traffic texts."}`;
  at("latest-note").textContent = `${note}${processes > 1 && rows ? ` Those of one of ${processes} processes.` : ""}`;
  at("latest").hidden = !rows?.length;
  if (!rows?.length) return;
  const cell = (kind, [name], ...inside) => element(kind, { ...(kind === "th" ? { scope: "col" } : {}), class: `${LESS.has(name) ? "less" : ""} ${NUMBERS.has(name) ? "number" : ""}` }, ...inside);
  const head = element("tr", {}, ...COLUMNS.map((column) => cell("th", column, column[0])));
  const body = rows.flatMap((row) => {
    const figures = element("tr", {}, ...COLUMNS.map((column) => cell("td", column, column[1](row))));
    return texts ? [figures, said(row)] : [figures];
  });
  const held = at("latest").scrollLeft;
  at("latest").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
  at("latest").scrollLeft = held;
}

async function read(askForKey) {
  try {
    const found = await get("api/traffic");
    at("traffic-trouble").hidden = true;
    const since = new Date(1000 * found.since);
    at("traffic-lead").textContent = `What passes through this gateway, since ${since.toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}.`;
    tiles(found);
    hour(shownHour = found.hour);
    latest(found);
    if (found.latest === null) askForKey();
  } catch (error) {
    at("traffic-trouble").textContent = `The traffic cannot be read: ${error.message.replace(/\.$/, "")}.`;
    at("traffic-trouble").hidden = false;
    if (error.status === 401) askForKey();
  }
}

addEventListener("resize", () => { if (shownHour) hour(shownHour); });

// Reads at once and then again and again, until `unwatch`; a hidden window waits.
export function watch(askForKey) {
  unwatch();
  read(askForKey);
  timer = setInterval(() => { if (!document.hidden) read(askForKey); }, EVERY);
}

export function unwatch() {
  clearInterval(timer);
}
