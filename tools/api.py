"""The page of the Python interface: every public name with its signature, parameters or fields, and an example."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, is_typeddict

from .docstrings import Docstring, constant_docstrings, field_comments, read
from .examples import imports_for
from .markdown import anchor

__all__ = [
    "MADE",
    "MOST",
    "PUBLIC",
    "api_page",
    "private_examples",
    "public_names",
    "too_many",
    "undescribed",
    "undescribed_members",
    "without_example",
]

# The public interface: what these list in `__all__`, and nothing else. Other modules may change at any time.
PUBLIC = (
    "semtropy",
    "semtropy.scorers",
    "semtropy.estimators",
    "semtropy.entropy",
    "semtropy.meaning",
    "semtropy.claims",
    "semtropy.models",
    "semtropy.testing",
    "semtropy.recording",
    "semtropy.study",
    "semtropy.study.generate",
    "semtropy.study.evaluate",
    "semtropy.study.calibrate",
    "semtropy.integrations",
)
MOST = 88
INTRODUCTION = """Everything listed here is public: documented, tested, and changed only with a line in the changelog.
All other modules and names are private, whether or not they begin with an underscore.
Entropies are in nats, log-probabilities are natural logarithms, and `None` always means unknown."""
MADE = "<!-- made by `make docs`: change the code, not this page -->"
WIDTH = 88
STARS: dict[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def modules() -> list[ModuleType]:
    """The public modules that exist, in the order of the page."""
    return [import_module(name) for name in PUBLIC if find_spec(name)]


def public_names() -> dict[str, list[str]]:
    """The names each public module documents; a name that several list stands where it comes first."""
    found: dict[str, list[str]] = {}
    listed: set[int] = set()
    for module in modules():
        own = []
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if isinstance(value, ModuleType) or (callable(value) and id(value) in listed):
                continue
            listed.add(id(value))
            own.append(name)
        found[module.__name__] = own
    return found


def too_many(names: dict[str, list[str]]) -> Iterator[str]:
    """A sentence when the interface has grown past `MOST` names.

    >>> list(too_many({"semtropy": ["check"]}))
    []
    """
    total = sum(map(len, names.values()))
    if total > MOST:
        yield f"{total} public names, more than {MOST}: make some private, or raise MOST in tools/api.py for a reason"


def documented() -> Iterator[tuple[str, Docstring, list[str]]]:
    """Every public class and function: its name, its docstring, and its parameters or fields."""
    for module, names in public_names().items():
        for name in names:
            value = getattr(import_module(module), name)
            if isinstance(value, type) or inspect.isroutine(value):
                yield f"{module}.{name}", *parts(value)


def undescribed() -> Iterator[str]:
    """Parameters and fields of public names that no docstring describes, as sentences."""
    for name, doc, fields in documented():
        yield from (f"{name}: nothing describes {one}" for one in fields if one not in doc.described)


def undescribed_members() -> Iterator[str]:
    """Methods and properties of public classes, and public constants, that nothing describes."""
    for module, names in public_names().items():
        home = import_module(module)
        for name in names:
            value = getattr(home, name)
            if isinstance(value, type):
                yield from (
                    f"{module}.{name}: nothing describes {row}"
                    for rows in members(value)
                    for row in rows.splitlines()
                    if ": " not in row or row.endswith(": Call self as a function.")
                )
            elif not inspect.isroutine(value) and name not in constant_docstrings(home):
                yield f"{module}.{name}: a constant without a docstring below it"


def private_examples() -> Iterator[str]:
    """Private names that the examples of public names need."""
    public = public_names()
    for module, names in public.items():
        for name in names:
            value = getattr(import_module(module), name)
            if isinstance(value, type) or inspect.isroutine(value):
                used = imports_for(parts(value)[0].example, value.__module__, public)[1]
                yield from (f"{module}.{name}: the example uses {one}, which is private" for one in used)


def without_example() -> Iterator[str]:
    """Public classes and functions whose docstring shows no example."""
    yield from (name for name, doc, _ in documented() if not doc.example)


def api_page() -> str:
    """The whole page."""
    names = public_names()
    headings: Counter[str] = Counter()
    contents = []
    for module, own in names.items():
        place = anchor(module, headings)
        listed = ", ".join(f"[`{name}`](#{anchor(name, headings)})" for name in own)
        contents.append(f"- [`{module}`](#{place}): {listed}".removesuffix(": "))
    made = ["# The Python interface", MADE, INTRODUCTION, "\n".join(contents)]
    for module, own in names.items():
        home = import_module(module)
        made += [f"## {module}", *read(inspect.getdoc(home) or "").paragraphs_with_summary()]
        for name in own:
            made += entry(name, getattr(home, name), home)
    return "\n\n".join(part for part in made if part) + "\n"


def entry(name: str, value: Any, home: ModuleType | None = None) -> list[str]:
    """One name: a heading, how it is called, what it is, what it takes, what it has, and an example."""
    if not isinstance(value, type) and not inspect.isroutine(value):
        return [f"### {name}", *constant(name, value, home)]
    doc, fields = parts(value)
    made = [f"### {name}"]
    if how := call(name, value):
        made.append(f"```text\n{how}\n```")
    made += doc.paragraphs_with_summary()
    if fields:
        word = "field" if dataclasses.is_dataclass(value) or is_typeddict(value) else "parameter"
        made.append(table(word, fields, doc))
    if doc.returns:
        made.append(f"Returns {doc.returns}")
    if isinstance(value, type):
        made += members(value)
    if doc.example:
        lines = imports_for(doc.example, value.__module__, public_names())[0] if home else []
        session = "\n".join([*(f">>> {line}" for line in lines), doc.example])
        made.append(f"```pycon\n{session}\n```")
    return made


def parts(value: Any) -> tuple[Docstring, list[str]]:
    """The docstring, and the names of the parameters or fields."""
    fields = parameters(value)
    doc = read(own_doc(value), fields)
    for shared in shared_options(value):
        described = read(own_doc(shared), fields).described
        doc = dataclasses.replace(doc, described={**described, **doc.described})
    if isinstance(value, type):
        if "__init__" in vars(value) and not dataclasses.is_dataclass(value):
            own = read(constructor(value).__doc__ or "", fields)
            doc = dataclasses.replace(doc, described={**own.described, **doc.described})
        doc = dataclasses.replace(doc, described={**field_comments(value), **doc.described})
    return doc, fields


def shared_options(value: Any) -> list[Any]:
    """What else describes the parameters: the class in `**options: Unpack[Options]`."""
    spelled_out = str(getattr(value, "__annotations__", {}).get("options", ""))
    names = re.findall(r"^Unpack\[(\w+)\]$", spelled_out)
    return [value.__globals__[name] for name in names if name in getattr(value, "__globals__", {})]


def own_doc(value: Any) -> str:
    """The docstring, unless it is only the signature that `dataclass` writes."""
    doc = inspect.getdoc(value) or ""
    return "" if doc.startswith(f"{getattr(value, '__name__', '')}(") else doc


def parameters(value: Any) -> list[str]:
    """What a function or a constructor takes, or a value holds."""
    if isinstance(value, type):
        if is_typeddict(value):
            return list(value.__annotations__)
        if issubclass(value, (Enum, BaseException)) or getattr(value, "_is_protocol", False):
            return []
        if constructor(value) is object.__init__:
            return []
    hidden = "_" if dataclasses.is_dataclass(value) else "self"
    return [name for name in inspect.signature(value).parameters if not name.startswith(hidden)]


def constructor(kind: type) -> Any:
    """The class's `__init__`, read so that a type checker does not mind."""
    return inspect.getattr_static(kind, "__init__")


