"""The model card that is written next to a finished checkpoint."""
from __future__ import annotations

import dataclasses
from typing import Any

import torch

from relucent_search.train.hub import label
from relucent_search.train.settings import Settings


@dataclasses.dataclass(frozen=True)
class FinishedTraining:
    settings: Settings
    toml: str  # the settings in full
    model: Any
    lists: int  # of candidates
    max_length: int
    step: int
    best_step: int
    rows: list[dict[str, Any]]  # the log
    difference: float  # between the engine's scores and PyTorch's, at most


def model_card(done: FinishedTraining) -> str:
    settings, training = done.settings, done.settings.training
    model, config = done.model, done.model.config
    candidates = sum(band.count for band in settings.bands())
    losses = " + ".join(f"{weight:g} {name}" for name, weight in settings.loss.items())
    sizes = (f"{config['num_hidden_layers']} layers, hidden {config['hidden_size']}, "
             f"{config['num_attention_heads']} heads")
    lines = [
        f"# {settings.output.name}", "",
        f"A {model.kind} for reranking, trained with `relucent-train`. Its score is {model.score}.", "",
        f"- **Base**: `{label(settings.model.base)}`, {sizes}",
        f"- **Form**: {model}",
        f"- **Data**: {done.lists} lists; {training.queries} queries × {candidates} candidates per step; "
        f"inputs cut to {done.max_length} tokens",
        f"- **Loss**: {losses}",
        f"- **Steps**: {done.step}, learning rate {training.learning_rate:g}, seed {training.seed}",
        f"- **Check**: the engine's scores differ from PyTorch's by at most {done.difference:.1e}",
        f"- **Made with**: PyTorch {torch.__version__}", ""]
    measured = [row for row in done.rows if row["measure"] is not None]
    if measured:
        kept = (f"These weights are those of step {done.best_step}, the best evaluation."
                if settings.evaluation.keep == "best" else "These weights are those of the last step.")
        lines += [kept, "",
                  f"| step | loss | {settings.evaluation.measure} |", "|---|---|---|"]
        losses_of = ["" if row["loss"] is None else f"{row['loss']:.4f}" for row in measured]
        lines += [f"| {row['step']} | {loss} | {row['measure']:.4f} |"
                  for row, loss in zip(measured, losses_of, strict=True)] + [""]
    return "\n".join([*lines, "## Settings", "", "```toml", done.toml.rstrip(), "```", ""])
