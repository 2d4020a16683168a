// The page: a question goes out, steps come in and are drawn; the same samples can be looked at under other terms.

import { drawBelief, drawProgress, drawStudy, element, studyTable, ticks } from "./draw.js";
import { drawFields } from "./fields.js";
import { drawMeanings } from "./meanings.js";
import { forget, past, remember } from "./past.js";
import { Refused, events, get, post, upload, useKey } from "./talk.js";
import { agreementText, asked as askedFor, certainty, costText, entropyText, foundText, percent, plural, ruleText, UNIT } from "./words.js";

const at = (id) => document.getElementById(id);
const STARTS = { confidence: "0.95", variance: "0.1", samples: "5" };
const OUTCOMES = { steady: "steady", flagged: "flagged", undecided: "undecided", "no answer": "missing" };
let preset = null; // the gateway's own rule, as the form shows it
let shown = null; // the check on the page: prompt, terms, samples, answer, meanings, entropies, verdict
let under = null; // what can stop the check under way

// The rule that two controls stand for; undefined where they stand for the gateway's own.
function chosen(name, number) {
  const kind = at(name).value, value = Number(at(number).value);
  if (preset && kind === preset.kind && value === preset.value) return undefined;
  return { [kind]: kind === "samples" ? Math.max(1, Math.round(value)) : value };
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
    prompt: at("question").value, stream: true, one_by_one: true, budget: { samples: Number(at("budget").value) },
  };
  // Left as they were, the operator's own rule and flagging apply, calibrated where there is a curve for it.
  body.rule = chosen("rule", "rule-value");
  if (at("threshold").value !== at("threshold").defaultValue) body.threshold = Number(at("threshold").value);
  if (!at("model-row").hidden && at("model-name").value) body.model = at("model-name").value;
  const choices = at("choices").value.split(",").map((each) => each.trim()).filter(Boolean);
  if (choices.length) body.choices = choices;
  if (at("schema").value.trim()) body.schema = schema(at("schema").value);
  return body;
}

function schema(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`the schema is not JSON (${error.message})`);
  }
}

function submit(event) {
  event.preventDefault();
  begin(asked);
}

// A check of what the form says, or what is wrong with it.
function begin(body) {
  let made;
  try {
    made = body();
  } catch (error) {
    complain(error);
    return;
  }
  check(made);
}

async function check(body) {
  useKey(at("key").value);
  under?.abort();
  under = new AbortController();
  at("trouble").hidden = true;
  at("check").disabled = true;
  at("stop").hidden = false;
  shown = {
    prompt: body.prompt, threshold: body.threshold, drawn: 0, samples: [], entropies: [], track: [], meanings: [],
    answer: null, agreement: null, verdict: null, terms: null, fields: [], choices: at("choices").value, schema: at("schema").value,
  };
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
  for (const id of ["meanings", "curve", "progress", "notes", "fields"]) at(id).replaceChildren();
  for (const id of ["sentence", "agreement", "found", "because", "cost", "curve-text", "curve-key", "rule-text", "if-outcome"]) {
    at(id).textContent = "";
  }
  at("verdict").className = "";
  for (const id of ["what-if", "more", "agreement-scale", "result", "by-field"]) at(id).hidden = true;
}

function step(data) {
  shown.samples.push(...data.samples);
  Object.assign(shown, { meanings: data.meanings, answer: data.answer, agreement: data.agreement, drawn: data.drawn, fields: data.fields });
  shown.entropies.push(data.entropy);
  shown.track.push({ drawn: data.drawn, variance: data.entropy.variance, suspicion: data.suspicion });
  at("result").hidden = false;
  at("sentence").textContent = data.fields.length ? "Asking again, to judge each field" : `“${data.answer.text.trim() || "(empty)"}”`;
  say(`${data.fields.length ? `${plural(data.drawn, "sample")}.` : foundText(data.drawn, data.meanings)} Asking on…`);
  draw();
}

