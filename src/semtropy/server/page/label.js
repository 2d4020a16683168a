// Grading: one key or button for each answer; the file is written when all are graded or grading is ended.

const at = (id) => document.getElementById(id);
let shown = null;

function show(found) {
  shown = found.id;
  at("progress-text").textContent = `${found.progress}.`;
  const over = found.id === null || found.ended;
  at("graded").hidden = over;
  at("end-text").hidden = !over;
  at("end-text").textContent = found.id === null ? "All are graded. You can close this page." : "The grades so far are kept: run the command again to go on. You can close this page.";
  if (over) return;
  at("question-text").textContent = found.question;
  at("context-text").textContent = found.context ?? "";
  at("answer-text").textContent = found.answer;
  at("expected-text").textContent = found.references.length ? `Expected: ${found.references.join(" / ")}` : "";
}

async function press(key) {
  try {
    const reply = await fetch("api/key", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key, id: shown }) });
    show(await reply.json());
  } catch {
    at("progress-text").textContent = "The command that shows this page has ended.";
  }
}

for (const button of document.querySelectorAll("button")) button.addEventListener("click", () => press(button.value));
addEventListener("keydown", (event) => {
  if (!event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat && "ynsuq".includes(event.key)) press(event.key);
});
show(await (await fetch("api/answer")).json());
