"""Recordings of sentence answers on one GPU: `python -m training.record BUILD QUESTIONS OUT`.

Each question is asked in two styles, "sentence" (with "Answer in one sentence." after it) and "plain". A recording has
the most likely answer, weighed at temperature 1, and 40 samples at temperature 1 from the whole distribution, with the
log-probabilities that they were drawn with. `training.asked` makes QUESTIONS. OUT gets a recording for each
dataset and style, and one that is there is not made again.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from .asked import right
from .llm import Writer, tensors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MODEL = "Qwen2.5-Coder-1.5B-Instruct"
SAMPLES = 40
STYLES = {"sentence": (" Answer in one sentence.", 64), "plain": ("", 200)}  # what is added, most tokens
TURN = (
    "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n"
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
)
COMPACT = 0.8  # of the rows still being written, below which the others leave the batch


@dataclass
class Written:
    """One answer: its tokens with the end, what each was drawn with, and the entropy it was drawn from."""

    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    complete: bool = False


class Recorder:
    """Draws answers to many prompts at once, each prompt read once for all its answers."""

    def __init__(self, writer: Writer) -> None:
        self.model, self.tokenizer, self.device = writer.model, writer.tokenizer, writer.device
        self.ends = torch.tensor(writer.ends, device=self.device)
        # Products of bfloat16 numbers are exact in TF32, so that the logits have the precision of their float32 sums.
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cuda.enable_cudnn_sdp(False)  # it compiles a plan for every new length
        self.head = self.model.lm_head.weight.float()
        _share_keys(self.model)

    @torch.inference_mode()
    def write(self, prompts: Sequence[str], limit: int, samples: int = SAMPLES) -> list[list[Written]]:
        """The most likely answer to each prompt and then its samples, of at most `limit` tokens with the end."""
        each = samples + 1
        rows = [encoding.ids for encoding in self.tokenizer.encode_batch(list(prompts))]
        longest = max(map(len, rows))
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
        tokens = torch.tensor([[int(self.ends[0])] * (longest - len(row)) + row for row in rows])
        mask, tokens = mask.to(self.device), tokens.to(self.device)
        states = self.model.model(
            input_ids=tokens, attention_mask=mask, position_ids=(mask.cumsum(1) - 1).clamp(min=0), use_cache=True
        )  # fmt: skip
        cache = states.past_key_values
        cache.batch_repeat_interleave(each)
        last = states.last_hidden_state[:, -1].repeat_interleave(each, 0)
        mask = mask.repeat_interleave(each, 0)
        alive = torch.arange(len(mask), device=self.device)  # the answer that each row of the batch writes
        done = torch.zeros(len(mask), dtype=torch.bool, device=self.device)
        steps = []
        for step in range(limit):
            chosen, logprobs, entropies, ended = self._draw(last, alive % each == 0)
            going = ~done
            steps.append((alive[going], chosen[going], logprobs[going], entropies[going], ended[going]))
            done |= ended
            left = int((~done).sum())
            if left == 0 or step == limit - 1:
                break
            if left < COMPACT * len(done):
                kept = (~done).nonzero()[:, 0]
                cache.batch_select_indices(kept)
                alive, done, mask, chosen = alive[kept], done[kept], mask[kept], chosen[kept]
            mask = torch.cat([mask, mask.new_ones(len(mask), 1)], 1)
            last = self.model.model(
                input_ids=chosen[:, None], attention_mask=mask, position_ids=mask.sum(1, keepdim=True) - 1,
                past_key_values=cache, use_cache=True,
            ).last_hidden_state[:, -1]  # fmt: skip
        answers = [Written() for _ in range(len(prompts) * each)]
        for part in steps:
            for place, token, logprob, entropy, end in zip(*(held.tolist() for held in part), strict=True):
                answer = answers[place]
                answer.tokens.append(token)
                answer.logprobs.append(min(0.0, logprob))
                answer.entropies.append(max(0.0, entropy))
                answer.complete = end
        return [answers[n * each : (n + 1) * each] for n in range(len(prompts))]

    def _draw(self, states: Any, greedy: Any) -> tuple[Any, Any, Any, Any]:
        """The next token of each row, its log-probability, the entropy, and whether the answer ends there.

        All tokens that end an answer count as one, the first of them.
        """
        logprobs = torch.log_softmax(states.float() @ self.head.T, -1)
        ending = logprobs[:, self.ends].logsumexp(1)
        logprobs[:, self.ends] = -torch.inf
        logprobs[:, self.ends[0]] = ending
        probabilities = logprobs.exp()
        chosen = torch.multinomial(probabilities, 1)[:, 0]
        chosen = torch.where(greedy, logprobs.argmax(1), chosen)
        entropies = -torch.where(probabilities > 0, probabilities * logprobs, 0).sum(1)
        return chosen, logprobs.gather(1, chosen[:, None])[:, 0], entropies, chosen == self.ends[0]

    @torch.inference_mode()
    def weigh(self, prompt: str, tokens: Sequence[int]) -> float:
        """The log-probability of an answer's tokens by one plain pass over the prompt and them."""
        start = self.tokenizer.encode(prompt).ids
        whole = torch.tensor([[*start, *tokens]], device=self.device)
        states = self.model.model(input_ids=whole, use_cache=False).last_hidden_state[0, len(start) - 1 : -1]
        logprobs = torch.log_softmax(states.float() @ self.head.T, -1)
        logprobs[:, self.ends[0]] = logprobs[:, self.ends].logsumexp(1)
        return float(logprobs.gather(1, whole[0, len(start) :, None]).sum())


