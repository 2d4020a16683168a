// The page: a question goes out, steps come in and are drawn; the same samples can be looked at under other terms.

import { drawBelief, drawProgress, drawStudy, element, studyTable } from "./draw.js";
import { forget, past, remember } from "./past.js";
import { Refused, events, get, post, upload, useKey } from "./talk.js";

const at = (id) => document.getElementById(id);
const STARTS = { variance: "0.1", confidence: "0.9", samples: "5" };
let shown = null; // the check on the page: prompt, terms, samples, meanings, entropies, verdict
let under = null; // what can stop the check under way

function rule(kind, value) {
  return { [kind]: kind === "samples" ? Math.max(1, Math.round(value)) : value };
}

function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function say(text) {
  at("status").textContent = text;
}

function trouble(error) {
  return `That did not work: ${error.message.replace(/\.$/, "")}.`;
}

function complain(error) {
  at("trouble").textContent = trouble(error);
  at("trouble").hidden = false;
  say("");
  if (error instanceof Refused && error.status === 401) {
    at("key-row").hidden = false;
    at("key").focus();
  }
}

function asked() {
  const body = {
    prompt: at("question").value, stream: true, one_by_one: true,
    rule: rule(at("rule").value, Number(at("rule-value").value)),
    budget: { samples: Number(at("budget").value) },
  };
  // Left as it was, the operator's own flagging applies, calibrated where there is a curve for it.
  if (at("threshold").value !== at("threshold").defaultValue) body.threshold = Number(at("threshold").value);
  if (!at("model-row").hidden && at("model-name").value) body.model = at("model-name").value;
  return body;
}

async function check(event) {
  event.preventDefault();
  useKey(at("key").value);
  under?.abort();
  under = new AbortController();
  at("trouble").hidden = true;
  at("check").disabled = true;
  at("stop").hidden = false;
  const body = asked();
  shown = { prompt: body.prompt, threshold: body.threshold, samples: [], entropies: [], track: [], meanings: [], verdict: null, terms: null };
  clear();
  at("status").className = "";
  say("Asking the model…");
  try {
    for await (const { name, data } of events("v1/check", body, under.signal)) {
      if (name === "terms") shown.terms = data;
      if (name === "step") step(data);
      if (name === "verdict") finish(data);
      if (name === "error") throw new Refused(502, data.error.message);
    }
    if (!shown.verdict) throw new Error("the gateway broke off before the verdict");
  } catch (error) {
    if (error.name === "AbortError") say("Stopped.");
    else complain(error);
  } finally {
    at("check").disabled = false;
    const lost = [at("stop"), document.body].includes(document.activeElement);
    at("stop").hidden = true;
    if (lost) at("check").focus(); // whoever pressed a button that is gone goes on from the other
  }
}

function clear() {
  for (const id of ["meanings", "curve", "progress", "notes"]) at(id).replaceChildren();
  for (const id of ["sentence", "because", "cost", "curve-text", "rule-text", "if-outcome"]) at(id).textContent = "";
  at("verdict").className = "";
  at("what-if").hidden = true;
  at("result").hidden = true;
}

function step(data) {
  shown.samples.push(...data.samples);
  shown.meanings = data.meanings;
  shown.answer = data.answer;
  shown.entropies.push(data.entropy);
  shown.track.push({ drawn: data.drawn, variance: data.entropy.variance, above: data.entropy.above });
  shown.drawn = data.drawn;
  at("result").hidden = false;
  at("sentence").textContent = `${plural(data.drawn, "sample")} so far, ${plural(data.meanings.length, "meaning")}`;
  say(`${plural(data.drawn, "sample")}, ${plural(data.meanings.length, "meaning")}.`);
  for (const sample of data.samples) settle(sample);
  count();
  belief();
}

function settle(sample) {
  let card = at("meanings").children[sample.meaning];
  while (!card) {
    card = element("li", { class: "meaning" },
      element("div", { class: "head" }, element("span", { class: "name" }), element("span", { class: "count" })),
      element("div", { class: "bar", "aria-hidden": "true" }, element("span")), element("ul"));
    at("meanings").append(card);
    card = at("meanings").children[sample.meaning];
  }
  card.querySelector("ul").append(element("li", { class: "sample" }, sample.text || "(empty)"));
}

