// The page: a question goes out, steps come in and are drawn. Earlier checks, what-ifs and traffic have their addresses.

import { drawBelief, drawProgress, element, ticks } from "./draw.js";
import { drawClaims, drawDoubts, drawPassage } from "./claims.js";
import { OUTCOMES, drawFields } from "./fields.js";
import { drawAnswers, drawMeanings } from "./meanings.js";
import { forget, past, recording, remember } from "./past.js";
import { Refused, events, get, post, useKey } from "./talk.js";
import { unwatch, watch } from "./traffic.js";
import { afterColon, agreementText, asked as askedFor, cautionText, certainty, costText, entropyText, foundText, percent, plural, ruleText, UNIT, weighedText } from "./words.js";

const at = (id) => document.getElementById(id);
const STARTS = { confidence: "0.95", variance: "0.1", samples: "5" };
const MARKS = { steady: "✓", flagged: "!", undecided: "?", "no answer": "–" };
const SHORT = 140; // characters of an answer that stands beside its verdict; a longer one is a passage below it
let model = ""; // the gateway's own
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
    askForKey();
    at("key").focus();
  }
}

function asked() {
  const body = {
    prompt: at("question").value, stream: true, one_by_one: true,
  };
  if (at("budget").value !== at("budget").max) body.budget = { samples: Number(at("budget").value) };
  // Left as they were, the operator's own rule and flagging apply, calibrated where there is a curve for it.
  body.rule = chosen("rule", "rule-value");
  if (at("threshold").value !== at("threshold").defaultValue) body.threshold = Number(at("threshold").value);
  const named = at("model-list").hidden ? at("model-name").value : at("model-list").value;
  if (!at("model-row").hidden && named) body.model = named;
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
    answer: null, agreement: null, verdict: null, terms: null, fields: [], model: body.model ?? model, choices: at("choices").value, schema: at("schema").value,
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
  at("belief-part").before(at("meanings-part"), at("claims-part")); // they may stand beside a second opinion
  for (const id of ["meanings", "curve", "progress", "notes", "fields", "passage", "doubts", "claims", "second-columns"]) at(id).replaceChildren();
  for (const id of ["label", "said", "missing", "agreement", "found", "because", "cost", "curve-text", "curve-key", "rule-text", "second-text", "caution"]) {
    at(id).textContent = "";
  }
  at("verdict").className = "card";
  for (const id of ["more", "to-what-if", "agreement-scale", "result", "by-field", "by-claim", "second", "claims-part", "given-part"]) at(id).hidden = true;
}

function step(data) {
  shown.samples.push(...data.samples);
  Object.assign(shown, { meanings: data.meanings, answer: data.answer, agreement: data.agreement, drawn: data.drawn, fields: data.fields, claims: data.claims });
  shown.entropies.push(data.entropy);
  shown.track.push({ drawn: data.drawn, variance: data.entropy.variance, suspicion: data.suspicion });
  showResult();
  const parts = data.fields.length ? "field" : data.claims.length ? "claim" : null;
  const far = data.drawn === 0 ? "The model has answered." : parts ? `${plural(data.drawn, "sample")} so far.` : foundText(data.drawn, data.meanings);
  say(`${far} Asking it again${parts ? `, to judge each ${parts}` : ""}…`);
  heading(null, data.answer.text);
  draw();
}

// The legend is for those who have asked nothing yet.
function showResult() {
  at("result").hidden = false;
  at("legend").hidden = true;
}

// The verdict in a word or two and, beside it, a short answer; a long one is a passage below it.
function heading(verdict, text) {
  const claims = verdict?.claims ?? shown.claims ?? [], fields = verdict?.fields ?? shown.fields ?? [];
  const short = !fields.length && !claims.length && text.length <= SHORT && !text.includes("\n");
  const said = verdict?.blocked ? verdict.sentence : text.trim() || "(empty)";
  const missing = verdict?.outcome === "no answer", label = (missing ? "No answer" : verdict?.label ?? "").replace(/\.$/, "");
  at("label").replaceChildren(...(verdict ? [element("span", { "aria-hidden": "true" }, `${MARKS[verdict.outcome]} `), label] : []));
  at("label").hidden = !verdict;
  at("said").textContent = (short || verdict?.blocked) && !missing ? said : "";
  at("missing").textContent = missing ? reason(verdict.label) : "";
  if (short || fields.length || verdict?.blocked) at("passage").replaceChildren();
  else drawPassage(at("passage"), text, claims.every((claim) => claim.start !== undefined) ? claims : []);
}

