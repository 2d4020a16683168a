"""Verdicts as OpenTelemetry events: with the SDK's in-memory exporter, and with a collector on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("opentelemetry.sdk", reason="needs the OpenTelemetry SDK: pip install opentelemetry-sdk")

from opentelemetry import _logs, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider

from doc_scripts import shown_and_printed
from semtropy import Budget, Verdict, check
from semtropy.checking import Checker
from semtropy.integrations.opentelemetry import EVENT, event_attributes, record_verdict
from semtropy.models import ScriptedModel

STEADY, TORN = {"Paris": 1.0}, {"Paris": 0.4, "Lyon": 0.3, "Rome": 0.3}
TRACER = TracerProvider().get_tracer("test")


@pytest.fixture(scope="module")
def exporter() -> InMemoryLogRecordExporter:
    """A logger provider can be set once in a process, so that all tests share it."""
    made = InMemoryLogRecordExporter()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(made))
    _logs.set_logger_provider(provider)
    return made


@pytest.fixture
def events(exporter: InMemoryLogRecordExporter) -> Any:
    """What was sent during the test."""
    exporter.clear()
    return lambda: [each.log_record for each in exporter.get_finished_logs()]


def checked(answers: dict[str, float], **options: Any) -> Verdict:
    return check("Capital of France?", model=ScriptedModel(default=answers), judge="exact", rng=1, **options)


@pytest.mark.parametrize(("answers", "label"), [(STEADY, "steady"), (TORN, "flagged")])
def test_a_check_sends_one_event_under_the_span(events: Any, answers: dict[str, float], label: str) -> None:
    with TRACER.start_as_current_span("chat m") as span:
        verdict = checked(answers)
    (event,) = events()
    assert event.event_name == EVENT == "gen_ai.evaluation.result"
    assert event.span_id == span.get_span_context().span_id
    assert event.attributes["gen_ai.evaluation.name"] == "semantic_entropy"
    assert event.attributes["gen_ai.evaluation.score.label"] == label == str(verdict.outcome)
    score = event.attributes["gen_ai.evaluation.score.value"]
    assert 0 <= score <= 1
    assert (score > 0.5) == (label == "steady")


def test_the_event_has_no_text_of_the_prompt_or_the_answers(events: Any) -> None:
    checked(TORN)
    (event,) = events()
    written = json.dumps(dict(event.attributes))
    assert not any(word in written for word in ("Paris", "Lyon", "Rome", "Capital", "France"))


async def asked() -> Verdict:
    return await Checker.load(model=ScriptedModel(default=STEADY), judge="exact").acheck("Capital?")


def test_an_awaited_check_sends_one_too(events: Any) -> None:
    import asyncio

    asyncio.run(asked())
    assert len(events()) == 1


def test_unknown_is_left_out() -> None:
    """An estimator without a distribution has no score; an event without a value is allowed."""
    attributes = event_attributes(checked(STEADY, estimator="histogram", budget=Budget(samples=2)))
    assert "gen_ai.evaluation.score.value" not in attributes
    assert None not in attributes.values()


def test_a_stored_verdict_can_be_sent(events: Any) -> None:
    stored = Verdict.from_json(checked(STEADY).to_json())
    assert record_verdict(stored)
    assert len(events()) == 2


ALONE = """
import sys
import semtropy
from semtropy.models import ScriptedModel
from semtropy.tracing import record_verdict

def once():
    return semtropy.check("Capital?", model=ScriptedModel(default={"Paris": 1.0}), judge="exact", rng=1)

verdict = once()
assert "opentelemetry" not in sys.modules, "importing semtropy imports nothing of OpenTelemetry"
assert not record_verdict(verdict)
from opentelemetry import trace
assert not record_verdict(verdict), "no provider is set"
from opentelemetry.sdk.trace import TracerProvider
with TracerProvider().get_tracer("t").start_as_current_span("chat m") as span:
    once()
assert [event.name for event in span.events] == ["gen_ai.evaluation.result"], span.events
"""


def test_without_a_provider_nothing_and_with_spans_alone_a_span_event() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Collector(BaseHTTPRequestHandler):
    """Keeps what is sent to /v1/logs."""

    received: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.received.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *words: Any) -> None:
        pass


def test_a_collector_gets_it_over_the_wire() -> None:
    exporters = pytest.importorskip(
        "opentelemetry.exporter.otlp.proto.http._log_exporter", reason="needs the OpenTelemetry OTLP exporter"
    )
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    Collector.received.clear()
    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/v1/logs"
        provider = LoggerProvider()
        exporter = exporters.OTLPLogExporter(
            endpoint=address, compression=exporters.Compression.NoCompression
        )
        provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
        provider.get_logger("semtropy").emit(
            _logs.LogRecord(event_name=EVENT, attributes=event_attributes(checked(STEADY)))
        )
        provider.shutdown()
        server.shutdown()
    request = ExportLogsServiceRequest.FromString(Collector.received[0])
    record = request.resource_logs[0].scope_logs[0].log_records[0]
    assert record.event_name == EVENT
    labels = {each.key: each.value.string_value for each in record.attributes}
    assert labels["gen_ai.evaluation.score.label"] == "steady"


def test_the_gateway_sends_one_under_the_span_of_the_client(events: Any) -> None:
    httpx = pytest.importorskip("httpx", reason="needs httpx")
    pytest.importorskip("fastapi", reason="needs FastAPI")
    from openai_upstream import Upstream, served
    from semtropy.server.app import create_app
    from semtropy.server.settings import Settings

    upstream = Upstream(lambda prompt: {"Paris": 1.0})
    span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with (
        served(upstream) as url,
        served(create_app(Settings(upstream=f"{url}/v1", judge="exact"))) as gateway,
    ):
        body = {"model": "m", "messages": [{"role": "user", "content": "Capital of France?"}]}
        reply = httpx.post(
            f"{gateway}/v1/chat/completions", json=body, headers={"traceparent": span}, timeout=60
        )
    assert reply.json()["semtropy"]["outcome"] == "steady"
    (event,) = events()
    assert f"{event.trace_id:032x}" == span.split("-")[1]
    assert f"{event.span_id:016x}" == span.split("-")[2]
    assert upstream.headers[0]["traceparent"] == span
    assert trace.get_current_span().get_span_context().is_valid is False


def test_the_script_of_the_page_prints_what_it_shows(tmp_path: Path) -> None:
    shown, printed = shown_and_printed("opentelemetry.md", tmp_path)
    assert printed == shown
