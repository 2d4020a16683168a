// The history of checks, in this browser only.

const NAME = "semtropy.checks.2", MOST = 20;

export function past() {
  try {
    return JSON.parse(localStorage.getItem(NAME)) ?? [];
  } catch {
    return [];
  }
}

export function remember(check) {
  const kept = [check, ...past().filter((old) => old.verdict.question !== check.verdict.question)].slice(0, MOST);
  try {
    localStorage.setItem(NAME, JSON.stringify(kept));
  } catch { /* full or forbidden: the page works without a memory */ }
}

// The checks as lines of a recording: a header, then one line for each question.
export function recording(checks, model) {
  const known = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null && value !== undefined));
  const row = ({ prompt, answer, samples }, k) => ({
    id: `check-${k + 1}`, question: prompt, context: null, references: [],
    answer: { ...known({ text: answer.text, sampling_logprob: answer.logprob, meaning: answer.meaning }), correct: null },
    samples: samples.map(({ text, logprob, complete, meaning }) => known({ text, logprob, complete, meaning })),
  });
  const header = { semtropy_recording: 1, model, dataset: "checks", temperature: 1, eos_included: true };
  return [header, ...checks.map(row)].map((line) => `${JSON.stringify(line)}\n`).join("");
}

export function forget() {
  try {
    localStorage.removeItem(NAME);
  } catch { /* nothing was kept */ }
}