// What follows "No answer: ", as a sentence.
function reason(label) {
  const said = label.replace(/^No answer: /, "");
  return said[0].toUpperCase() + said.slice(1);
}

// All that a step changes: agreement, meanings, belief, and the rule's progress; or the fields or claims of the answer.
function draw() {
  const fields = shown.verdict?.fields ?? shown.fields ?? [], claims = shown.verdict?.claims ?? shown.claims ?? [];
  const parts = fields.length + claims.length > 0;
  at("by-field").hidden = fields.length === 0;
  at("claims-part").hidden = claims.length === 0;
  at("given-part").hidden = fields.length === 0;
  at("meanings-part").hidden = at("belief-part").hidden = parts;
  at("by-claim").hidden = !claims.length || !shown.verdict || drawDoubts(at("doubts"), claims) === 0;
  if (fields.length) {
    drawFields(at("fields"), fields);
    at("given").textContent = shown.answer.text;
  }
  if (claims.length) drawClaims(at("claims"), claims, shown.verdict?.second ? [shown.model, shown.verdict.second.model] : []);
  if (parts) return;
  const now = shown.entropies.at(-1), { threshold } = shown.terms;
  agree();
  at("found").textContent = foundText(shown.drawn, shown.meanings, shown.verdict !== null) + weighedText(shown.drawn, shown.meanings, shown.agreement);
  const alone = shown.drawn === 0 ? "The answer" : `Meanings of ${plural(shown.drawn, "sample")} and of the answer`;
  at("meanings-title").textContent = shown.verdict?.second ? shown.model : alone;
  drawMeanings(at("meanings"), shown.meanings, shown.drawn);
  const before = shown.entropies.slice(-5, -1);
  progress(shown.terms.rule); // first: whether it is there decides how wide the curve is
  drawBelief(at("curve"), now, before, threshold);
  at("curve-text").textContent = entropyText(now, threshold);
  at("curve-key").textContent = `${UNIT} Curve: how probable each entropy is; ring: its mean; bar: the 90% interval.`
    + `${before.length ? " Thin curves: some samples earlier." : ""}`;
  at("rule-text").textContent = ruleText(shown.terms.rule, shown.track.at(-1));
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
  const value = { VarianceBelow: (point) => point.variance, Decided: certainty }[kind];
  const points = value ? shown.track.map((point) => ({ drawn: point.drawn, value: value(point) })) : [];
  at("progress-part").hidden = points.length < 2 || !points.every((point) => Number.isFinite(point.value));
  if (at("progress-part").hidden) return;
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
  say(verdict.fields || verdict.claims?.length ? verdict.sentence : `${verdict.sentence} ${agreementText(verdict.agreement)}`);
  at("status").className = "hidden"; // the heading shows it; this is for those who listen
}

// Text with what stands between backquotes as code.
function withCode(text) {
  return text.split("`").map((part, k) => (k % 2 ? element("code", {}, part) : part));
}

function tell() {
  const { verdict } = shown, samples = shown.samples.length, parts = verdict.fields || verdict.claims?.length;
  heading(verdict, verdict.trimmed ? verdict.answer : shown.answer.text);
  at("verdict").className = `card ${OUTCOMES[verdict.outcome]}`;
  at("because").textContent = verdict.reason;
  at("cost").textContent = costText(verdict);
  const said = [verdict.prior ? `Prior: ${verdict.prior}.` : null, verdict.guarantee, ...verdict.warnings.map((note) => `Note: ${afterColon(note)}`)].filter(Boolean);
  at("notes").replaceChildren(...said.map((note) => element("li", {}, ...withCode(note))));
  at("caution").textContent = cautionText(verdict);
  second(verdict);
  const most = Number(at("budget").max) || 10;
  at("more").hidden = samples >= most || shown.all; // a second model keeps some of the samples for itself
  at("to-what-if").hidden = samples === 0 || Boolean(parts); // nothing could be left out, or samples lack their parts
}

