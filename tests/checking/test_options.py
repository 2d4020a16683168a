"""One table of options: what is declared there is a keyword argument, a flag, a setting, a key of a request."""

from __future__ import annotations

import argparse
import inspect
from dataclasses import fields

import pytest

import semtropy
from semtropy import options
from semtropy.cli import _options, parser
from semtropy.errors import InputError
from semtropy.integrations.bridge import Bridge
from semtropy.options import FLAGS, OPTIONS, Flag, Options, QuestionOptions
from semtropy.stopping import VarianceBelow, rule_of


def test_the_signature_of_check_is_the_table() -> None:
    for function in (semtropy.check, semtropy.acheck, semtropy.stream, semtropy.astream):
        prompt, *named = inspect.signature(function).parameters.values()
        assert prompt.name == "prompt"
        assert {each.name: each.default for each in named} == {
            name: option.default for name, option in OPTIONS.items()
        }
    assert {each.annotation for each in named if each.name in ("claims", "threshold")} == {
        "str | None",
        "float",
    }


def test_what_concerns_a_question_has_the_type_of_the_option() -> None:
    for name, kind in QuestionOptions.__annotations__.items():
        assert Options.__annotations__[name].__origin__.__forward_arg__ == kind.__forward_arg__


def test_every_option_is_described_in_the_docstring() -> None:
    assert Options.__doc__ is not None
    lines = Options.__doc__.splitlines()
    for name, option in OPTIONS.items():
        assert any(line.startswith(f"{name} ") and option.about.split()[0] in line for line in lines), name


def test_a_flag_in_the_table_is_one_of_the_command_line_and_of_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    added = Flag("a_new_one", "what it does", kind=float, metavar="X", config=True)
    monkeypatch.setitem(options.FLAGS, "a_new_one", added)
    arguments = parser(["check"]).parse_args(["check", "Why?", "--a-new-one", "2"])
    assert arguments.a_new_one == 2.0
    file = tmp_path_factory.mktemp("config") / "semtropy.toml"
    file.write_text("a_new_one = 3")
    _options.read_config(str(file), arguments, ["check", "Why?"])
    assert arguments.a_new_one == 3.0
    _options.read_config(str(file), argparse.Namespace(), [])  # a command without the flag


def test_every_flag_is_on_the_command_line_with_the_default_of_its_option() -> None:
    arguments = vars(parser(["check"]).parse_args(["check", "Why?"]))
    for flag in FLAGS.values():
        assert arguments[flag.name] == (flag.default or (False if flag.kind is bool else None)), flag.name


def test_settings_and_requests_take_their_texts_and_limits_from_the_table() -> None:
    pytest.importorskip("pydantic", reason="needs pydantic, which comes with the extra server")
    from semtropy.server.schemas import BudgetOptions, CheckRequest, RuleOptions
    from semtropy.server.settings import Settings

    known = {each.name: each for each in fields(Settings)}
    for flag in FLAGS.values():
        if flag.setting is not None:
            assert known[flag.name].metadata["help"] == flag.setting
            assert known[flag.name].metadata["least"] == flag.setting_least
    keys = {}
    for schema in (CheckRequest, RuleOptions):
        keys |= schema.model_json_schema(by_alias=True)["properties"]
    budget = BudgetOptions.model_json_schema()["properties"]
    keys |= {f"max_{name}": value for name, value in budget.items()}
    for flag in FLAGS.values():
        assert not flag.request or flag.name in keys, flag.name
        assert (
            keys.get(flag.name, {}).get("description") == flag.request.get("description") or not flag.request
        )
    with pytest.raises(InputError, match=r"confidence is 0\.4: a probability"):
        Settings(confidence=0.4)
    with pytest.raises(InputError, match="threshold is inf: an entropy in nats"):
        Settings(threshold=float("inf"))


def test_adapters_take_every_option_but_those_of_the_call() -> None:
    Bridge(**{name: option.default for name, option in OPTIONS.items() if name not in ("answer", "rng")})
    with pytest.raises(
        InputError, match="there is no option colour: choose from max_samples, model, base_url"
    ):
        Bridge(colour="red")


def test_an_unknown_keyword_names_those_there_are() -> None:
    with pytest.raises(
        TypeError, match=r"check has no option max_samples: write budget=Budget\(samples=\.\.\.\)"
    ):
        semtropy.check("Why?", max_samples=5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"check has no option modle: did you mean model\?"):
        semtropy.check("Why?", modle="smollm2")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="check has no option colour: choose one of model, base_url, api_key"):
        semtropy.check("Why?", colour="red")  # type: ignore[call-arg]


def test_the_rule_of_two_numbers() -> None:
    assert rule_of(0.5, 0.1, None) == VarianceBelow(0.1)
    assert rule_of(0.5, None, None) is None


def test_a_number_of_samples_is_told_how_to_limit_them() -> None:
    with pytest.raises(InputError, match=r"to limit how many are drawn, give budget=Budget\(samples=5\)"):
        semtropy.check("x", samples=5)  # type: ignore[arg-type]
