"""What a training is told: a TOML file and `section.key=value` on the command line."""
from __future__ import annotations

import dataclasses
import difflib
import tomllib
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from relucent_search.train import data as readers
from relucent_search.train.deformer import Deformer
from relucent_search.train.errors import TrainingError
from relucent_search.train.families import read_config
from relucent_search.train.hub import model_folder
from relucent_search.train.losses import LOSSES
from relucent_search.train.mir import Mir
from relucent_search.train.mixencoder import MixEncoder
from relucent_search.train.model import CrossEncoder, PairModel
from relucent_search.train.modernbert import ModernBert
from relucent_search.train.parade import Parade
from relucent_search.train.pattern import FLAGS, NAMES, AttentionPattern
from relucent_search.train.poly_encoder import PolyEncoder
from relucent_search.train.two_towers import TwoTowers

DECAYS = ("linear", "cosine", "constant")
SOURCES = ("triples", "scored_triples", "run", "rerank", "scores", "ir_datasets", "docpairs", "labelled")
KEPT = ("best", "last")


@dataclasses.dataclass
class Model:
    base: Path = Path()
    pattern: str | None = None  # full | longformer | qds | sparse (None) | checkpoint (what its config.json has)
    window: int | None = None  # None: the pattern's; -1: unlimited
    cls_query_attention: bool | None = None
    cls_doc_attention: bool | None = None
    query_cls_attention: bool | None = None
    query_doc_attention: bool | None = None
    doc_cls_attention: bool | None = None
    doc_query_attention: bool | None = None
    max_length: int | None = None  # None: 512, or what the engine reads if that is less
    max_query_length: int | None = None  # word pieces; None: the base's limit, if it has one; 0: as many as fit
    dropout: float | None = None  # None: the base's
    labels: list[str] = dataclasses.field(default_factory=list)  # of a classifier; empty: the base's, if it is one

    def load(self, folder: Path | None = None) -> PairModel | TwoTowers | Mir | Parade:
        """The model of that folder, or of the base. Raises TrainingError."""
        folder = folder or self.base
        model: PairModel | TwoTowers | Mir | Parade
        others = {"mixencoder": MixEncoder, "mir": Mir, "parade": Parade, "polyencoder": PolyEncoder}
        model_type = read_config(folder)["model_type"]
        if other := others.get(model_type):
            self._refuse_given(("pattern", "window", "max_query_length", "labels", *FLAGS), other.kind)
            if other in (Mir, Parade) and self.max_length is not None:
                raise TrainingError("key model.max_length", f"does not apply to a {other.kind}",
                                    "remove it: passages are read as the base's config.json states")
            model = other.load(folder)
        elif model_type == "deformer":
            self._refuse_given(("pattern", "window", *FLAGS), Deformer.kind)
            if self.max_query_length == 0:
                raise TrainingError("key model.max_query_length", "is 0, but a Deformer cuts documents by it",
                                    "state the most word pieces of a query")
            model = Deformer.load(folder, labels=self.labels if folder == self.base else ())
            model.query_limit = self.max_query_length or model.query_limit
        else:
            pattern = self.pattern or "sparse"
            if pattern in ("local", "qds"):
                self._refuse_what_is_told(pattern)
            kind = ModernBert if model_type == "modernbert" else CrossEncoder
            if self.labels and kind is ModernBert:
                raise TrainingError("key model.labels", "does not apply to ModernBERT",
                                    "use a BERT or a relative of it")
            model = kind.load(folder, None if pattern == "checkpoint" else AttentionPattern.named(pattern),
                              self.labels if folder == self.base else ())
            flags = {key: getattr(self, key) for key in FLAGS if getattr(self, key) is not None}
            if self.window is not None:
                flags["window"] = None if self.window < 0 else self.window
            model.pattern = dataclasses.replace(model.pattern, **flags)
            if self.max_query_length is not None:
                model.query_limit = self.max_query_length or None
        if self.dropout is not None:
            model.dropout = self.dropout
        return model

    def _refuse_given(self, keys: tuple[str, ...], kind: str) -> None:
        for key in keys:
            if getattr(self, key) not in (None, []):
                raise TrainingError(f"key model.{key}", f"is for cross-encoders, and the base is a {kind}", "remove it")

    def _refuse_what_is_told(self, pattern: str) -> None:
        """The engine's pattern of that name has all flags and a window."""
        for key in FLAGS:
            if getattr(self, key) is not None:
                raise TrainingError(f"key model.{key}", f"cannot be set with the pattern {pattern}", "remove it")
        if self.window is not None and self.window < 0:
            raise TrainingError("key model.window", f"is unlimited, and the pattern {pattern} has a window",
                                "name a window, or another pattern")