// What other models say: beside this model's meanings a column for each; for claims, columns of the table of claims.
function second(verdict) {
  at("second").hidden = !verdict.second;
  if (!verdict.second) return;
  const others = [verdict.second, ...verdict.second.others];
  at("second-text").textContent = others.map((each) => each.sentence ?? "").join(" ");
  if (verdict.claims?.length) {
    at("second-columns").replaceChildren(at("claims-part"));
    return;
  }
  const column = (name, inside) => element("section", { "aria-label": name }, element("h4", {}, name), inside);
  const columns = others.map(({ model: name, answers }) => {
    const inside = element("ol", { class: "meanings" });
    drawAnswers(inside, answers);
    return column(name, inside);
  });
  at("second-columns").replaceChildren(at("meanings-part"), ...columns);
}

// Samples that the verdict did not need, for those who want to see them.
function more() {
  at("question").value = shown.prompt;
  const most = Number(at("budget").max) || 10;
  at("choices").value = shown.choices ?? "";
  at("schema").value = shown.schema ?? "";
  begin(() => ({ ...asked(), rule: { samples: most }, budget: { samples: most } }));
  shown.all = true;
}

// The what-if of the check on the page, or of the last one that is kept.
function prepareWhatIf() {
  const held = [shown, ...past()].find((each) => each?.verdict && each.samples.length && !each.verdict.fields && !each.verdict.claims?.length);
  at("if-none").hidden = Boolean(held);
  at("if-part").hidden = !held;
  tried = held ? { ...held } : null;
  if (!held) return;
  const count = held.samples.length;
  at("if-question").textContent = held.prompt;
  at("if-was").textContent = `As it was: ${held.verdict.outcome} after ${plural(count, "sample")}. ${agreementText(held.verdict.agreement)}`;
  at("if-outcome").textContent = "Choose another rule or fewer samples to see where that would have led.";
  at("if-budget").max = count; // before the value, which it bounds
  at("if-budget").value = count;
  at("if-budget-shown").value = plural(count, "sample");
  drawTried(null);
}

let tried = null; // the check whose what-if is shown, and the belief under the other terms
function drawTried(other) {
  tried.other = other;
  drawBelief(at("if-curve"), tried.entropies.at(-1), [], tried.terms.threshold, other, "if-curve-text");
}

let turn = 0;
async function whatIf() {
  at("if-budget-shown").value = plural(Number(at("if-budget").value), "sample");
  const mine = ++turn;
  try {
    const found = await post("api/replay", {
      prompt: tried.prompt, answer: tried.answer, samples: tried.samples, one_by_one: true,
      rule: chosen("if-rule", "if-value"),
      budget: { samples: Number(at("if-budget").value) }, threshold: tried.threshold,
    });
    if (mine !== turn) return;
    const { verdict } = found;
    at("if-outcome").textContent = `It would have stopped after ${plural(verdict.samples, "sample")}: ${verdict.outcome}. `
      + `${agreementText(verdict.agreement)} Entropy ${verdict.entropy.mean.toFixed(2)} nats. ${verdict.reason}`;
    drawTried(found.step.entropy);
  } catch (error) {
    if (mine === turn) at("if-outcome").textContent = trouble(error);
  }
}

function list() {
  const held = past();
  for (const id of ["past-buttons", "past-note", "history"]) at(id).hidden = held.length === 0;
  at("no-past").hidden = held.length > 0;
  at("history").replaceChildren(...held.map((old) => {
    const again = element("button", { type: "button", class: "link" }, old.verdict.question);
    again.addEventListener("click", () => { show("./"); recall(old); });
    const { outcome, samples } = old.verdict;
    const mark = element("span", { class: `pill small ${OUTCOMES[outcome]}` }, outcome);
    const answer = element("span", { class: "answer" }, old.verdict.answer ?? "");
    return element("li", {}, mark, again, answer, element("span", { class: "quiet" }, samples ? plural(samples, "sample") : "no sample"));
  }));
}

function save() {
  const lines = recording(past().toReversed(), model);
  const link = element("a", { href: URL.createObjectURL(new Blob([lines], { type: "application/jsonl" })), download: "checks.jsonl" });
  link.click();
  URL.revokeObjectURL(link.href);
}

function recall(old) {
  clear();
  shown = structuredClone(old);
  at("status").textContent = "";
  showResult();
  at("trouble").hidden = true;
  at("question").value = shown.prompt;
  at("choices").value = shown.choices ?? "";
  at("schema").value = shown.schema ?? "";
  at("options").open = Boolean(shown.choices || shown.schema);
  draw();
  tell();
  at("sentence").focus();
}

