"""The training loop. Whatever is random depends on the seed and the step alone, so that a training that was killed
resumes to the same weights."""
from __future__ import annotations

import contextlib
import csv
import dataclasses
import math
import os
import random
import shutil
import signal
import sys
import time
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from relucent_search.train import engine, mir
from relucent_search.train.card import FinishedTraining, model_card
from relucent_search.train.data import Candidate, CandidateList, TrainingData, choose
from relucent_search.train.errors import TrainingError, naming, writing
from relucent_search.train.in_batch import InBatchNegatives
from relucent_search.train.losses import of_labels, weighted
from relucent_search.train.processes import Processes
from relucent_search.train.settings import Settings, Training, as_toml
from relucent_search.train.tokenizer import PairTokenizer
from relucent_search.train.two_towers import TwoTowers

LOG = ("step", "loss", "learning_rate", "pairs_per_second", "measure")
CHECKED_PAIRS = 32
TOLERANCE = 1e-4


class Interrupted(Exception):  # noqa: N818
    """Raised after a signal, when the state is saved."""


def learning_rate(training: Training, step: int) -> float:
    """The rate at step 0 ...: rises over `warmup`, stays until `hold`, and decays to 0 just after the last step."""
    warm, held = training.warmup * training.steps, training.hold * training.steps
    if step < warm:
        return training.learning_rate * (step + 1) / (warm + 1)
    start = max(warm, held)
    if training.decay == "constant" or step < start:
        return training.learning_rate
    passed = (step - start) / (training.steps - start)
    return training.learning_rate * (1 - passed if training.decay == "linear" else (1 + math.cos(math.pi * passed)) / 2)


Chosen = list[tuple[CandidateList, list[Candidate]]]


def candidates_of_step(data: TrainingData, settings: Settings, step: int) -> Chosen:
    """Each epoch visits every list once, in an order of its own."""
    chosen = []
    for number in range(step * settings.training.queries, (step + 1) * settings.training.queries):
        epoch, place = divmod(number, len(data.lists))
        of_list = data.lists[_order(settings.training.seed, epoch, len(data.lists))[place]]
        generator = random.Random(f"candidates {settings.training.seed} {number}")
        candidates = choose(of_list.candidates, settings.bands(), generator)
        assert candidates is not None  # lists that are too short were left out
        chosen.append((of_list, candidates))
    return chosen


_orders: dict[tuple[int, int, int], array[int]] = {}


def _order(seed: int, epoch: int, size: int) -> array[int]:
    """A permutation, 4 bytes of memory per list."""
    key = (seed, epoch, size)
    if key not in _orders:
        while len(_orders) > 1:  # a step may touch two epochs
            _orders.pop(next(iter(_orders)))
        order = array("i", range(size))
        random.Random(f"order {seed} {epoch}").shuffle(order)
        _orders[key] = order
    return _orders[key]