@dataclasses.dataclass
class Data:
    """Exactly one of SOURCES, or run and ir_datasets."""

    triples: Path | None = None
    scored_triples: Path | None = None
    run: Path | None = None
    rerank: Path | None = None
    scores: Path | None = None
    ir_datasets: str | None = None
    docpairs: str | None = None
    labelled: Path | None = None  # pairs with labels, for a classifier
    qrels: Path | None = None
    queries: Path | None = None
    documents: Path | None = None
    index: Path | None = None  # of a MIR: whose statistics tell which words of the documents matter
    weights: Path | None = None  # of a MIR, by the documents' ids: weights of their words; else tf * idf,
    log: Path | None = None  # or how many of these queries have the word
    entities: Path | None = None  # likewise: entities in the texts
    scale: float = 1.0  # of the targets
    bands: list[list[int]] = dataclasses.field(default_factory=lambda: [[1, 1, 1], [2, 100, 7]])

    @property
    def graph_origins(self) -> dict[str, Any]:
        """As a MIR's config.json states them."""
        weights = "file" if self.weights else "prf" if self.log else "tfidf"
        return {"graph_weights": weights, "graph_entities": self.entities is not None}

    @property
    def graph_flags(self) -> list[object]:
        """The engine's."""
        flags: list[object] = []
        if self.weights:
            flags += ["--weights", "file", "--weights-file", self.weights]
        if self.log:
            flags += ["--weights", "prf", "--topics", self.log]
        if self.entities:
            flags += ["--entities", self.entities]
        return flags

    def read(self, labels: Sequence[str] = (), say: Callable[[str], None] = lambda _: None) -> readers.TrainingData:
        """labels: of the classifier that is trained; say: gets the progress of long files."""
        if self.labelled:
            return readers.read_labelled(self.labelled, labels)
        if self.ir_datasets:
            return readers.read_ir_datasets(self.ir_datasets, self.run)
        if self.triples:
            return readers.read_triples(self.triples, self.queries, self.documents)
        if self.rerank:
            return readers.read_rerank(self.rerank)
        if self.docpairs:
            return readers.read_docpairs(self.docpairs)
        for key in ("queries", "documents", *(("qrels",) if self.run else ())):
            if getattr(self, key) is None:
                raise TrainingError(f"key data.{key}", "is missing", "name the file that the ids refer to")
        if self.run:
            return readers.read_judged(self.run, self.qrels, self.queries, self.documents)
        if self.scored_triples:
            return readers.read_scored_triples(self.scored_triples, self.queries, self.documents, say)
        return readers.read_scores(self.scores, self.queries, self.documents)


@dataclasses.dataclass
class Training:
    steps: int = 1000
    queries: int = 8  # per step; each with as many candidates as the bands have
    in_batch_negatives: bool = False  # a query's negatives are all candidates of the step, encoded apart from it
    accumulate: int = 1  # parts into which a step's queries are divided, one after another
    learning_rate: float = 2e-5
    weight_decay: float = 0.01
    warmup: float = 0.05  # part of the steps in which the rate rises from 0
    hold: float = 0.0  # part of the steps, from the first, before the rate decays
    decay: str = "linear"
    clip: float = 1.0  # norm of the gradient; 0: none
    bf16: bool | str = False  # "auto": where the device multiplies it natively
    gradient_checkpointing: bool = False
    device: str = "auto"
    threads: int = 0  # 0: PyTorch's choice
    seed: int = 1
    log_every: int = 20
    save_every: int = 200
    tensorboard: bool = False


