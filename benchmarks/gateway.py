"""What the gateway adds to a stream's first token, and 64 clients for a minute against an upstream with faults.

The faults: statuses 500 and 429, replies cut in the middle, broken gzip, halves of characters. With one worker and
with three, every client has its answer or the upstream's error, none is turned away, and memory does not grow.

    python -m benchmarks.gateway [--seconds 60] [--clients 64] [--json OUT]

The upstream is scripted and answers from loopback, so that what is left is the gateway's own. Direct and through
requests alternate within one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

LIMIT_MS = 5.0
ROUNDS = 200
WORKERS = (1, 3)
FAULTS = {3: 500, 5: "cut", 7: 429, 11: "gzip", 2: "surrogate"}
"""What becomes of every 13 * N-th request to the upstream, the first that applies."""
TURNED_AWAY = "429 from the gateway"


def answers(prompt: str) -> dict[str, float]:
    """Each prompt has an answer of its own, so that a reply given to the wrong client is seen."""
    return {f"the answer to {prompt} is this": 1.0}


@contextmanager
def upstream(faults: bool) -> Iterator[str]:
    """The scripted upstream in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.gateway", "--upstream", *(["--faults"] if faults else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@contextmanager
def gateway(base: str, *flags: str) -> Iterator[tuple[str, int]]:
    """`semtropy serve` in a process of its own: its address and process id."""
    port = free_port()
    command = [sys.executable, "-m", "semtropy", "serve", "--port", str(port), "--judge", "exact"]
    command += ["--upstream", f"{base}/v1", "--log-level", "error", *flags]
    with subprocess.Popen(command) as process:
        address = f"http://127.0.0.1:{port}"
        try:
            wait_until_ready(address, process)
            yield address, process.pid
        finally:
            process.terminate()


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


def wait_until_ready(address: str, process: subprocess.Popen[bytes]) -> None:
    """Until /readyz says so; a gateway that ends or takes a minute is an error."""
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the gateway ended with status {process.returncode}")
        try:
            if httpx.get(f"{address}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise RuntimeError("the gateway was not ready within a minute")


def body(prompt: str, *, stream: bool = True) -> dict[str, Any]:
    """A request whose check is remembered, so that only the passing through is measured."""
    return {"model": "m", "messages": [{"role": "user", "content": prompt}], "stream": stream}


async def overhead() -> dict[str, float]:
    """Medians of time to first token, direct and through, request by request in turn."""
    with upstream(faults=False) as base, gateway(base) as (address, _):
        async with httpx.AsyncClient(timeout=30) as client:
            times: dict[str, list[float]] = {base: [], address: []}
            for number in range(ROUNDS + 20):
                for to in (base, address):
                    took = await _streamed(client, to, f"question {number % 5}")
                    if number >= 20:  # connections and caches are warm
                        times[to].append(took)
    direct, through = statistics.median(times[base]), statistics.median(times[address])
    return {"direct_ms": direct, "through_ms": through, "added_ms": through - direct}


async def _streamed(client: httpx.AsyncClient, address: str, prompt: str) -> float:
    start, found = time.perf_counter(), None
    async with client.stream("POST", f"{address}/v1/chat/completions", json=body(prompt)) as reply:
        async for _ in reply.aiter_raw():
            if found is None:
                found = 1e3 * (time.perf_counter() - start)
    assert found is not None
    return found


async def load(address: str, pid: int, *, clients: int, seconds: float) -> dict[str, Any]:
    """Clients that ask as fast as they are answered; what came of every request, and the gateway's own count."""
    outcome: Counter[str] = Counter()
    memory: list[int] = []
    until = time.monotonic() + seconds

    async def one(number: int, client: httpx.AsyncClient) -> None:
        turn = 0
        while time.monotonic() < until:
            turn += 1
            prompt = f"{number}-{turn}"
            outcome[await asked(client, address, prompt, stream=turn % 2 == 0)] += 1

    async def watch() -> None:
        while time.monotonic() < until:
            memory.append(resident(pid))
            await asyncio.sleep(min(1.0, seconds / 10))

    limits = httpx.Limits(max_connections=clients)
    async with httpx.AsyncClient(timeout=60, limits=limits) as client:
        await asyncio.gather(watch(), *(one(number, client) for number in range(clients)))
        page = (await client.get(f"{address}/metrics")).text
    return {"outcome": dict(outcome), "counted": counted(page), "memory_mb": memory}


async def asked(client: httpx.AsyncClient, address: str, prompt: str, *, stream: bool) -> str:
    """Ask once; what came of it in a word, "mixed up" being the worst of them."""
    try:
        reply = await client.post(f"{address}/v1/chat/completions", json=body(prompt, stream=stream))
    except httpx.TransportError as error:
        return f"lost: {error!r}"
    if reply.status_code != 200:
        return refusal(reply)
    right = f"the answer to {prompt} is this"
    if stream:
        chunks = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
        if any("error" in chunk for chunk in chunks):
            return "upstream's error in the stream"
        if not reply.text.endswith("data: [DONE]\n\n"):
            return "lost: a stream without its end"
        text = "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"])
        told = chunks[-1].get("semtropy", {})
    else:
        data = reply.json()
        text, told = data["choices"][0]["message"]["content"], data.get("semtropy", {})
    # Every so often half a character follows the answer, which the verdict shows as a replacement character.
    if text.removesuffix(" \ud800") != right:
        return "mixed up"
    if "answer" in told and told["answer"].removesuffix(" \ufffd") != right:
        return "mixed up"
    return "verdict" if "entropy" in told else "no verdict"


