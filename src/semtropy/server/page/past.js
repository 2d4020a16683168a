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

export function forget() {
  try {
    localStorage.removeItem(NAME);
  } catch { /* nothing was kept */ }
}
