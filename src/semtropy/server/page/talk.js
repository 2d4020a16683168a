// Talking to the gateway: JSON and server-sent events over fetch, errors as sentences.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let key = "";

export function useKey(value) {
  key = value.trim();
}

function headers(type) {
  const made = { "Content-Type": type };
  if (key) made.Authorization = `Bearer ${key}`;
  return made;
}

async function ask(path, options) {
  let reply;
  try {
    reply = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "the gateway cannot be reached");
  }
  if (!reply.ok) await complain(reply);
  return reply;
}

async function complain(reply) {
  let message = `the gateway answered ${reply.status}`;
  try {
    message = (await reply.json()).error.message;
  } catch { /* not in the form we know: the status says enough */ }
  throw new Refused(reply.status, message);
}

export async function get(path) {
  const reply = await ask(path, { headers: key ? { Authorization: `Bearer ${key}` } : {} });
  return reply.json();
}

function send(path, body, signal) {
  return ask(path, { method: "POST", headers: headers("application/json"), body: JSON.stringify(body), signal });
}

export async function post(path, body) {
  const reply = await send(path, body);
  return reply.json();
}

// Yields {name, data} for each event of the reply.
export async function* events(path, body, signal) {
  const reply = await send(path, body, signal);
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      if (error.name === "AbortError") throw error;
      return { done: true }; // cut off: whoever follows the events sees that the last is missing
    });
    if (done) return;
    held += value;
    const parts = held.split("\n\n");
    held = parts.pop();
    for (const part of parts) {
      const found = { name: "message", data: "" };
      for (const line of part.split("\n")) {
        if (line.startsWith("event: ")) found.name = line.slice(7);
        if (line.startsWith("data: ")) found.data += line.slice(6);
      }
      if (found.data) yield { name: found.name, data: JSON.parse(found.data) };
    }
  }
}
