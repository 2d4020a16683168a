// The calculator of cost.md. Works on every page load, also after the site's instant navigation.
"use strict";

const COST_FIELDS = [
  ["checks", "checks per day", 10000],
  ["samples", "samples per check", 1.4],
  ["rounds", "rounds per check", 1.2],
  ["prompt", "tokens of a prompt", 400],
  ["answer", "tokens of an answer", 20],
  ["input", "price of a million input tokens", 0.15],
  ["output", "price of a million output tokens", 0.6],
];

function costCalculator() {
  const place = document.getElementById("cost-calculator");
  if (!place || place.dataset.ready) return;
  place.dataset.ready = "yes";
  const table = document.createElement("table");
  const inputs = {};
  for (const [name, label, value] of COST_FIELDS) {
    const row = table.insertRow();
    const caption = document.createElement("label");
    caption.textContent = label;
    caption.htmlFor = `cost-${name}`;
    row.insertCell().append(caption);
    const input = document.createElement("input");
    Object.assign(input, { type: "number", min: "0", step: "any", id: `cost-${name}`, value });
    inputs[name] = input;
    row.insertCell().append(input);
  }
  const result = document.createElement("p");
  result.id = "cost-result";
  result.setAttribute("role", "status");
  const update = () => {
    const given = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, Number(input.value)]));
    const tokens = given.samples * given.answer * given.output + given.rounds * given.prompt * given.input;
    const day = (given.checks * tokens) / 1e6;
    result.textContent = `${day.toFixed(2)} per day, ${(30 * day).toFixed(2)} per month of 30 days`;
  };
  table.addEventListener("input", update);
  place.replaceChildren(table, result);
  update();
}

if (typeof document$ !== "undefined") document$.subscribe(costCalculator);
else document.addEventListener("DOMContentLoaded", costCalculator);