def refusal(reply: httpx.Response) -> str:
    """Whose error it is, its status first: the upstream's own begin with "scripted"."""
    status, message = reply.status_code, str(reply.json()["error"]["message"])
    if message.startswith("scripted"):
        return f"{status} from the upstream"
    if status == 502:
        return "502 for a broken reply"
    return TURNED_AWAY if status == 429 else f"lost: {status} from the gateway"


def resident(pid: int) -> int:
    """Megabytes of memory that a process and its workers hold, 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        workers = {int(child) for task in tasks for child in (task / "children").read_text().split()}
    except OSError:
        return 0
    return pages * 4096 // 1_000_000 + sum(resident(worker) for worker in workers)


def counted(page: str) -> dict[str, int]:
    """Requests by status, as /metrics has them."""
    found = {}
    for line in page.splitlines():
        if line.startswith('semtropy_requests_total{route="/v1/chat/completions"'):
            name, value = line.rsplit(" ", 1)
            found[name.partition('status="')[2].partition('"')[0]] = int(float(value))
    return found


def fair(found: dict[str, Any], *, crowded: bool = False) -> list[str]:
    """What is wrong with a load: nothing, if all is well. Only a `crowded` gateway may turn clients away."""
    wrong = []
    outcome, counts = found["outcome"], found["counted"]
    if outcome.get(TURNED_AWAY) and not crowded:
        wrong.append(f"{outcome[TURNED_AWAY]} requests were turned away by a gateway that had room for them")
    if outcome.get("mixed up"):
        wrong.append(f"{outcome['mixed up']} replies went to the wrong client")
    wrong += [f"{count} requests {kind}" for kind, count in outcome.items() if kind.startswith("lost")]
    if sum(outcome.values()) != sum(counts.values()):
        wrong.append(f"{sum(outcome.values())} requests were made, {sum(counts.values())} counted")
    seen = Counter(dict.fromkeys(("429", "500", "502", "504"), 0))
    for kind, count in outcome.items():
        if kind[:3] in seen:
            seen[kind[:3]] += count
    wrong += [
        f"{count} replies of {status}, {counts.get(status, 0)} counted"
        for status, count in seen.items()
        if count != counts.get(status, 0)
    ]
    half = found["memory_mb"][len(found["memory_mb"]) // 2 :]
    if half and half[-1] > 1.05 * half[0] + 2:
        wrong.append(f"memory grew from {half[0]} to {half[-1]} MB in the second half")
    return wrong


def moments(memory: list[int], seconds: float, count: int = 6) -> str:
    """The memory at evenly spaced moments.

    >>> moments([90, 110, 112, 112, 112], 60, 3)
    '90 MB at 0 s, 112 MB at 30 s, 112 MB at 60 s'
    """
    last = len(memory) - 1
    places = [k * last // (count - 1) for k in range(count)]
    return ", ".join(f"{memory[at]} MB at {seconds * at / last:.0f} s" for at in places)


def run_upstream(faults: bool) -> None:
    """Serve the scripted upstream until ended, its address on the first line."""
    from tests.helpers.openai_upstream import Upstream, served

    def fault(number: int) -> Any:
        return next((kind for every, kind in FAULTS.items() if faults and number % (every * 13) == 0), None)

    logging.getLogger("uvicorn.error").disabled = True  # it would tell of every connection cut on purpose
    with served(Upstream(answers, fault=fault, keep=False)) as url:
        print(url, flush=True)
        while True:
            time.sleep(1)


def main() -> int:
    parser = argparse.ArgumentParser(description="Time to first token, and a load with faults.")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the load lasts")
    parser.add_argument("--clients", type=int, default=64, help="how many ask at once")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--upstream", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--faults", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.upstream:
        run_upstream(arguments.faults)
    added = asyncio.run(overhead())
    print(
        f"time to first token, median of {ROUNDS}: {added['direct_ms']:.2f} ms direct, "
        f"{added['through_ms']:.2f} ms through the gateway: {added['added_ms']:+.2f} ms (at most {LIMIT_MS:g})"
    )
    loads = {workers: under_load(workers, arguments.clients, arguments.seconds) for workers in WORKERS}
    wrong = [f"{workers} workers: {fault}" for workers, found in loads.items() for fault in fair(found)]
    print("\n".join(wrong) or "no request lost or mixed up; /metrics agrees with the clients")
    if arguments.json:
        arguments.json.write_text(json.dumps({"first_token": added, "load": loads, "wrong": wrong}, indent=1))
    return int(bool(wrong) or added["added_ms"] > LIMIT_MS)


def under_load(workers: int, clients: int, seconds: float) -> dict[str, Any]:
    """A load with faults, and a line about it."""
    # A small cache is full within seconds: memory that still grows after that is a leak.
    flags = ("--cache-size", "200", "--workers", str(workers))
    with upstream(faults=True) as base, gateway(base, *flags) as (address, pid):
        found = asyncio.run(load(address, pid, clients=clients, seconds=seconds))
    total = sum(found["outcome"].values())
    print(f"{workers} workers, {clients} clients, {seconds:g} s: {total} requests, {found['outcome']}")
    print(f"memory: {moments(found['memory_mb'], seconds)}", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
