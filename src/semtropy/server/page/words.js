// The sentences of the page: what a step or a verdict says, in words.

export function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

// A probability as a number out of 100; 0 and 100 only where they are exact.
export function percent(probability) {
  if (probability > 0.995 && probability < 1) return "more than 99";
  if (probability > 0 && probability < 0.005) return "less than 1";
  return (100 * probability).toFixed(0);
}

export function agreementText(agreement) {
  if (!agreement) return "";
  const often = percent(agreement.mean);
  const times = `Asked again, it would give this answer ${often} ${/(^| )1$/.test(often) ? "time" : "times"} in 100`;
  return `${times}${between(agreement.interval, percent)}.`;
}

// An interval in brackets, where there is one and its ends do not look the same, or almost.
export function between(interval, shown) {
  const [low, high] = interval?.map(shown) ?? [];
  const almost = ["99 to more than 99", "less than 1 to 1"].includes(`${low} to ${high}`);
  return low === high || almost ? "" : ` (90% interval: ${low} to ${high})`;
}

// What the run found: "8 meanings in 10 samples; none of them is the answer's".
export function foundText(drawn, meanings, done) {
  if (drawn === 0) return `No sample ${done ? "was drawn" : "is drawn yet"}: this rests on the answer's own probability.`;
  const seen = meanings.filter((meaning) => meaning.count > 0).length;
  const own = meanings.find((meaning) => meaning.has_answer)?.count ?? 0;
  const groups = `${plural(seen, "meaning")} in ${plural(drawn, "sample")}`;
  if (own === drawn) return `${groups}: the answer's.`;
  if (own === 0) return `${groups}; ${drawn === 1 ? "it does not mean" : "none means"} what the answer means.`;
  return `${groups}; ${own} ${own === 1 ? "means" : "mean"} what the answer means.`;
}

// What follows the counts where the probabilities of the texts lead to another number than they do, as in a verdict.
export function weighedText(drawn, meanings, agreement) {
  if (!drawn || !agreement || !meanings.some((meaning) => meaning.floor)) return "";
  const share = (meanings.find((meaning) => meaning.has_answer)?.count ?? 0) / drawn;
  const [low, high] = agreement.interval ?? [agreement.mean, agreement.mean];
  if ((low <= share && share <= high) || Math.abs(agreement.mean - share) <= (share ? 0.15 : 0.25)) return "";
  return " The model also reports how probable these texts are, which says more than the counts.";
}

export function entropyText({ mean, interval }, threshold) {
  const equal = Math.exp(mean);
  const many = equal < 1.05 ? "one meaning, nearly always" : `${equal < 9.95 ? equal.toFixed(1) : equal.toFixed(0)} equally likely meanings`;
  const near = mean.toFixed(2) === threshold.toFixed(2) ? "just " : "";
  const side = `${near}${mean > threshold ? "above" : "below"}`;
  return `Semantic entropy ${mean.toFixed(2)} nats${between(interval, (nats) => nats.toFixed(2))}, ${side} ${threshold.toFixed(2)}: as unsure as with ${many}.`;
}

// An ordinary word has no capital after a colon, a name keeps it.
export function afterColon(sentence) {
  return /^(A|All|An|Both|Each|No|None|Some|That|The|This|With)\b/.test(sentence) ? sentence[0].toLowerCase() + sentence.slice(1) : sentence;
}

export const UNIT = "Nats measure how much answers differ: 0 is always the same meaning, 0.69 two equally likely ones, 2.3 ten.";

// The certainty that the rule asks for after `drawn` samples.
export function asked({ confidence, relaxation = 0, least = 0.5 }, drawn) {
  return Math.min(confidence, Math.max(least, confidence - relaxation * drawn));
}

// How certain the verdict is: the probability of the likelier of a flag and no flag.
export function certainty({ suspicion }) {
  return suspicion === null || suspicion === undefined ? null : Math.max(suspicion, 1 - suspicion);
}

export function ruleText(rule, point) {
  if (rule.kind === "VarianceBelow") {
    return `Sampling stops once the variance of the entropy is at most ${rule.gamma}. It is ${point.variance?.toFixed(3) ?? "not known"}.`;
  }
  if (rule.kind === "Decided") {
    const sure = certainty(point);
    const now = sure === null ? "" : ` Now it is ${percent(sure)}%.`;
    const first = percent(rule.confidence);
    if (!rule.relaxation) return `Sampling stops once it is ${first}% certain whether the answer deserves a flag.${now}`;
    const less = `${Number((100 * rule.relaxation).toPrecision(2))}% less with each, but at least ${percent(rule.least)}%`;
    return `Sampling stops once it is certain enough whether the answer deserves a flag: ${first}% before the first sample, ${less}.${now}`;
  }
  return `${plural(rule.n, "sample")} ${rule.n === 1 ? "is" : "are"} drawn in any case.`;
}

// What a verdict does not say.
export function cautionText({ outcome, second, claims }) {
  if (outcome === "steady") return `Steady is not the same as true: ${second ? "two models may share an error" : "a model that repeats the same error every time looks steady, too"}.`;
  if (outcome !== "flagged") return "";
  if (claims?.length) return "A flag says that the model would not repeat the claim, not that it is wrong.";
  return `A flag says that ${second && second.without !== "flagged" ? "two models disagree, not which of them is wrong" : "the model is unsure, or mostly says something else, not that the answer is wrong"}.`;
}

export function costText(verdict) {
  const { tokens, judge_calls: pairs, seconds } = verdict.cost;
  const draws = verdict.samples + 1; // the answer is one more
  const spent = [plural(verdict.samples, "sample")], ten = [];
  if (tokens !== null) {
    spent.push(plural(tokens, "token"));
    ten.push(`${Math.round((11 * tokens) / draws)} tokens`);
  }
  spent.push(plural(pairs, "comparison"), `${seconds.toFixed(1)}\u00a0s`);
  if (verdict.samples > 1) ten.push(`${((11 * seconds) / draws).toFixed(1)}\u00a0s`); // the first draw also loads the model
  const reused = (verdict.source ?? "new") === "new" ? "" : " (from the cache this time)";
  if (verdict.samples >= 10 || ten.length === 0) return `Cost: ${spent.join(", ")}${reused}.`;
  return `Cost: ${spent.join(", ")}${reused}. Always drawing ten would cost about ${ten.join(" and ")}.`;
}