def multiplies_bf16(device: torch.device) -> bool:
    """Whether the device has instructions for products of bf16."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


class Trainer:
    """Trains into settings.output. Raises TrainingError; Interrupted after SIGINT or SIGTERM.

    Each of several processes computes its share of a step's queries; all average their gradients, and so keep the same
    weights. The main process alone writes, and has the engine measure."""

    def __init__(self, settings: Settings):
        self.settings = settings
        training = settings.training
        self.processes = Processes(training.device)
        if training.threads > 0:
            torch.set_num_threads(training.threads)
        self.device = self.processes.device
        if training.queries % (self.processes.count * training.accumulate):
            raise TrainingError("key training.queries", f"cannot be divided among {self.processes.count} processes"
                                + (f" and {training.accumulate} parts" if training.accumulate > 1 else ""),
                                "choose shares of equal size")
        base = settings.model.base
        self.tokenizer = PairTokenizer(base)
        torch.manual_seed(training.seed)
        self.model = settings.model.load()
        self.model.gradient_checkpointing = training.gradient_checkpointing
        self.engine_length = self.model.engine_length(self.tokenizer)
        usual = self.model.usual_length or self.engine_length
        self.max_length = settings.model.max_length or min(self.engine_length, usual)
        if self.max_length > self.engine_length:
            raise TrainingError("key model.max_length", f"is more than the {self.engine_length} tokens of {base}",
                                self.model.longer)
        if self.model.needs_graphs and not settings.data.index:
            raise TrainingError("key data.index",
                                f"is missing: a {self.model.kind} needs statistics of the documents' words",
                                "name the index that the documents come from, or one of the same kind of texts")
        for key in ("index", "weights", "log", "entities"):
            if getattr(settings.data, key) and not self.model.needs_graphs:
                raise TrainingError(f"key data.{key}", f"has no effect: the base is a {self.model.kind}", "remove it")
        if settings.data.weights and settings.data.log:
            raise TrainingError("key data.log", "has no effect: the words' weights are those of data.weights",
                                "remove one of both")
        if self.model.needs_graphs:
            self.model.config |= settings.data.graph_origins
        self.model.to(self.device)
        self.bf16 = multiplies_bf16(self.device) if training.bf16 == "auto" else bool(training.bf16)
        self.optimizer = torch.optim.AdamW(self._groups(), lr=training.learning_rate, fused=True)
        self.labels: list[str] = getattr(self.model, "labels", [])
        if bool(self.labels) != (settings.data.labelled is not None):
            raise TrainingError("key data.labelled", "goes with a classifier, and the model " + (
                f"has the labels {', '.join(self.labels)}" if self.labels else "has none"),
                "name pairs with labels" if self.labels else "name the labels as model.labels")
        self.loss = of_labels if self.labels else weighted(settings.loss)
        self.work = settings.output / "training"
        self.data = self._read_data()
        self.in_batch: InBatchNegatives | None = None
        if training.in_batch_negatives:
            if not isinstance(self.model, TwoTowers) or self.labels:
                raise TrainingError("key training.in_batch_negatives", f"does not apply to a {self.model.kind}"
                                    + (" with labels" if self.labels else ""),
                                    "remove it: it needs candidates that are encoded apart from queries")
            self.in_batch = InBatchNegatives(self.model, self.tokenizer, self.data, self.processes, self._autocast,
                                             self.max_length)
        self.checksum = self.data.checksum()
        self.step = 0
        self.best: float | None = None
        self.best_step = 0
        self.worse = 0  # evaluations since the best one
        self.rows: list[dict[str, Any]] = []
        self.losses: list[float] = []  # since the last row

    def _groups(self) -> list[dict[str, Any]]:
        """Biases and norms do not decay."""
        parameters = list(self.model.parameters())
        return [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": self.settings.training.weight_decay},
                {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0}]

    def _read_data(self) -> TrainingData:
        data = self.settings.data.read(self.labels, self._say)
        usable = data.for_bands(self.settings.bands())
        if not usable.lists:
            raise TrainingError("key data.bands", f"all {len(data.lists)} lists have too few candidates for the bands",
                                "choose fewer candidates or lower ranks")
        if short := len(data.lists) - len(usable.lists):
            self._say(f"left out {short} of {len(data.lists)} lists: too few candidates for the bands")
        return usable

    def run(self) -> Path:
        """The finished folder."""
        output, training = self.settings.output, self.settings.training
        resumed = self._resume()
        if self.model.needs_graphs:
            self._read_graphs()
        processes = f", {self.processes.count} processes" if self.processes.count > 1 else ""
        self._say(f"{len(self.data.lists)} lists, {self.model.kind}, {self.model}, on {self.device}{processes}")
        if self.model.new_parameters:
            self._say(f"new, at random: {', '.join(self.model.new_parameters)}")
        with _signals() as received, self._tensorboard() as board:
            if not resumed:
                self._begin(board)
            started, first, spent = time.monotonic(), self.step, 0.0
            while self.step < training.steps and not self._hopeless():
                before = time.monotonic()
                self.losses.append(self._train_step())
                spent += time.monotonic() - before
                self.step += 1
                evaluated = self._due(self.settings.evaluation.every)
                measure = self._evaluate() if evaluated else None
                signals = self.processes.any(bool(received))
                if self._due(training.log_every) or evaluated:
                    steps = self.step - first
                    self._log(measure, spent / steps, (time.monotonic() - started) / steps, board)
                if evaluated or signals or self._due(training.save_every):
                    self._save_state()
                if signals and self.step < training.steps:
                    self.processes.wait()  # a launcher ends the others when one has ended
                    raise Interrupted
        if self._hopeless():
            self._say(f"stopped: {self.worse} evaluations without a better one")
        if self.processes.main:
            self._finish()
        self.processes.close()
        return output

    def _read_graphs(self) -> None:
        """Reads the graphs of the training's start, which are kept because the index may change."""
        path = self.work / "graphs.jsonl"
        if self.processes.main and not path.exists():
            names = dict.fromkeys(candidate.document for one in self.data.lists for candidate in one.candidates)
            self._say(f"makes the graphs of {len(names)} documents")
            self._make_graphs(names, path)
        self.processes.wait()
        self.model.graphs = mir.GraphFile(path)

    def _make_graphs(self, names: Iterable[str], path: Path) -> None:
        documents, graphs = self.work / "documents.jsonl", self.work / "graphs_by_id.jsonl"
        mir.write_documents(documents, ((name, self.data.documents[name]) for name in names))
        data = self.settings.data
        assert data.index is not None
        engine.make_graphs(self.settings.program, self.settings.model.base, data.index, documents, graphs,
                           data.graph_flags)
        mir.key_by_text(graphs, documents, path)
        documents.unlink()
        graphs.unlink()

    def _engine_flags(self) -> list[object]:
        data = self.settings.data
        return [*self.model.engine_flags(), *(["--index", data.index] if data.index else []), *data.graph_flags]

    def _begin(self, board: Any) -> None:
        """What the engine cannot read, score or evaluate is better known before the training than after it. Nothing is
        kept until that is certain, so that a corrected recipe starts again."""
        if self.processes.main:
            folder = self.work / "start"
            self.model.save(folder, self.settings.model.base)
            self._check(folder)
            with naming(folder):  # some of rmtree's errors name no file
                shutil.rmtree(folder)
        self.processes.wait()
        if self.settings.evaluation.every > 0:
            evaluation = self.settings.evaluation
            self._add_row({"step": 0, "measure": self._evaluate()}, board)
            self._say(f"before the training: {evaluation.measure} {self.best:.4f}")
        self._save_state()

    def _finish(self) -> None:
        output = self.settings.output
        if self.best is not None and self.settings.evaluation.keep == "best":
            self.model.load_state_dict(self.settings.model.load(self.work / "best").state_dict())
        self.model.save(output, self.settings.model.base)
        difference = self._check(output)
        card = model_card(FinishedTraining(
            settings=self.settings, toml=self.toml(), model=self.model, lists=len(self.data.lists),
            max_length=self.max_length, step=self.step, best_step=self.best_step, rows=self.rows,
            difference=difference))
        with writing(output / "README.md"):
            (output / "README.md").write_text(card, encoding="utf-8")
        for name in ("graphs.jsonl", "state.pt"):  # without the state, a next run would refuse the finished output
            (self.work / name).unlink(missing_ok=True)

    def _due(self, every: int) -> bool:
        return every > 0 and (self.step % every == 0 or self.step == self.settings.training.steps)

    def _hopeless(self) -> bool:
        patience = self.settings.evaluation.patience
        return patience > 0 and self.worse >= patience

    def _train_step(self) -> float:
        training = self.settings.training
        share = f" {self.processes.index}" if self.processes.index else ""
        torch.manual_seed(random.Random(f"dropout {training.seed} {self.step}{share}").getrandbits(63))
        rate = learning_rate(training, self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.model.train()
        everything = candidates_of_step(self.data, self.settings, self.step)
        if self.in_batch:
            total = self.in_batch.backward(everything, training.accumulate)
        else:
            chosen = everything[self.processes.index :: self.processes.count]
            size = len(chosen) // training.accumulate
            total = 0.0
            for start in range(0, len(chosen), size):
                loss = self._loss_of(chosen[start : start + size]) / training.accumulate
                loss.backward()
                total += loss.item()
        total = self.processes.average((p.grad for p in self.model.parameters() if p.grad is not None), total)
        if not math.isfinite(total):
            raise TrainingError(f"step {self.step}", f"the loss is {total}", "lower training.learning_rate")
        if training.clip > 0:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), training.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def _autocast(self) -> contextlib.AbstractContextManager[object]:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16)

    def _loss_of(self, part: Chosen) -> Tensor:
        pairs = [(of_list.query, self.data.documents[candidate.document])
                 for of_list, candidates in part for candidate in candidates]
        targets = torch.tensor([[candidate.target for candidate in candidates] for _, candidates in part],
                               device=self.device) * self.settings.data.scale
        batch = self.model.batch(self.tokenizer, pairs, self.max_length)
        with self._autocast():
            logits = self.model(batch.to(self.device))
        return self.loss(logits if self.labels else logits.view(targets.shape), targets)

    def _evaluate(self) -> float:
        evaluation = self.settings.evaluation
        folder = self.work / "last"
        measure = None
        if self.processes.main:
            self.model.save(folder, self.settings.model.base)
            if self.labels:
                measure = engine.accuracy(self.settings.program, folder, evaluation.candidates, self.work)
            else:
                measure = engine.evaluate(self.settings.program, folder, evaluation.candidates, evaluation.qrels,
                                          evaluation.measure, self.work, self._engine_flags())
        measure = self.processes.from_main(measure)
        if self.best is None or measure > self.best:
            self.best, self.best_step, self.worse = measure, self.step, 0
            if self.processes.main:
                shutil.rmtree(self.work / "best", ignore_errors=True)
                folder.rename(self.work / "best")
        else:
            self.worse += 1
        return measure

    def _log(self, measure: float | None, seconds: float, seconds_in_all: float, board: Any) -> None:
        """Seconds of a step: without what is not training, such as evaluations, and with it."""
        training = self.settings.training
        candidates = sum(band.count for band in self.settings.bands())
        rate = learning_rate(training, self.step - 1)
        loss, self.losses = sum(self.losses) / len(self.losses), []
        row = {"step": self.step, "loss": loss, "learning_rate": rate,
               "pairs_per_second": round(training.queries * candidates / seconds, 1), "measure": measure}
        self._add_row(row, board)
        left = round(seconds_in_all * (training.steps - self.step))
        evaluated = "" if measure is None else f"  {self.settings.evaluation.measure} {measure:.4f}"
        self._say(f"step {self.step} of {training.steps}  loss {loss:.4f}  rate {rate:.2e}  "
                  f"{row['pairs_per_second']} pairs/s  left {left // 3600}:{left // 60 % 60:02}:{left % 60:02}"
                  f"{evaluated}")

    def _add_row(self, row: dict[str, Any], board: Any) -> None:
        self.rows.append(dict.fromkeys(LOG) | row)
        if not self.processes.main:
            return
        self._write_log()
        if board is not None:
            for name in LOG[1:]:
                if row.get(name) is not None:
                    board.add_scalar(name, row[name], self.step)

    def _write_log(self) -> None:
        path = self.work / "log.csv"
        with writing(path), open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, LOG)
            writer.writeheader()
            writer.writerows(self.rows)

    @contextlib.contextmanager
    def _tensorboard(self) -> Iterator[Any]:
        if not self.settings.training.tensorboard or not self.processes.main:
            yield None
            return
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise TrainingError("key training.tensorboard", "needs the package tensorboard",
                                "pip install tensorboard") from None
        with SummaryWriter(str(self.work), purge_step=self.step) as board:
            yield board

    def _resume(self) -> bool:
        """Whether there was something to resume."""
        state = self.work / "state.pt"
        resumed = state.exists()
        self.processes.wait()  # until all have looked
        if resumed:
            self._load_state(state)
            self._say(f"resumes after step {self.step}")
        elif (self.settings.output / "config.json").exists():
            raise TrainingError(self.settings.output, "already holds a checkpoint", "choose another output")
        elif self.processes.main:
            self.work.mkdir(parents=True, exist_ok=True)
            (self.work / "graphs.jsonl").unlink(missing_ok=True)  # of a recipe that was refused
        return resumed

    def _what(self) -> dict[str, Any]:
        """The settings that a resumed training must share."""
        table = dataclasses.asdict(self.settings)
        for key in ("output", "program"):
            del table[key]
        for key in ("log_every", "save_every", "tensorboard", "device", "threads"):
            del table["training"][key]
        return {"settings": repr(table), "data": self.checksum}

    def _save_state(self) -> None:
        if not self.processes.main:
            return
        state = {"what": self._what(), "step": self.step, "model": self.model.state_dict(), "rows": self.rows,
                 "losses": self.losses, "optimizer": self.optimizer.state_dict(), "best": self.best,
                 "best_step": self.best_step, "worse": self.worse}
        temporary = self.work / "state.tmp"
        with writing(temporary):
            with open(temporary, "wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.work / "state.pt")

    def _load_state(self, path: Path) -> None:
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
        except Exception as error:  # torch.load documents none
            raise TrainingError(path, f"cannot be read ({error})", f"remove {self.work} and start again") from None
        if state["what"] != self._what():
            raise TrainingError(path, "belongs to a training with other settings or data",
                                f"repeat them, choose another output, or remove {self.work}")
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.rows, self.losses = state["step"], state["rows"], state["losses"]
        self.best, self.best_step, self.worse = state["best"], state["best_step"], state["worse"]

    def _check(self, folder: Path) -> float:
        """The largest difference between the engine's scores and PyTorch's, relative where scores exceed 1."""
        engine.check(self.settings.program, folder)
        wanted = [(of_list.query, candidates[-1].document)
                  for of_list, candidates in candidates_of_step(self.data, self.settings, 0)]
        wanted = [(query, name) for query, name in wanted
                  if query.strip() and self.data.documents[name].strip()][:CHECKED_PAIRS]
        with self._graphs_of_now(dict.fromkeys(name for _, name in wanted)):
            if self.model.needs_graphs:
                wanted = [(query, name) for query, name in wanted
                          if self.model.graphs.of(self.data.documents[name]).passages]
            names = [name for _, name in wanted]
            pairs = [(query, self.data.documents[name]) for query, name in wanted]
            self.model.eval()
            with torch.no_grad():
                batch = self.model.batch(self.tokenizer, pairs, self.engine_length)
                expected = self.model(batch.to(self.device)).flatten().tolist()
        if self.labels:
            found = engine.label_logits(self.settings.program, folder, pairs, self.work, self._engine_flags())
        else:
            found = engine.logits(self.settings.program, folder, pairs, self.work, self._engine_flags(),
                                  names if self.settings.data.graph_flags else ())
        differences = [abs(x - y) / max(1, abs(y)) for x, y in zip(found, expected, strict=True)]
        difference = next((one for one in differences if math.isnan(one)), max(differences, default=0.0))
        if not difference <= TOLERANCE:  # also NaN
            raise TrainingError(folder, f"the engine's scores differ from PyTorch's by {difference:.1e}",
                                "report this with the folder")
        return difference

    @contextlib.contextmanager
    def _graphs_of_now(self, names: Iterable[str]) -> Iterator[None]:
        """The engine makes graphs with the index as it is, which may have changed since the training's start."""
        if not self.model.needs_graphs:
            yield
            return
        path, graphs = self.work / "checked.jsonl", self.model.graphs
        self._make_graphs(names, path)
        self.model.graphs = mir.GraphFile(path)
        yield
        self.model.graphs = graphs
        path.unlink()

    def toml(self) -> str:
        return as_toml(self.settings)

    def _say(self, text: str) -> None:
        if self.processes.main:
            print(f"relucent-train: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM as they come, so that the step in progress can end."""
    received: list[int] = []
    previous = {number: signal.signal(number, lambda caught, _frame: received.append(caught))
                for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
