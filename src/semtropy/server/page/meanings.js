// The meanings as cards, the commonest first: every wording is shown, so that a wrong merge can be seen.

import { element } from "./draw.js";

const words = (text) => text.trim() || "(empty)";

export function drawMeanings(holder, meanings, drawn) {
  const before = new Set([...holder.querySelectorAll(".wording")].map((chip) => chip.dataset.said));
  const sorted = meanings.slice().sort((a, b) => b.count - a.count || Number(b.has_answer) - Number(a.has_answer));
  holder.replaceChildren(...sorted.map((meaning) => card(meaning, drawn, before)));
}

function card(meaning, drawn, before) {
  const name = element("span", { class: "name" }, words(meaning.text));
  const head = element("div", { class: "head" }, name);
  if (meaning.has_answer) head.append(element("span", { class: "badge" }, "the answer"));
  if (drawn > 0) head.append(element("span", { class: "count" }, `${meaning.count} of ${drawn}`));
  const made = element("li", { class: meaning.has_answer ? "meaning answer" : "meaning" }, head);
  if (drawn > 2) { // a bar of one or two samples would say more than they do
    const bar = element("div", { class: "bar", "aria-hidden": "true" }, element("span"));
    bar.firstChild.style.width = `${(100 * meaning.count) / drawn}%`;
    made.append(bar);
  }
  const chips = meaning.wordings.map((wording) => chip(wording, meaning, before));
  const list = element("ul", {}, ...chips);
  list.classList.toggle("only", chips.length === 1 && words(meaning.wordings[0].text) === words(meaning.text)); // the name says it
  made.append(list);
  return made;
}

function chip(wording, meaning, before) {
  const said = `${wording.count} ${wording.text}`;
  const made = element("li", { class: before.has(said) ? "wording" : "wording new" }, words(wording.text));
  made.dataset.said = said;
  if (wording.count > 1) made.append(element("span", { class: "times" }, ` ×${wording.count}`));
  if (wording.count === 0 && meaning.count > 0) made.append(element("span", { class: "times" }, " (the answer)"));
  return made;
}

// The answers of another model: each wording once, with how often it was given.
export function drawAnswers(holder, answers) {
  const counted = new Map();
  for (const answer of answers) counted.set(words(answer), (counted.get(words(answer)) ?? 0) + 1);
  holder.replaceChildren(...[...counted].map(([text, count]) => {
    const head = element("div", { class: "head" }, element("span", { class: "name" }, text));
    if (answers.length > 1) head.append(element("span", { class: "count" }, `${count} of ${answers.length}`));
    return element("li", { class: "meaning" }, head);
  }));
}
