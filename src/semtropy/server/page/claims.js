// A long answer with its claims marked, what is to doubt in it, and the table of all claims.

import { element } from "./draw.js";
import { OUTCOMES, table, verdict } from "./fields.js";
import { between, percent, plural } from "./words.js";

const SECOND = { supports: "supports it", contradicts: "contradicts it", silent: "is silent about it" };

// The answer as one passage: claims that are not steady link to what is known of them.
export function drawPassage(holder, text, claims) {
  const parts = [];
  let end = 0;
  claims.forEach((claim, k) => {
    if (!(claim.start >= end && claim.end <= text.length)) return;
    const said = text.slice(claim.start, claim.end);
    parts.push(text.slice(end, claim.start));
    if (claim.outcome === "steady") parts.push(element("span", { class: "claim steady" }, said));
    else {
      const mark = element("a", { class: `claim ${OUTCOMES[claim.outcome]}`, href: `#claim-${k}` }, said);
      mark.append(element("span", { class: "hidden" }, ` (${verdict(claim.outcome)})`));
      parts.push(mark);
    }
    end = claim.end;
  });
  holder.replaceChildren(...parts, text.slice(end));
}

function counts({ supported, contradicted, silent }) {
  const drawn = supported + contradicted + silent;
  if (!drawn) return "No sample was drawn";
  const found = [[supported, "supports it", "support it"], [contradicted, "contradicts it", "contradict it"]].filter(([count]) => count);
  const none = { 1: "The one sample neither supports nor", 2: "Neither sample supports or" };
  if (!found.length) return `${none[drawn] ?? `None of ${drawn} samples supports or`} contradicts it`;
  const all = { 1: "The one sample", 2: "Both samples" }[drawn] ?? `All ${drawn} samples`;
  const who = (count) => (count === drawn ? all : `${count} of ${drawn} samples`);
  return found.map(([count, one, many], k) => `${k ? count : who(count)} ${count === 1 ? one : many}`).join(" and ");
}

// Why the outcome or the number is not what the samples alone suggest, as `ClaimVerdict.sentence` says it.
function why({ supported, contradicted, silent, outcome, agreement: { mean } }, others) {
  const drawn = supported + contradicted + silent, leftOut = isLeftOut({ supported, contradicted, silent });
  const backed = others.filter((other) => 2 * other.supported > other.supported + other.contradicted + other.silent).length;
  const gap = mean - supported / Math.max(drawn, 1);
  const alone = (supported + 1) / (supported + contradicted + silent / 2 + 2);
  const few = 2 * backed < others.length;
  const higher = 2 * backed > others.length && gap > 0.15 && mean > alone;
  const lower = few && (leftOut ? outcome === "flagged" : gap < -0.15 && mean < alone);
  const weak = (gap > 0.15 && silent > contradicted) || (leftOut && outcome === "undecided");
  const open = weak && !leftOut ? `, and ${silent === 1 ? "the other leaves" : `the other ${silent} leave`} it open` : "";
  const unbacked = !weak && contradicted && silent && !supported ? ", and none supports it" : "";
  const against = weak ? ", which is only weak evidence against it" : "";
  const backing = higher ? (weak ? `, and ${of(backed, others.length)}` : `, but ${of(backed, others.length)}, which speaks for this one, too`) : "";
  return `${open}${unbacked}${against}${backing}${lower ? `, ${supported ? "but" : "and"} ${of(backed, others.length, "only ")}` : ""}`;
}

// How many of the other claims more than half of the samples support.
function of(backed, others, only = "") {
  if (others === 1) return backed ? "the other claim is mostly supported" : "few samples support the other claim";
  if (backed === others) return `${others === 2 ? "both" : `all ${others}`} other claims are mostly supported`;
  const none = others === 2 ? "neither" : "none";
  return `${backed ? `${only}${backed}` : none} of the ${others} other claims ${backed < 2 ? "is" : "are"} mostly supported`;
}

function isLeftOut({ supported, contradicted, silent }) {
  return silent > 0 && !supported && !contradicted;
}

function repeated(claim) {
  const { outcome, agreement: { mean, interval } } = claim;
  const shown = interval && (outcome === "undecided" || (outcome === "flagged" && isLeftOut(claim)));
  const often = percent(mean);
  const times = `asked again, the model would repeat it ${often} ${/(^| )1$/.test(often) ? "time" : "times"} in 100`;
  return `${times}${shown ? between(interval, percent) : ""}`;
}

function brief({ supported, contradicted, silent }) {
  const found = [[supported, "for it"], [contradicted, "against"], [silent, "silent"]].filter(([count]) => count > 0);
  return found.map(([count, what]) => `${count} ${what}`).join(", ") || plural(0, "sample");
}

// The claims that are not steady, the flagged ones first.
export function drawDoubts(holder, claims) {
  const open = claims.map((claim, k) => ({ ...claim, k })).filter(({ outcome }) => outcome !== "steady");
  open.sort((a, b) => Number(b.outcome === "flagged") - Number(a.outcome === "flagged"));
  holder.replaceChildren(...open.map((claim) => {
    const head = element("p", {}, element("span", { class: `pill small ${OUTCOMES[claim.outcome]}` }, verdict(claim.outcome)), ` ${claim.text ?? "(withheld)"}`);
    const second = SECOND[claim.second] ? ` Another model ${SECOND[claim.second]}.` : "";
    const others = claims.filter((_, k) => k !== claim.k);
    const said = element("p", { class: "quiet" }, `${counts(claim)}${why(claim, others)}; ${repeated(claim)}.${second}`);
    const made = element("li", { id: `claim-${claim.k}`, tabindex: "-1" }, head, said);
    if (claim.instead) made.append(element("p", { class: "instead" }, element("span", { class: "quiet" }, "A sample says instead: "), claim.instead));
    return made;
  }));
  return open.length;
}

// Every claim, with a column for each model that was asked.
export function drawClaims(holder, claims, names = []) {
  const titles = ["Claim", "Verdict", names[0] ?? "Samples", "Asked again", ...names.slice(1)];
  table(holder, titles, claims.map((claim) => {
    const cells = [verdict(claim.outcome), brief(claim), `${percent(claim.agreement.mean)} in 100`, ...names.slice(1).map(() => SECOND[claim.second] ?? "was not asked")];
    return element("tr", { class: OUTCOMES[claim.outcome] ?? "" },
      element("th", { scope: "row", class: "claim" }, claim.text ?? "(withheld)"),
      ...cells.map((said, k) => element("td", { "data-title": titles[k + 1], class: k ? "" : "outcome" }, said)));
  }));
}