// All that a step changes: agreement, meanings, belief, and the rule's progress; of a structured answer, its fields.
function draw() {
  const fields = shown.verdict?.fields ?? shown.fields ?? [];
  at("by-field").hidden = fields.length === 0;
  at("whole").hidden = fields.length > 0;
  if (fields.length) {
    drawFields(at("fields"), fields);
    at("given").textContent = shown.answer.text;
    return;
  }
  const now = shown.entropies.at(-1), { threshold } = shown.terms, { other } = shown;
  agree();
  at("found").textContent = foundText(shown.drawn, shown.meanings, shown.verdict !== null);
  at("meanings-title").textContent = shown.drawn === 0 ? "The answer" : `Meanings of ${plural(shown.drawn, "sample")} and of the answer`;
  drawMeanings(at("meanings"), shown.meanings, shown.drawn);
  const before = shown.entropies.slice(-5, -1);
  drawBelief(at("curve"), now, before, threshold, other);
  at("curve-text").textContent = entropyText(now, threshold);
  at("curve-key").textContent = `${UNIT} Curve: how probable each entropy is; ring: its mean; bar: the 90% interval.`
    + `${before.length ? " Thin curves: some samples earlier." : ""}${other ? " Dotted: under the terms below." : ""}`;
  at("rule-text").textContent = ruleText(shown.terms.rule, shown.track.at(-1));
  progress(shown.terms.rule);
}

function agree() {
  const scale = at("agreement-scale");
  const agreement = shown.verdict?.outcome === "no answer" ? null : shown.agreement;
  at("agreement").textContent = agreementText(agreement);
  scale.hidden = !agreement;
  if (!agreement) return;
  const [low, high] = agreement.interval ?? [agreement.mean, agreement.mean];
  scale.querySelector(".range").style.left = `${100 * low}%`;
  scale.querySelector(".range").style.width = `${100 * (high - low)}%`;
  scale.querySelector(".dot").style.left = `${100 * agreement.mean}%`;
}

function progress(terms) {
  const { kind, gamma } = terms;
  at("progress").replaceChildren();
  const value = { VarianceBelow: (point) => point.variance, Decided: certainty }[kind];
  const points = value ? shown.track.map((point) => ({ drawn: point.drawn, value: value(point) })) : [];
  if (points.length < 2 || !points.every((point) => Number.isFinite(point.value))) return;
  if (kind === "Decided") {
    const scale = { from: 0.5, to: 1, ticks: [0.5, 0.75, 1], write: (v) => `${percent(v)}%`, title: "certainty of the verdict" };
    drawProgress(at("progress"), points, (drawn) => askedFor(terms, drawn), scale, "rule-text");
    return;
  }
  const named = ticks(Math.max(gamma, ...points.map((point) => point.value)) || 1, 4);
  const scale = { from: 0, to: named.at(-1), ticks: named, write: (v) => `${Number(v.toPrecision(2))}`, title: "variance in nats²" };
  drawProgress(at("progress"), points, () => gamma, scale, "rule-text");
}

function finish(verdict) {
  shown.verdict = verdict;
  remember({ ...shown, entropies: shown.entropies.slice(-5) });
  draw();
  tell();
  list();
  say(verdict.fields ? verdict.sentence : `${verdict.sentence} ${agreementText(verdict.agreement)}`);
  at("status").className = "hidden"; // the heading shows it; this is for those who listen
}

// Text with what stands between backquotes as code.
function withCode(text) {
  return text.split("`").map((part, k) => (k % 2 ? element("code", {}, part) : part));
}

function tell() {
  const { verdict } = shown, samples = shown.samples.length;
  at("sentence").textContent = verdict.sentence;
  at("verdict").className = OUTCOMES[verdict.outcome];
  at("because").textContent = verdict.reason;
  at("cost").textContent = costText(verdict);
  at("notes").replaceChildren(...verdict.warnings.map((note) => element("li", {}, "Note: ", ...withCode(note))));
  const most = Number(at("budget").max) || 10;
  at("more").textContent = `Draw ${plural(most, "sample")} anyway`;
  at("more").hidden = samples >= most;
  at("if-budget").max = samples; // before the value, which it bounds
  at("if-budget").value = samples;
  at("if-budget-shown").value = plural(samples, "sample");
  at("what-if").hidden = samples === 0 || Boolean(verdict.fields); // nothing could be left out, or samples lack their fields
}

// Samples that the verdict did not need, for those who want to see them.
function more() {
  at("question").value = shown.prompt;
  const most = Number(at("budget").max) || 10;
  at("choices").value = shown.choices ?? "";
  at("schema").value = shown.schema ?? "";
  begin(() => ({ ...asked(), rule: { samples: most }, budget: { samples: most } }));
}