function count() {
  shown.meanings.forEach((meaning, k) => {
    const card = at("meanings").children[k];
    card.classList.toggle("single", meaning.count === 1); // its only sample is its name
    card.querySelector(".name").textContent = meaning.text || "(empty)";
    card.querySelector(".count").textContent = `${meaning.count} of ${shown.drawn}`;
    card.querySelector(".bar span").style.width = `${(100 * meaning.count) / Math.max(1, shown.drawn)}%`;
  });
}

function belief(other) {
  const now = shown.entropies.at(-1);
  const threshold = shown.terms.threshold;
  drawBelief(at("curve"), now, shown.entropies.slice(-5, -1), threshold, other);
  const between = now.interval ? `, with 90% between ${now.interval[0].toFixed(2)} and ${now.interval[1].toFixed(2)}` : "";
  at("curve-text").textContent = `Semantic entropy ${now.mean.toFixed(2)} nats${between}; flagged above ${threshold.toFixed(2)}.`;
  at("rule-text").textContent = ruleText(shown.terms.rule, now);
  progress(shown.terms.rule);
}

function progress({ kind, gamma, confidence, n }) {
  const [value, target, name] = {
    VarianceBelow: [(point) => point.variance, gamma, `stops at a variance of ${gamma}`],
    Decided: [(point) => Math.max(point.above, 1 - point.above), confidence, `stops when ${(100 * confidence).toFixed(0)}% sure`],
  }[kind] ?? [(point) => point.drawn, n, `stops at ${plural(n, "sample")}`];
  const points = shown.track.map((point) => ({ drawn: point.drawn, value: value(point) }));
  if (points.every((point) => Number.isFinite(point.value))) drawProgress(at("progress"), points, target, name, "rule-text");
}

function ruleText(terms, now) {
  if (terms.kind === "VarianceBelow") {
    return `Samples until the variance is at most ${terms.gamma}; it is ${now.variance?.toFixed(3) ?? "not known"}.`;
  }
  if (terms.kind === "Decided") {
    const sure = Math.max(now.above, 1 - now.above);
    return `Samples until it is ${(100 * terms.confidence).toFixed(0)}% sure of the side of the threshold; it is ${(100 * sure).toFixed(0)}% sure.`;
  }
  return `Samples until ${plural(terms.n, "sample")} ${terms.n === 1 ? "is" : "are"} drawn.`;
}

function finish(verdict) {
  shown.verdict = verdict;
  remember({ ...shown, entropies: shown.entropies.slice(-5) });
  tell();
  list();
  say(verdict.sentence);
  at("status").className = "hidden"; // the heading shows it; this is for those who listen
}

function tell() {
  const verdict = shown.verdict;
  at("sentence").textContent = verdict.sentence;
  at("verdict").className = verdict.flagged ? "flagged" : "steady";
  at("because").textContent = verdict.reason;
  at("cost").textContent = cost(verdict);
  at("notes").replaceChildren(...verdict.warnings.map((note) => element("li", {}, note)));
  const samples = shown.samples.length;
  at("if-budget").max = samples; // before the value, which it bounds
  at("if-budget").value = samples;
  at("if-budget").disabled = samples === 1;
  at("if-budget-shown").value = plural(samples, "sample");
  at("if-hint").textContent = samples === 1
    ? "Only one sample was drawn: there is nothing to leave out. A smaller variance draws more."
    : "The same samples under other terms. The model is not asked again.";
  at("what-if").hidden = false;
}

function cost(verdict) {
  const { tokens, judge_calls: pairs, seconds } = verdict.cost;
  const spent = [plural(verdict.samples, "sample")];
  const ten = [];
  if (tokens !== null) {
    const each = shown.samples.reduce((sum, sample) => sum + (sample.tokens ?? 0), 0) / verdict.samples;
    spent.push(plural(tokens, "token"));
    ten.push(`about ${Math.round(tokens + each * (10 - verdict.samples))} tokens`);
  }
  spent.push(plural(pairs, "judged pair"), `${seconds.toFixed(1)} s`);
  ten.push(`about ${((10 * seconds) / verdict.samples).toFixed(1)} s`);
  const reused = verdict.source === "new" ? "" : " (from memory this time)";
  if (verdict.samples === 10) return `Cost: ${spent.join(", ")}${reused}, as much as a fixed ten.`;
  return `Cost: ${spent.join(", ")}${reused}. A fixed ten would have cost ${ten.join(" and ")}.`;
}

