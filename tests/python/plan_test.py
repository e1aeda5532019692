"""A plan trains its rows in stages, resumes where it was interrupted, and computes its experiments."""
import json
import re
import signal
from pathlib import Path

import pytest
from relucent_search.train import plan as plans
from relucent_search.train.cli import main
from relucent_search.train.errors import TrainingError
from relucent_search.train.plan import Plan
from relucent_search.train.trainer import Trainer
from support import program, write_base, write_teacher

STAGES = """
base = "base"
experiments = ["table.toml"]
[[stages]]
name = "short"
recipe = "recipe.toml"
[stages.training]
steps = 3
[[stages]]
name = "long"
recipe = "recipe.toml"
positions = 200
[stages.training]
steps = 2
[stages.loss]
kl = 0
ranknet = 1.0
[[rows]]
name = "full"
model = { pattern = "full" }
stages = ["short"]
[[rows]]
name = "sparse-4"
model = { pattern = "sparse", window = 4 }
"""
EXPERIMENT = """
title = "Two patterns"
measures = ["nDCG@10"]
[[tasks]]
name = "words"
candidates = "teacher.jsonl"
qrels = "qrels.txt"
""" + "".join(f"""
[[models]]
name = "{name}"
folder = "models/{name}"
[[rows]]
name = "{name}"
models = ["{name}"]
""" for name in ("full-short", "sparse-4-short", "sparse-4-long"))


@pytest.fixture
def folder(tmp_path):
    write_base(tmp_path / "base")
    write_teacher(tmp_path)
    (tmp_path / "plan.toml").write_text(STAGES)
    (tmp_path / "table.toml").write_text(EXPERIMENT)
    return tmp_path


