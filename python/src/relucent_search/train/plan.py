"""Trains all rows of a table, each in one or more stages, and computes the table.

A plan is a TOML file: `base`, `experiments`, and the sections [[stages]] and [[rows]] (docs/training.md). The
checkpoint of a row's stage is models/ROW-STAGE in the plan's data folder. Whatever is finished stays as it is, so that
the same command resumes an interrupted plan.
"""
from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from relucent_search.train import engine, settings
from relucent_search.train.errors import TrainingError, naming
from relucent_search.train.hub import model_folder
from relucent_search.train.settings import Settings, Table
from relucent_search.train.trainer import Trainer

SECTIONS = ("model", "data", "loss", "training", "evaluation")


@dataclasses.dataclass(frozen=True)
class Run:
    """A stage of a row."""

    name: str
    settings: Settings
    made_by: list[object] | None  # arguments of the program that make model.base; None: it is there, or will be

    @property
    def finished(self) -> bool:
        return (self.settings.output / "config.json").exists()


@dataclasses.dataclass(frozen=True)
class Plan:
    runs: list[Run]
    experiments: list[Path]
    data: Path
    program: str

    @classmethod
    def load(cls, file: Path, data: Path | None = None, changes: Sequence[str] = ()) -> Plan:
        """data: the folder of models/ and of the stages' files; None: the plan's own. changes: settings of all
        trainings; model.base is that of the first stages. Raises TrainingError before anything is trained."""
        table = settings.read_toml(file)
        _check_keys(table, f"{file}", {"base": str, "experiments": list, "stages": list, "rows": list},
                    ("stages", "rows"))
        data = data or file.parent
        bases = [change.partition("=")[2] for change in changes if change.startswith("model.base=")]
        changes = [change for change in changes if not change.startswith("model.base=")]
        if any(change.startswith("output=") for change in changes):
            raise TrainingError("key output", "cannot be set for a plan", "name the folder of models/ with --data")
        first = model_folder(bases[-1], Path()) if bases else None
        if first is None and "base" in table:
            first = model_folder(table["base"], file.parent)
        stages: dict[str, Mapping[str, Any]] = {}
        for stage in table["stages"]:
            _check_keys(stage, f"{file}, section stages", {"name": str, "recipe": str, "positions": int}
                        | dict.fromkeys(SECTIONS, dict), ("name", "recipe"))
            stages[stage["name"]] = stage
        runs = []
        for row in table["rows"]:
            where = f"{file}, row {row.get('name')}"
            _check_keys(row, where, {"name": str, "stages": list, "model": dict, "init": list}, ("name",))
            base, init = first, row.get("init")
            if init is not None and base is None:
                raise TrainingError(f"{where}, key init", "needs a base", "name it as base, or as model.base")
            for name in row.get("stages", stages):
                if name not in stages:
                    raise TrainingError(f"{where}, key stages", f"{name} is not a stage",
                                        f"known are {', '.join(stages)}")
                run = _run(file, data, row, stages[name], base, init, changes)
                runs.append(run)
                base, init = run.settings.output, None
        experiments = [file.parent / one for one in table.get("experiments", [])]
        return cls(runs, experiments, data, runs[0].settings.program if runs else "relucent")

    def carry_out(self, say: Callable[[str], None]) -> None:
        """Raises TrainingError, and trainer.Interrupted."""
        for number, run in enumerate(self.runs, 1):
            if run.finished:
                say(f"{run.name} ({number} of {len(self.runs)}) is finished")
                continue
            say(f"{run.name} ({number} of {len(self.runs)}) into {run.settings.output}")
            base = run.settings.model.base
            if run.made_by and not base.exists():
                base.parent.mkdir(parents=True, exist_ok=True)
                engine.make_model(run.settings.program, run.made_by)
            Trainer(run.settings).run()
            if run.made_by:
                with naming(base):
                    shutil.rmtree(base)
        for experiment in self.experiments:
            command = [self.program, "experiment", "run", str(experiment), "--data", str(self.data)]
            if subprocess.run(command).returncode != 0:
                raise TrainingError(" ".join(command), "failed", "see its message")


def _run(file: Path, data: Path, row: Mapping[str, Any], stage: Mapping[str, Any], base: Path | None,
         init: Sequence[str] | None, changes: Sequence[str]) -> Run:
    name = f"{row['name']}-{stage['name']}"
    positions = stage.get("positions", 0)
    output = data / "models" / name
    tables = [Table({key: stage[key] for key in SECTIONS if key in stage}, f"{file}, stage {stage['name']}", data),
              Table({"model": row.get("model", {})}, f"{file}, row {row['name']}", data)]
    made_by: list[object] | None = None
    if base is not None:
        made = (output / "training" / "base").absolute()
        if positions:
            made_by = ["extend", base, made, "--positions", positions]
        elif init is not None:
            made_by = ["init", "--from", base, *init, made]
        tables.append(Table({"model": {"base": str(made if made_by else base.absolute())}}, str(file), Path()))
    tables.append(Table({"output": str(output.absolute())}, str(file), Path()))
    loaded = settings.load(file.parent / stage["recipe"], changes, tables)
    return Run(name, loaded, made_by)


def _check_keys(table: Any, where: str, known: Mapping[str, type], required: Sequence[str]) -> None:
    if not isinstance(table, Mapping):
        raise TrainingError(where, "is not a section", "write [[stages]] and [[rows]]")
    for key, value in table.items():
        if key not in known:
            raise TrainingError(f"{where}, key {key}", "is unknown", f"known are {', '.join(known)}")
        if not isinstance(value, known[key]) or isinstance(value, bool):
            raise TrainingError(f"{where}, key {key}", f"is not of type {known[key].__name__}", "correct it")
    for key in required:
        if key not in table:
            raise TrainingError(f"{where}, key {key}", "is missing", "add it")