@dataclasses.dataclass
class Evaluation:
    """Every `every` steps, the program `relucent` rescores and measures the candidates."""

    candidates: Path | None = None
    qrels: Path | None = None
    every: int = 0
    measure: str = "nDCG@10"
    patience: int = 0  # stop after so many evaluations without a better one; 0: never
    keep: str = "best"  # which weights become the checkpoint: those of the best evaluation, or the last


@dataclasses.dataclass
class Settings:
    output: Path = Path()
    program: str = "relucent"
    model: Model = dataclasses.field(default_factory=Model)
    data: Data = dataclasses.field(default_factory=Data)
    loss: dict[str, float] = dataclasses.field(default_factory=dict)  # weights by name; 0: not used
    training: Training = dataclasses.field(default_factory=Training)
    evaluation: Evaluation = dataclasses.field(default_factory=Evaluation)

    def bands(self) -> list[readers.Band]:
        return [readers.Band(*band) for band in self.data.bands]


@dataclasses.dataclass(frozen=True)
class Table:
    """Settings from another place than the recipe."""

    values: Mapping[str, Any]
    where: str  # in messages
    folder: Path  # of relative paths


def read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise TrainingError(file, error.strerror or str(error), "check the path") from None
    except ValueError as error:
        raise TrainingError(file, f"is not TOML ({error})", "correct the line") from None


def load(file: Path | None, changes: Sequence[str] = (), tables: Sequence[Table] = ()) -> Settings:
    """changes: "training.steps=10": a key and a TOML value; any other value is a text. Relative paths in the
    file start at its folder. The file comes first, then the tables, then the changes. Raises TrainingError."""
    settings = Settings()
    if file is not None:
        _fill(settings, read_toml(file), "", str(file), file.parent)
    for table in tables:
        _fill(settings, table.values, "", table.where, table.folder)
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals:
            raise TrainingError(change, "is not a setting", "write section.key=value")
        try:
            parsed = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parsed = value
        values = parsed
        for part in reversed(key.split(".")):
            values = {part: values}
        _fill(settings, values, "", "command line", Path())
    _check(settings)
    return settings


def _fill(target: Any, table: Mapping[str, Any], prefix: str, where: str, folder: Path) -> None:
    hints = typing.get_type_hints(type(target))
    for key, value in table.items():
        place = f"{where}, key {prefix}{key}"
        if key not in hints:
            near = difflib.get_close_matches(key, hints, 1)
            remedy = f"did you mean {near[0]}?" if near else f"known are {', '.join(hints)}"
            raise TrainingError(place, "is unknown", remedy)
        present = getattr(target, key)
        if dataclasses.is_dataclass(present):
            if not isinstance(value, Mapping):
                raise TrainingError(place, "is a section", f"write {prefix}{key}.KEY")
            _fill(present, value, f"{prefix}{key}.", where, folder)
        elif key == "loss":
            _fill_loss(target, value, place)
        elif f"{prefix}{key}" == "model.base" and isinstance(value, str):
            target.base = model_folder(value, folder)
        else:
            setattr(target, key, _converted(value, hints[key], place, folder))


def _fill_loss(settings: Settings, value: Any, place: str) -> None:
    if not isinstance(value, Mapping) or not all(_is_number(weight) for weight in value.values()):
        raise TrainingError(place, "does not give each loss a weight", "write for example kl = 1.0")
    weights = {**settings.loss, **{name: float(weight) for name, weight in value.items()}}
    settings.loss = {name: weight for name, weight in weights.items() if weight != 0}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _converted(value: Any, hint: Any, place: str, folder: Path) -> Any:
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if Path in kinds and isinstance(value, str):
        return folder / Path(value).expanduser()
    if float in kinds and _is_number(value):
        return float(value)
    if bool in kinds and isinstance(value, bool):
        return value
    if int in kinds and isinstance(value, int) and not isinstance(value, bool):
        return value
    if str in kinds and isinstance(value, str):
        return value
    if typing.get_origin(hint) is list and isinstance(value, list):
        return value
    raise TrainingError(place, f"{value!r} is not of type {getattr(kinds[0], '__name__', kinds[0])}", "correct it")