def weights(folder) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_rows_are_trained_in_stages_and_measured(folder, capfd, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    command = ["--plan", str(folder / "plan.toml"), "evaluation.every=0"]
    train_step = Trainer._train_step

    def interrupted(trainer):
        if trainer.settings.output.name == "sparse-4-long":
            signal.raise_signal(signal.SIGTERM)
        return train_step(trainer)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_train_step", interrupted)
        assert main(command) == 130
    models = folder / "models"
    assert [path.name for path in sorted(models.iterdir())] == ["full-short", "sparse-4-long", "sparse-4-short"]
    before = weights(models / "sparse-4-short")
    capfd.readouterr()
    assert main(command) == 0
    printed = capfd.readouterr()
    assert "full-short (1 of 3) is finished" in printed.err
    assert "resumes after step 1" in printed.err
    for row in ("full-short", "sparse-4-short", "sparse-4-long"):
        figures = [line.split()[-1] for line in printed.out.splitlines() if line.startswith(row)]
        assert 0.3 < float(figures[0].strip("*†≈")) <= 1, printed.out
    assert weights(models / "sparse-4-short") == before
    long = json.loads((models / "sparse-4-long/config.json").read_text())
    assert long["max_position_embeddings"] == 200
    assert long["attention_window_size"] == 4 if "attention_window_size" in long else True
    assert not (models / "sparse-4-long/training/base").exists()
    assert not weights(models / "sparse-4-long") == before
    # Another folder starts again, and an earlier stage is the later one's base.
    loaded = Plan.load(folder / "plan.toml", folder / "other")
    assert [run.name for run in loaded.runs] == ["full-short", "sparse-4-short", "sparse-4-long"]
    assert loaded.runs[1].settings.output == folder / "other/models/sparse-4-short"
    assert loaded.runs[2].made_by == ["extend", loaded.runs[1].settings.output, loaded.runs[2].settings.model.base,
                                      "--positions", 200]
    assert loaded.runs[2].settings.loss == {"ranknet": 1.0}
    assert loaded.runs[1].settings.model.base == folder / "base"
    other = Plan.load(folder / "plan.toml", folder / "other", ["model.base=base"])
    assert other.runs[1].settings.model.base == Path("base").absolute()
    assert other.runs[2].made_by == loaded.runs[2].made_by
    assert loaded.runs[2].settings.data.rerank == folder / "teacher.jsonl"  # in the recipe's folder


def test_a_plan_names_its_data_from_the_folder_of_data(folder):
    (folder / "plan.toml").write_text(STAGES.replace("[stages.training]\nsteps = 3", "data = { rerank = 'x.jsonl' }"))
    assert Plan.load(folder / "plan.toml", Path("/data")).runs[0].settings.data.rerank == Path("/data/x.jsonl")


def test_rows_may_be_other_models_of_the_base(folder):
    (folder / "recipe.toml").write_text((folder / "recipe.toml").read_text().replace("kl = 1.0", "kl = 0.1"))
    (folder / "plan.toml").write_text("""
base = "base"
[[stages]]
name = "mix"
recipe = "recipe.toml"
training = { steps = 1 }
evaluation = { every = 0 }
""" + "".join(f"""
[[rows]]
name = "{name}"
init = ["--as", "mixencoder", "--candidate-length", "60", {options}]
""" for name, options in (("k1", ""), ("k2", '"--vectors", "2"'))))
    Plan.load(folder / "plan.toml").carry_out(print)
    for name, vectors in (("k1", 1), ("k2", 2)):
        config = json.loads((folder / f"models/{name}-mix/config.json").read_text())
        assert config["num_context_embeddings"] == vectors


def test_a_plan_has_its_own_outputs(folder):
    with pytest.raises(TrainingError, match="key output: cannot be set for a plan; name the folder of models/"):
        Plan.load(folder / "plan.toml", None, ["output=x"])


def test_a_failed_experiment_is_an_error(folder, capfd):
    loaded = plans.Plan([], [folder / "none.toml"], folder, program())
    with pytest.raises(TrainingError, match="experiment run .*none.toml .*: failed; see its message"):
        loaded.carry_out(print)
    assert "none.toml" in capfd.readouterr().err


@pytest.mark.parametrize(("old", "new", "message"), [
    ('model = { pattern = "full" }', "init = 3", "row full, key init: is not of type list"),
    ('base = "base"', 'bases = "base"', "plan.toml, key bases: is unknown; known are base, experiments, stages, rows"),
    ('recipe = "recipe.toml"', "", "section stages, key recipe: is missing"),
    ("positions = 200", 'positions = "x"', "section stages, key positions: is not of type int"),
    ('stages = ["short"]', 'stages = ["shorter"]',
     "row full, key stages: shorter is not a stage; known are short, long"),
    ("window = 4", "windw = 4", "row sparse-4, key model.windw: is unknown; did you mean window?"),
    ("steps = 3", "stepz = 3", "stage short, key training.stepz: is unknown"),
    ("[[rows]]", "[[lines]]", "key lines: is unknown"),
])
def test_bad_plans_are_refused_by_name(folder, old, new, message, capsys):
    (folder / "plan.toml").write_text(STAGES.replace(old, new))
    assert main(["--plan", str(folder / "plan.toml")]) == 1
    assert message in capsys.readouterr().err


def test_the_plan_of_the_paper_names_what_its_experiments_read():
    root = Path(__file__).parents[2] / "config"
    loaded = Plan.load(root / "training/ecir2024-table1.toml", Path("/data"), ["model.base=x"])
    trained = {f"models/{run.name}" for run in loaded.runs}
    read = {line.split('"')[1] for path in loaded.experiments for line in path.read_text().splitlines()
            if line.startswith("folder = ")}
    assert trained == read
    patterns = {run.name: (run.settings.model.pattern, run.settings.model.window) for run in loaded.runs}
    assert patterns["sparse-inf-512"] == ("sparse", -1)
    assert patterns["longformer-0-4096"] == ("longformer", 0)
    assert loaded.runs[1].settings.training.steps == 100_000


def test_the_plan_of_mirs_table_names_what_its_experiment_reads():
    root = Path(__file__).parents[2] / "config"
    loaded = Plan.load(root / "training/mir-table1.toml", Path("/data"), ["model.base=x"])
    (experiment,) = loaded.experiments
    read = {line.split('"')[1] for line in experiment.read_text().splitlines() if line.startswith("folder = ")}
    assert {f"models/{run.name}" for run in loaded.runs} == {folder for folder in read if "parade" not in folder}
    made = {run.name: run.made_by for run in loaded.runs}
    assert made["bert-firstp"] is None
    assert made["mir-512"][-3:-1] == ["--document-length", "512"]
    assert made["local-2048"][-2:] == ["--positions", 2048]


@pytest.mark.parametrize(("name", "others"), [
    ("mir-ablations", ""), ("mixencoder-ablations", ""), ("mixencoder-figure4", ""),
    ("parade", r"models/(?!parade)"),
])
def test_the_other_plans_name_what_their_experiments_read(name, others):
    root = Path(__file__).parents[2] / "config"
    loaded = Plan.load(root / f"training/{name}.toml", Path("/data"), ["model.base=x"])
    read = {line.split('"')[1] for path in loaded.experiments for line in path.read_text().splitlines()
            if line.startswith("folder = ")}
    trained = {f"models/{run.name}" for run in loaded.runs}
    assert trained == {folder for folder in read if not (others and re.match(others, folder))}
    assert len({run.name for run in loaded.runs}) == len(loaded.runs)


def test_the_rows_of_mixencoders_figure_4_differ_by_their_queries_alone():
    loaded = Plan.load(Path(__file__).parents[2] / "config/training/mixencoder-figure4.toml", Path("/data"),
                       ["model.base=x"])
    assert [run.settings.training.queries for run in loaded.runs] == [8, 16, 32, 64]
    assert all(run.settings.training.in_batch_negatives for run in loaded.runs)
    assert len({(run.settings.training.steps, run.settings.training.learning_rate, run.settings.data.run)
                for run in loaded.runs}) == 1