def spelled(annotation: object) -> str:
    """A type as the source writes it."""
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\bForwardRef\('([^']*)'\)", r"\1", text)
    return re.sub(r"\b(?:semtropy|typing|collections\.abc)\.(?:\w+\.)*", "", text)


def default(value: object) -> str:
    """A default as one would type it; `...` where its form may differ from machine to machine."""
    if value is inspect.Parameter.empty:
        return ""
    if value is None or isinstance(value, (bool, int, float, str, tuple)):
        return repr(value)
    return "..."


def call(name: str, value: Any) -> str:
    """The signature with types, one parameter a line where it is long; nothing for values one does not make."""
    if isinstance(value, type) and (
        getattr(value, "_is_protocol", False)
        or issubclass(value, (Enum, BaseException))
        or is_typeddict(value)
    ):
        return ""
    if isinstance(value, type) and not parameters(value):
        return ""
    shown = arguments(value, types=True)
    result = "" if isinstance(value, type) else spelled(inspect.signature(value).return_annotation)
    word = "async " if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value) else ""
    head, tail = f"{word}{name}(", f") -> {result}" if result else ")"
    whole = head + ", ".join(shown) + tail
    return whole if len(whole) <= WIDTH else head + "".join(f"\n    {one}," for one in shown) + f"\n{tail}"


