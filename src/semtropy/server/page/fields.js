// The fields of a structured answer as a table: verdict, agreement, what else samples said.

import { element } from "./draw.js";
import { percent } from "./words.js";

export const OUTCOMES = { steady: "steady", flagged: "flagged", undecided: "undecided", "no answer": "missing" };
const FIELD = ["Field", "Value", "Verdict", "Samples that agree", "Asked again", "Other values"];

const said = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function row({ name, value, required, outcome, agreement, meanings }) {
  const drawn = meanings.reduce((sum, each) => sum + each.count, 0);
  const own = meanings.filter((each) => each.has_answer).reduce((sum, each) => sum + each.count, 0);
  const others = meanings.filter((each) => !each.has_answer && each.count > 0).sort((a, b) => b.count - a.count);
  const title = element("th", { scope: "row" }, name);
  if (!required) title.append(element("span", { class: "quiet" }, " (not required)"));
  const missing = outcome === "no answer";
  const left = name.endsWith("[+]") ? `without ${said(value)}` : said(value);
  return element("tr", { class: OUTCOMES[outcome] ?? "" }, title,
    element("td", { class: "value" }, missing ? "not in the answer" : left),
    element("td", { class: "outcome" }, outcome === null ? "…" : verdict(outcome)),
    element("td", {}, drawn ? `${own} of ${drawn}` : "none drawn"),
    element("td", {}, agreement && !missing ? `${percent(agreement.mean)} in 100` : ""),
    element("td", { class: "value" }, others.map((each) => (each.count > 1 ? `${each.text} ×${each.count}` : each.text)).join(", ")));
}

export function verdict(outcome) {
  return { flagged: "do not trust", "no answer": "missing" }[outcome] ?? outcome;
}

export function table(holder, titles, rows) {
  const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
  holder.replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

export const drawFields = (holder, fields) => table(holder, FIELD, fields.map(row));