let turn = 0;
async function whatIf() {
  at("if-budget-shown").value = plural(Number(at("if-budget").value), "sample");
  const mine = ++turn;
  try {
    const found = await post("api/replay", {
      prompt: shown.prompt, answer: shown.answer, samples: shown.samples, one_by_one: true,
      rule: rule(at("if-rule").value, Number(at("if-value").value)),
      budget: { samples: Number(at("if-budget").value) }, threshold: shown.threshold,
    });
    if (mine !== turn) return;
    const { verdict } = found;
    at("if-outcome").textContent = `It would have stopped after ${plural(verdict.samples, "sample")}: `
      + `${verdict.flagged ? "flagged" : "steady"}, entropy ${verdict.entropy.mean.toFixed(2)} nats. ${verdict.reason}`;
    belief(found.step.entropy);
  } catch (error) {
    if (mine === turn) at("if-outcome").textContent = trouble(error);
  }
}

function list() {
  const held = past();
  at("past").hidden = held.length === 0;
  at("examples").hidden = held.length > 0;
  at("history").replaceChildren(...held.map((old) => {
    const again = element("button", { type: "button" }, old.verdict.question);
    again.addEventListener("click", () => recall(old));
    const word = old.verdict.flagged ? "flagged" : "steady";
    const mark = element("span", { class: old.verdict.flagged ? "flag" : "fine" }, ` ${word}, ${plural(old.verdict.samples, "sample")}`);
    return element("li", {}, again, mark);
  }));
}

function recall(old) {
  clear();
  shown = structuredClone(old);
  at("status").textContent = "";
  at("result").hidden = false;
  at("trouble").hidden = true;
  at("question").value = shown.prompt;
  shown.samples.forEach(settle);
  count();
  belief();
  tell();
  at("sentence").focus();
}

async function study() {
  const [file] = at("recording").files;
  if (!file) return;
  at("study-figure").hidden = true;
  at("study-status").textContent = "Evaluating: a few seconds for a few hundred questions…";
  useKey(at("key").value);
  try {
    const found = await upload("api/study", file);
    if (!found.rows.length) throw new Error(found.notes.join(" ") || "nothing in it could be evaluated");
    const [tested] = found.tested;
    drawStudy(at("study-chart"), found.rows);
    at("study-table").replaceChildren(studyTable(found.rows));
    const saving = found.saving.find((each) => each.estimator === "bayes")?.fraction;
    const reach = saving ? ` What histogram reaches with ten samples, bayes reaches with ${(10 * saving).toFixed(1)} on average.` : "";
    at("study-text").textContent = `${tested.model} on ${tested.dataset}: ${tested.questions} questions, ${tested.wrong} answered wrongly.${reach}`;
    at("study-figure").hidden = false;
    at("study-status").textContent = found.notes.join("; ");
  } catch (error) {
    at("study-status").textContent = trouble(error);
  }
}

function starts(kind, value) {
  at(kind).addEventListener("input", () => { at(value).value = STARTS[at(kind).value]; });
}

// What this gateway allows, for the controls to start from.
async function learn() {
  let about;
  try {
    about = await get("api/about");
  } catch (error) {
    if (error.status === 401) at("key-row").hidden = false;
    else complain(error);
    return;
  }
  at("model").textContent = `Model: ${about.model}.`;
  at("budget").value = at("budget").max = about.max_samples;
  at("question").maxLength = about.max_prompt;
  STARTS.variance = at("rule-value").value = at("if-value").value = String(about.variance);
  at("threshold").defaultValue = about.threshold.toFixed(3);
  at("model-row").hidden = !about.needs_model;
  at("study").hidden = about.max_upload === 0;
}

at("ask").addEventListener("submit", check);
at("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) at("ask").requestSubmit();
  if (event.key === "Enter" && !event.shiftKey) event.preventDefault();
});
at("stop").addEventListener("click", () => under?.abort());
starts("rule", "rule-value");
starts("if-rule", "if-value");
for (const id of ["if-rule", "if-value", "if-budget"]) at(id).addEventListener("input", whatIf);
at("clear").addEventListener("click", () => { forget(); list(); at("question").focus(); });
at("recording").addEventListener("change", study);
for (const example of document.querySelectorAll(".example")) {
  example.addEventListener("click", () => { at("question").value = example.textContent; at("ask").requestSubmit(); });
}
at("key").addEventListener("change", () => { useKey(at("key").value); learn(); });
list();
learn();