def _check(settings: Settings) -> None:
    def require(condition: bool, key: str, problem: str, remedy: str) -> None:
        if not condition:
            raise TrainingError(f"key {key}", problem, remedy)

    training, data, evaluation = settings.training, settings.data, settings.evaluation
    for key, value in (("output", settings.output), ("model.base", settings.model.base)):
        require(value != Path(), key, "is missing", "name a folder")
    require(settings.model.pattern in (None, *NAMES, "checkpoint"), "model.pattern",
            f"{settings.model.pattern!r} is unknown", f"use one of {', '.join(NAMES)}, checkpoint")
    require(settings.model.max_length is None or settings.model.max_length > 0, "model.max_length", "is not positive",
            "correct it")
    require((settings.model.max_query_length or 0) >= 0, "model.max_query_length", "is negative", "correct it")
    sources = [key for key in SOURCES if getattr(data, key)]
    require(len(sources) == 1 or sources == ["run", "ir_datasets"], "data",
            f"names {len(sources)} sources" + (f" ({', '.join(sources)})" if sources else ""),
            f"name one of {', '.join(SOURCES)}")
    require(bool(data.bands) and all(isinstance(band, list) and len(band) == 3
                                     and all(isinstance(n, int) and n > 0 for n in band) and band[0] <= band[1]
                                     for band in data.bands),
            "data.bands", "is not a list of bands", "write [[first rank, last rank, count], ...]")
    if data.labelled:
        data.bands = [[1, 1, 1]]
        require(set(settings.loss) == {"cross_entropy"}, "loss", "does not suit labels", "write cross_entropy = 1.0")
        require(evaluation.every == 0 or evaluation.measure == "accuracy", "evaluation.measure",
                f"{evaluation.measure!r} does not apply to labels", "write accuracy")
    require(data.labelled is not None or sum(band[2] for band in data.bands) > 1, "data.bands",
            "chooses one candidate", "losses compare several")
    require(data.labelled is not None or not settings.model.labels, "model.labels", "needs data with labels",
            "name the pairs as data.labelled")
    for name in settings.loss:
        require(name in LOSSES, f"loss.{name}", "is unknown", f"known are {', '.join(LOSSES)}")
    require(bool(settings.loss), "loss", "is empty", "write for example kl = 1.0")
    for key in ("steps", "queries", "accumulate", "log_every", "save_every", "learning_rate"):
        require(getattr(training, key) > 0, f"training.{key}", "is not positive", "correct it")
    require(training.queries % training.accumulate == 0, "training.accumulate", "does not divide training.queries",
            "choose parts of equal size")
    for key in ("warmup", "hold"):
        require(0 <= getattr(training, key) <= 1, f"training.{key}", "is not a part of 1", "write for example 0.1")
    require(training.decay in DECAYS, "training.decay", f"{training.decay!r} is unknown", f"use {', '.join(DECAYS)}")
    require(not training.in_batch_negatives or set(settings.loss) == {"localized_contrastive"},
            "training.in_batch_negatives", "is the cross-entropy of a query's positive among all candidates",
            "write localized_contrastive = 1.0 as the only loss")
    require(training.bf16 in (True, False, "auto"), "training.bf16", f"{training.bf16!r} is unknown",
            "use true, false, auto")
    require(evaluation.keep in KEPT, "evaluation.keep", f"{evaluation.keep!r} is unknown", f"use {', '.join(KEPT)}")
    if evaluation.every > 0:
        for key in ("candidates",) if data.labelled else ("candidates", "qrels"):
            require(getattr(evaluation, key) is not None, f"evaluation.{key}", "is missing", "name the file")


def as_toml(settings: Settings) -> str:
    """All settings that have a value, as a file that `load` reads."""
    def lines(table: Mapping[str, Any]) -> list[str]:
        return [f"{key} = {_toml_value(value)}" for key, value in table.items()
                if value is not None and not isinstance(value, dict)]

    table = dataclasses.asdict(settings)
    out = lines(table)
    for section, values in table.items():
        if isinstance(values, dict):
            out += ["", f"[{section}]", *lines(values)]
    return "\n".join(out) + "\n"


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | list):
        return repr(value)
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