let turn = 0;
async function whatIf() {
  at("if-budget-shown").value = plural(Number(at("if-budget").value), "sample");
  const mine = ++turn;
  try {
    const found = await post("api/replay", {
      prompt: shown.prompt, answer: shown.answer, samples: shown.samples, one_by_one: true,
      rule: chosen("if-rule", "if-value"),
      budget: { samples: Number(at("if-budget").value) }, threshold: shown.threshold,
    });
    if (mine !== turn) return;
    const { verdict } = found;
    at("if-outcome").textContent = `It would have stopped after ${plural(verdict.samples, "sample")}: ${verdict.outcome}. `
      + `${agreementText(verdict.agreement)} Entropy ${verdict.entropy.mean.toFixed(2)} nats. ${verdict.reason}`;
    shown.other = found.step.entropy;
    draw();
  } catch (error) {
    if (mine === turn) at("if-outcome").textContent = trouble(error);
  }
}

function list() {
  const held = past();
  at("past").hidden = held.length === 0;
  at("history").replaceChildren(...held.map((old) => {
    const again = element("button", { type: "button" }, old.verdict.question);
    again.addEventListener("click", () => recall(old));
    const { outcome, samples } = old.verdict;
    const mark = element("span", { class: OUTCOMES[outcome] }, ` ${outcome}, ${plural(samples, "sample")}`);
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
  at("choices").value = shown.choices ?? "";
  at("schema").value = shown.schema ?? "";
  at("form").open = Boolean(shown.choices || shown.schema);
  draw();
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
    const first = drawStudy(at("study-chart"), found.rows);
    at("study-table").replaceChildren(studyTable(found.rows));
    const saving = found.saving.find((each) => each.estimator === "bayes")?.fraction;
    const reach = saving ? ` What histogram reaches with ten samples, bayes reaches with ${(10 * saving).toFixed(1)} on average.` : "";
    at("study-text").textContent = `${tested.model} on ${tested.dataset}: ${tested.questions} questions, ${tested.wrong} answered wrongly.${reach}`
      + ` The band is the 95% interval of ${first}, over questions and draws. The lines are the methods most asked for; the table has all of them.`;
    const [title, notes] = at("study-left-out").children;
    title.textContent = `What was left out: ${plural(found.notes.length, "note")}`;
    notes.replaceChildren(...found.notes.map((note) => element("li", {}, ...withCode(note))));
    at("study-left-out").hidden = found.notes.length === 0;
    at("study-figure").hidden = false;
    at("study-status").textContent = "";
  } catch (error) {
    at("study-status").textContent = trouble(error);
  }
}

const UNITS = { confidence: "Probability", variance: "Variance at most (nats²)", samples: "Number of samples" };
function starts(name, kind) {
  at(`${name}-value`).value = STARTS[kind];
  at(`${name}-unit`).textContent = UNITS[kind];
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
  preset = about.rule;
  STARTS[preset.kind] = String(preset.value);
  at("rule").value = at("if-rule").value = preset.kind;
  for (const name of ["rule", "if"]) starts(name, preset.kind);
  at("threshold").defaultValue = about.threshold.toFixed(3);
  at("model-row").hidden = !about.needs_model;
  at("study").hidden = about.max_upload === 0;
}

at("ask").addEventListener("submit", submit);
at("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) at("ask").requestSubmit();
  if (event.key === "Enter" && !event.shiftKey) event.preventDefault();
});
at("stop").addEventListener("click", () => under?.abort());
at("more").addEventListener("click", more);
addEventListener("resize", () => { if (shown?.entropies.length) draw(); });
at("rule").addEventListener("input", () => starts("rule", at("rule").value));
at("if-rule").addEventListener("input", () => starts("if", at("if-rule").value));
for (const id of ["if-rule", "if-value", "if-budget"]) at(id).addEventListener("input", whatIf);
at("clear").addEventListener("click", () => { forget(); list(); at("question").focus(); });
at("recording").addEventListener("change", study);
for (const example of document.querySelectorAll(".example")) {
  example.addEventListener("click", () => { at("question").value = example.textContent; at("ask").requestSubmit(); });
}
at("key").addEventListener("change", () => { useKey(at("key").value); learn(); });
at("if-rule").append(...at("rule").cloneNode(true).children);
list();
learn();