const UNITS = { confidence: "Probability", variance: "Variance at most (nats²)", samples: "Number of samples" };
function starts(name, kind) {
  at(`${name}-value`).value = STARTS[kind];
  at(`${name}-unit`).textContent = UNITS[kind];
}

function askForKey() {
  at("key-row").hidden = false;
}

// What this gateway allows, for the controls to start from.
async function learn() {
  let about;
  try {
    about = await get("api/about");
  } catch (error) {
    if (error.status === 401) askForKey();
    else complain(error);
    return;
  }
  model = about.model;
  at("model").textContent = about.upstream ? "" : `Model: ${about.model}${about.second ? `; second: ${about.second}` : ""}`;
  at("budget").value = at("budget").max = about.max_samples;
  at("question").maxLength = about.max_prompt;
  preset = about.rule;
  STARTS[preset.kind] = String(preset.value);
  at("rule").value = at("if-rule").value = preset.kind;
  for (const name of ["rule", "if"]) starts(name, preset.kind);
  at("threshold").defaultValue = about.threshold.toFixed(3);
  document.querySelector("nav a[href=traffic]").hidden = about.traffic === "none";
  if (about.upstream) await models(about);
}

// The upstream's models to choose from; where it lists none, a name can be written.
async function models(about) {
  let names = [];
  try {
    names = (await get("v1/models")).data.map((each) => each.id).filter((each) => typeof each === "string");
  } catch { /* not every endpoint lists them, or only for a key */ }
  if (!about.needs_model && !names.includes(about.model)) names.unshift(about.model);
  at("model-list").replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  if (!about.needs_model) at("model-list").value = about.model;
  at("model-list").hidden = names.length === 0;
  at("model-name").hidden = names.length > 0;
  at("model-row").querySelector("label").htmlFor = names.length ? "model-list" : "model-name";
  at("model-row").hidden = false;
}

// The view of an address: the last part of its path.
const TITLES = { ask: "is it making this up?", checks: "checks so far", "what-if": "what if?", traffic: "traffic" };
function view() {
  const last = location.pathname.split("/").at(-1), name = last in TITLES ? last : "ask";
  for (const each of Object.keys(TITLES)) at(`view-${each}`).hidden = each !== name;
  for (const link of document.querySelectorAll("nav a")) {
    const here = (link.getAttribute("href") === "./" ? "ask" : link.getAttribute("href")) === name;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `semtropy: ${TITLES[name]}`;
  unwatch();
  if (name === "traffic") watch(askForKey);
  if (name === "what-if") prepareWhatIf();
  if (name === "checks") list();
  if (name === "ask" && shown?.entropies.length) draw();
  return at(`view-${name}`);
}

function show(address) {
  history.pushState(null, "", address);
  scrollTo(0, 0);
  view().querySelector("h1").focus();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
  if (!link || !plain || link.download || !["./", "checks", "what-if", "traffic"].includes(link.getAttribute("href"))) return;
  event.preventDefault();
  show(link.getAttribute("href"));
});
addEventListener("popstate", view);
at("ask").addEventListener("submit", submit);
at("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) at("ask").requestSubmit();
  if (event.key === "Enter" && !event.shiftKey) event.preventDefault();
});
at("stop").addEventListener("click", () => under?.abort());
at("more").addEventListener("click", more);
at("why").addEventListener("toggle", () => { if (shown?.entropies.length) draw(); }); // charts are drawn at the size they are shown in
addEventListener("resize", () => {
  if (shown?.entropies.length) draw();
  if (tried) drawTried(tried.other);
});
at("rule").addEventListener("input", () => starts("rule", at("rule").value));
at("if-rule").addEventListener("input", () => starts("if", at("if-rule").value));
for (const id of ["if-rule", "if-value", "if-budget"]) at(id).addEventListener("input", whatIf);
at("save").addEventListener("click", save);
at("clear").addEventListener("click", () => { forget(); list(); document.querySelector("#view-checks h1").focus(); });
for (const example of document.querySelectorAll("#examples button")) {
  example.addEventListener("click", () => { at("question").value = example.textContent; at("ask").requestSubmit(); });
}
at("key").addEventListener("change", () => { useKey(at("key").value); learn(); view(); });
at("if-rule").append(...at("rule").cloneNode(true).children);
list();
view();
learn();