def _share_keys(model: Any) -> None:
    """Let the query heads of one key head read it together, not from copies of it, where one token is written."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    def attention(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: Any = None, **rest: Any
    ) -> tuple[Any, None]:
        rows, heads, length, width = query.shape
        if length > 1 or attention_mask is None:
            found, _ = sdpa_attention_forward(
                module, query, key, value, attention_mask, scaling=scaling, **rest
            )
            return found, None
        groups = key.shape[1]
        query = query.reshape(rows, groups, heads // groups, width)
        mask = attention_mask.expand(rows, groups, heads // groups, -1)
        found = scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)
        return found.reshape(rows, 1, heads, width), None

    AttentionInterface.register("shared_keys", attention)
    AttentionMaskInterface.register("shared_keys", sdpa_mask)
    model.set_attn_implementation("shared_keys")


def record(
    recorder: Recorder, questions: Sequence[dict[str, Any]], style: str, rows: int
) -> Iterator[dict[str, Any]]:
    """The rows of one recording, the questions with the shortest prompts first."""
    added, limit = STYLES[style]
    prompts = [TURN.format(question["question"] + added) for question in questions]
    order = sorted(range(len(prompts)), key=lambda n: len(prompts[n]))
    step = max(rows // (SAMPLES + 1), 1)
    for start in range(0, len(order), step):
        part = order[start : start + step]
        written = recorder.write([prompts[n] for n in part], limit)
        texts = recorder.tokenizer.decode_batch([one.tokens for own in written for one in own])
        for place, n in enumerate(part):
            own = texts[place * (SAMPLES + 1) : (place + 1) * (SAMPLES + 1)]
            row = _row(questions[n], own, written[place])
            row["answer"]["token_texts"] = _token_texts(recorder.tokenizer, written[place][0].tokens)
            yield row
        if start == 0:
            tried = [(prompts[part[0]], one) for one in written[0][:4]]
            gaps = [abs(recorder.weigh(prompt, one.tokens) - sum(one.logprobs)) for prompt, one in tried]
            print(f"  plain passes give the same to {max(gaps):.3f}: {own[0].strip()!r}", flush=True)


def _token_texts(tokenizer: Any, tokens: Sequence[int]) -> list[str]:
    """The text that each token adds to those before it; a character cut in two belongs to its last token."""
    said = [tokenizer.decode(list(tokens[:end])).rstrip("\ufffd") for end in range(len(tokens) + 1)]
    return [
        text[len(before) :]
        for before, text in itertools.pairwise(itertools.accumulate(said, lambda *both: max(both, key=len)))
    ]


def _row(question: dict[str, Any], texts: Sequence[str], written: Sequence[Written]) -> dict[str, Any]:
    answer, *samples = [
        {
            "text": text.strip(),
            "tokens": one.tokens,
            "complete": one.complete,
            "logprob": round(sum(one.logprobs), 6),
            "token_logprobs": [round(value, 4) for value in one.logprobs],
        }
        for text, one in zip(texts, written, strict=True)
    ]
    answer["sampling_logprob"] = answer.pop("logprob")
    answer["sampling_token_logprobs"] = answer.pop("token_logprobs")
    answer["token_entropies"] = [round(value, 4) for value in written[0].entropies]
    answer["correct"] = right(
        *(question[key] for key in ("dataset", "question", "references")), answer["text"]
    )
    about = {key: value for key, value in question.items() if key != "dataset"}
    return {**about, "answer": answer, "samples": samples}


def save(path: Path, dataset: str, style: str, rows: Sequence[dict[str, Any]]) -> None:
    """A recording, complete or not there at all."""
    header = {
        "semtropy_recording": 1, "model": MODEL, "dataset": dataset, "temperature": 1.0, "eos_included": True,
        "answer_temperature": 0, "style": style,
    }  # fmt: skip
    part = path.with_suffix(".part")
    with gzip.open(part, "wt", encoding="utf-8") as file:
        for row in (header, *rows):
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
    part.rename(path)


def main() -> None:
    """Make the recordings that are not there yet, the quick ones first."""
    parser = argparse.ArgumentParser(prog="python -m training.record", description=__doc__)
    parser.add_argument("build", type=Path, help="folder with qwen.bin, qwen.json and qwen-tokenizer.json")
    parser.add_argument("questions", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=4000, help="answers written at once")
    parser.add_argument("--limit", type=int, help="questions of each dataset")
    parser.add_argument("--style", choices=STYLES, action="append", help="one style, not both")
    arguments = parser.parse_args()
    from tokenizers import Tokenizer

    started = time.time()
    torch.manual_seed(26)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    build = arguments.build
    weights = tensors(build / "qwen.bin", build / "qwen.json", device)
    recorder = Recorder(Writer(weights, Tokenizer.from_file(str(build / "qwen-tokenizer.json")), device))
    print(f"loaded {time.time() - started:.0f} s", flush=True)
    by_dataset = defaultdict(list)
    for question in json.loads(arguments.questions.read_text("utf-8")):
        by_dataset[question["dataset"]].append(question)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for style in arguments.style or STYLES:
        for dataset, questions in by_dataset.items():
            path = arguments.out / f"{MODEL}--{dataset}-{style}.jsonl.gz"
            if path.exists():
                continue
            rows = list(record(recorder, questions[: arguments.limit], style, arguments.rows))
            save(path, dataset, style, rows)
            samples = [sample for row in rows for sample in row["samples"]]
            length = sum(len(sample["tokens"]) for sample in samples) / len(samples)
            whole = sum(sample["complete"] for sample in samples) / len(samples)
            print(
                f"{path.name}: {len(rows)} questions, {length:.0f} tokens a sample, {whole:.0%} complete, "
                f"{path.stat().st_size / 1e6:.1f} MB, {time.time() - started:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