def table(word: str, fields: list[str], doc: Docstring) -> str:
    """Parameters or fields as a table. Types and defaults stand in the signature above it."""
    rows = [
        f"| `{name}` | {text} |"
        for name in fields
        if (text := doc.described.get(name, "").replace("|", "\\|"))
    ]
    return "\n".join([f"| {word} | |", "|---|---|", *rows]) if rows else ""


def members(kind: type) -> list[str]:
    """Public methods and properties with their first line; members of an enumeration; kinds of an error."""
    if issubclass(kind, Enum):
        return ["\n".join(f"- `{one.name}`: {one.value}" for one in kind)]
    if issubclass(kind, BaseException):
        return ["\n".join(tree(kind))] if kind.__subclasses__() else []
    rows = []
    for name, value in vars(kind).items():
        if name == "__call__" and getattr(kind, "_is_protocol", False):
            rows.append(
                f"- called with `({', '.join(arguments(value, types=True))})`: {first_line(value)}".removesuffix(
                    ": "
                )
            )
        if name.startswith("_"):
            continue
        if isinstance(value, property) or type(value).__name__ == "cached_property":
            rows.append(f"- `{name}`: {first_line(value)}")
        elif isinstance(value, (classmethod, staticmethod)) or inspect.isfunction(value):
            bound = getattr(kind, name)
            rows.append(
                f"- `{name}({', '.join(arguments(bound, types=False))})`: {first_line(bound)}".removesuffix(
                    ": "
                )
            )
    return ["\n".join(rows)] if rows else []


def arguments(value: Any, *, types: bool) -> list[str]:
    """The parameters as in a `def`, with their defaults, and with types or without."""
    shown: list[str] = []
    for name, parameter in inspect.signature(value).parameters.items():
        if name == "self" or (dataclasses.is_dataclass(value) and name.startswith("_")):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not any(one.startswith("*") for one in shown):
            shown.append("*")
        stars = STARS.get(parameter.kind, "")
        kind = (
            f": {spelled(parameter.annotation)}"
            if types and parameter.annotation is not parameter.empty
            else ""
        )
        equals = " = " if kind else "="
        given = default(parameter.default)
        shown.append(f"{stars}{name}{kind}{equals + given if given else ''}")
    return shown


def tree(error: type[BaseException], depth: int = 0) -> Iterator[str]:
    """Every kind of an error, indented below the one it is a kind of."""
    for kind in sorted(error.__subclasses__(), key=lambda one: one.__name__):
        if kind.__module__.startswith("semtropy."):
            yield f"{'  ' * depth}- `{kind.__name__}`: {first_line(kind)}"
            yield from tree(kind, depth + 1)


def first_line(value: object) -> str:
    return (inspect.getdoc(value) or "").strip().partition("\n\n")[0].replace("\n", " ")


def constant(name: str, value: object, home: ModuleType | None) -> list[str]:
    """A tuple of names: what it is, the names, and how to get it."""
    said = constant_docstrings(home).get(name, "") if home else ""
    values = ", ".join(f"`{one}`" for one in value) if isinstance(value, tuple) else f"`{value!r}`"
    return [said, values] if said else [values]
