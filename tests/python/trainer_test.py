"""A training resumes after a kill to the same bytes, stops early, and ends in a folder that the engine scores alike."""
import csv
import errno
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from relucent_search.train import engine, settings
from relucent_search.train import trainer as trainer_module
from relucent_search.train.cli import main
from relucent_search.train.errors import TrainingError
from relucent_search.train.hub import label
from relucent_search.train.settings import Training
from relucent_search.train.trainer import Interrupted, Trainer, candidates_of_step, learning_rate
from safetensors.torch import load_file
from support import program, write_base, write_teacher


@pytest.fixture
def folder(tmp_path):
    """A base, and candidates of which those are relevant that contain the query's word."""
    write_base(tmp_path / "base", hidden_dropout_prob=0.1)
    return write_teacher(tmp_path)


def load(folder, *changes):
    return settings.load(folder / "recipe.toml", changes)


def weights(folder) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_a_base_may_be_named_as_on_the_hub(folder, tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    commit = "a" * 40
    model = tmp_path / "hub/models--some-org--a.model"
    with pytest.raises(TrainingError, match="some-org/a.model: is neither a folder .*relucent model fetch some-org"):
        load(folder, "model.base=some-org/a.model")
    write_base(model / "snapshots" / commit)
    (model / "refs").mkdir()
    (model / "refs/main").write_text(commit)
    for name in ("some-org/a.model", f"some-org/a.model@{commit}"):
        base = load(folder, f"model.base={name}").model.base
        assert base == model / "snapshots" / commit
        assert label(base) == "some-org/a.model@aaaaaaaa"
    (folder / "some-org/a.model").mkdir(parents=True)  # folders come first
    monkeypatch.chdir(folder)
    assert load(folder, "model.base=some-org/a.model").model.base == Path("some-org/a.model")
    assert label(Path("some-org/a.model")) == "a.model"


def test_learning_rate_rises_holds_and_decays():
    training = Training(steps=100, learning_rate=1.0, warmup=0.1, hold=0.6, decay="linear")
    rates = [learning_rate(training, step) for step in range(100)]
    assert rates[:10] == pytest.approx([(step + 1) / 11 for step in range(10)])
    assert rates[10:61] == [1.0] * 51
    assert rates[80] == pytest.approx(0.5)
    assert rates[99] == pytest.approx(1 / 40)
    training.decay = "cosine"
    assert learning_rate(training, 80) == pytest.approx(0.5)
    assert learning_rate(training, 70) == pytest.approx(0.853553, abs=1e-6)
    training.decay = "constant"
    assert learning_rate(training, 99) == 1.0


def test_an_epoch_visits_every_list_once(folder):
    loaded = load(folder)
    data = loaded.data.read()
    visited = [id(of_list) for step in range(10) for of_list, _ in candidates_of_step(data, loaded, step)]
    lists = sorted(map(id, data.lists))
    assert sorted(visited[:20]) == sorted(visited[20:]) == lists
    assert visited[:20] != visited[20:]


def test_a_training_ends_in_a_folder_that_the_engine_scores_alike(folder, capsys):
    recipe = [str(folder / "recipe.toml"), "model.dropout=0", "training.learning_rate=3e-3"]
    assert main(recipe) == 0
    out = folder / "out"
    assert capsys.readouterr().out.strip() == str(out)
    with open(out / "training/log.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == [str(step) for step in range(0, 25, 4)]
    assert rows[0]["loss"] == rows[0]["pairs_per_second"] == ""
    assert float(rows[-1]["loss"]) < 0.8 * float(rows[1]["loss"])
    measures = {row["step"]: float(row["measure"]) for row in rows if row["measure"]}
    assert list(measures) == ["0", "12", "24"]
    measure = engine.evaluate(program(), out, folder / "teacher.jsonl", folder / "qrels.txt", "nDCG@10", folder)
    assert measure == max(measures.values())
    card = (out / "README.md").read_text()
    assert "window 4; not seen: query -> cls, query -> doc" in card
    assert "| 0 |  | " in card
    assert "| 24 |" in card
    difference = float(card.split("differ from PyTorch's by at most ")[1].split()[0])
    assert difference <= 1e-4
    assert not (out / "training/state.pt").exists()
    toml = card.split("```toml\n")[1].split("```")[0]
    (folder / "again.toml").write_text(toml)
    assert main([str(folder / "again.toml"), f"output={folder / 'again'}"]) == 0
    assert weights(folder / "again") == weights(out)
    assert main(recipe) == 1
    assert "already holds a checkpoint" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["training/start/config.json", "training/start/model.safetensors",
                                  "training/start/vocab.txt", "training/log.csv", "training/state.tmp", "README.md"])
def test_a_file_that_cannot_be_written_is_an_error(folder, capsys, name):
    (folder / "out" / name).mkdir(parents=True)
    assert main([str(folder / "recipe.toml"), "training.steps=2", "evaluation.every=0"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"relucent-train: error: {folder / 'out'}")
    assert last.endswith("fix this, then run the same command again")


def test_a_folder_that_cannot_be_removed_is_named(folder, capsys, monkeypatch):
    def fail(path):  # as rmtree does where closing a directory fails
        raise OSError(errno.EBADF, "Bad file descriptor")
    monkeypatch.setattr(trainer_module.shutil, "rmtree", fail)
    assert main([str(folder / "recipe.toml"), "training.steps=2", "evaluation.every=0"]) == 1
    assert f"{folder / 'out/training/start'}: Bad file descriptor" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["recipe.toml", "base/config.json", "base/tokenizer_config.json",
                                  "out/training/pairs.tsv"])
def test_a_file_that_cannot_be_read_is_named(folder, capsys, monkeypatch, name):
    read_text = Path.read_text

    def fail(path, *arguments, **keywords):  # as where reading or closing fails, not opening
        if path == folder / name:
            raise OSError(errno.EINTR, "Interrupted system call")
        return read_text(path, *arguments, **keywords)
    monkeypatch.setattr(Path, "read_text", fail)
    assert main([str(folder / "recipe.toml"), "training.steps=2", "evaluation.every=0"]) == 1
    assert f"relucent-train: error: {folder / name}: Interrupted system call" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["graphs.jsonl", "state.pt"])
def test_a_training_whose_last_files_cannot_be_removed_is_finished_by_the_next_run(folder, capsys, monkeypatch, name):
    unlink, recipe = Path.unlink, [str(folder / "recipe.toml"), "training.steps=2", "evaluation.every=0"]

    def fail(path, *arguments, **keywords):
        if path.name == name and (folder / "out/config.json").exists():
            raise OSError(errno.EIO, "Input/output error", str(path))
        unlink(path, *arguments, **keywords)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", fail)
        assert main(recipe) == 1
    assert f"{name}: Input/output error" in capsys.readouterr().err
    whole = weights(folder / "out")
    assert main(recipe) == 0
    assert weights(folder / "out") == whole
    assert not (folder / "out/training/state.pt").exists()


def test_a_killed_training_continues_to_the_same_bytes(folder):
    plain = Trainer(load(folder, "output=" + str(folder / "plain"))).run()
    changes = ["training.log_every=1", "training.save_every=3"]
    process = subprocess.Popen([sys.executable, "-m", "relucent_search.train", str(folder / "recipe.toml"), *changes],
                               stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("relucent-train: step 8 "):
            process.kill()
            break
    process.wait()
    assert process.returncode == -signal.SIGKILL
    state = torch.load(folder / "out/training/state.pt", weights_only=True)
    assert 6 <= state["step"] < 24
    resumed = Trainer(load(folder, *changes))
    assert resumed.run() == folder / "out"
    assert weights(folder / "out") == weights(plain)
    assert [row["step"] for row in resumed.rows] == list(range(25))


def test_a_signal_ends_the_step_and_keeps_it(folder, monkeypatch):
    plain = Trainer(load(folder, "output=" + str(folder / "plain"))).run()
    trainer = Trainer(load(folder))
    train_step = trainer._train_step

    def interrupted():
        if trainer.step == 6:
            signal.raise_signal(signal.SIGTERM)
        return train_step()

    monkeypatch.setattr(trainer, "_train_step", interrupted)
    with pytest.raises(Interrupted):
        trainer.run()
    assert torch.load(folder / "out/training/state.pt", weights_only=True)["step"] == 7
    with pytest.raises(TrainingError, match="state.pt: belongs to a training with other settings or data"):
        Trainer(load(folder, "training.seed=2")).run()
    Trainer(load(folder)).run()
    assert weights(folder / "out") == weights(plain)


def test_tensorboard_gets_the_log(folder):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    trainer = Trainer(load(folder, "training.tensorboard=true", "training.steps=8", "evaluation.every=4"))
    events = accumulator.EventAccumulator(str(trainer.run() / "training")).Reload()
    for name, steps in (("loss", [4, 8]), ("learning_rate", [4, 8]), ("measure", [0, 4, 8])):
        found = [(event.step, event.value) for event in events.Scalars(name)]
        wanted = [(row["step"], row[name]) for row in trainer.rows if row[name] is not None]
        assert [step for step, _ in found] == steps
        assert [value for _, value in found] == pytest.approx([value for _, value in wanted], rel=1e-6)


def test_changed_data_are_not_gone_on_with(folder):
    trainer = Trainer(load(folder, "evaluation.every=0"))
    trainer._train_step = lambda: signal.raise_signal(signal.SIGTERM) or 0.0
    with pytest.raises(Interrupted):
        trainer.run()
    teacher = folder / "teacher.jsonl"
    lines = teacher.read_text()
    for old, new in (('"score": -2.0', '"score": -2.5'), ('"text": "', '"text": "ba ')):
        assert old in lines
        head, tail = lines.rsplit(old, 1)  # in the last of them alone
        teacher.write_text(head + new + tail)
        with pytest.raises(TrainingError, match="state.pt: belongs to a training with other settings or data"):
            Trainer(load(folder, "evaluation.every=0")).run()


def test_early_stopping_keeps_the_best(folder, monkeypatch):
    measures = iter([0.3, 0.5, 0.7, 0.6, 0.7, 0.3, 0.9])
    monkeypatch.setattr(engine, "evaluate", lambda *_: next(measures))
    trainer = Trainer(load(folder, "evaluation.every=2", "evaluation.patience=2"))
    trainer.run()
    assert (trainer.step, trainer.best, trainer.best_step) == (8, 0.7, 4)
    best = Trainer(load(folder, "output=" + str(folder / "best"), "evaluation.every=4"))
    best._hopeless = lambda: best.step == 4
    best.run()
    assert weights(folder / "out") == weights(folder / "best")


def test_the_last_weights_may_be_kept(folder, monkeypatch):
    plain = Trainer(load(folder, "output=" + str(folder / "plain"), "evaluation.every=0")).run()
    measures = iter([0.3, 0.7, 0.6])
    monkeypatch.setattr(engine, "evaluate", lambda *_: next(measures))
    last = Trainer(load(folder, "evaluation.keep=last"))
    assert weights(last.run()) == weights(plain)
    assert last.best_step == 12
    assert "These weights are those of the last step." in (folder / "out/README.md").read_text()


def test_bf16_may_depend_on_the_device(folder, monkeypatch):
    for answer in (True, False):
        monkeypatch.setattr(trainer_module, "multiplies_bf16", lambda _, answer=answer: answer)
        assert Trainer(load(folder, "training.bf16=auto")).bf16 is answer
    assert Trainer(load(folder, "training.bf16=true")).bf16 is True


def test_seeds_and_parts_and_bf16(folder):
    def trained(name, *changes):
        output = Trainer(load(folder, f"output={folder / name}", "training.steps=3", "evaluation.every=0",
                              "training.clip=0", *changes)).run()
        return load_file(output / "model.safetensors")["classifier.weight"]

    plain = trained("plain", "model.dropout=0")
    parts = trained("parts", "model.dropout=0", "training.accumulate=2")
    torch.testing.assert_close(parts, plain, rtol=1e-3, atol=1e-5)
    assert torch.equal(trained("checkpointing", "model.dropout=0", "training.gradient_checkpointing=true"), plain)
    for change in ("training.seed=2", "model.dropout=0.1", "training.bf16=true"):
        other = trained(change, *(() if "dropout" in change else ("model.dropout=0",)), change)
        assert torch.isfinite(other).all()
        assert not torch.equal(other, plain), change


def test_qds_is_trained_and_checked_with_its_pattern(folder, capsys):
    recipe = [str(folder / "recipe.toml"), "model.pattern=qds", "training.steps=2", "evaluation.every=2"]
    assert main(recipe) == 0
    assert 'window 64; not seen: none; a token before each sentence (pattern = "qds")' in (
        folder / "out/README.md").read_text()
    capsys.readouterr()
    for change, message in (("model.window=-1", "key model.window: is unlimited, and the pattern qds has a window"),
                            ("model.doc_cls_attention=false", "key model.doc_cls_attention: cannot be set with")):
        assert main([*recipe, f"output={folder / 'other'}", change]) == 1
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(("change", "message"), [
    ("evaluation.qrels=none.txt", "exited with"), ("evaluation.measure=x@1", "exited with"),
    ("model.base=other", "attention_scheme")])
def test_a_corrected_recipe_starts_from_the_beginning(change, message, folder, capsys):
    """A recipe refused before the first step is not kept."""
    config = write_base(folder / "other") / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "attention_scheme": 3}))
    recipe = [str(folder / "recipe.toml"), "training.steps=1"]
    assert main([*recipe, change.replace("other", str(folder / "other"))]) == 1
    assert message in capsys.readouterr().err
    assert main(recipe) == 0


@pytest.mark.parametrize("step", [0, 1], ids=["before the training", "after it"])
def test_a_wrong_engine_is_noticed(step, folder, monkeypatch):
    trainer = Trainer(load(folder, "training.steps=1", "evaluation.every=0"))
    logits = engine.logits
    monkeypatch.setattr(engine, "logits", lambda *given: [x + 0.01 * (trainer.step == step) for x in logits(*given)])
    with pytest.raises(TrainingError, match="the engine's scores differ from PyTorch's by"):
        trainer.run()
    assert trainer.step == step


@pytest.mark.parametrize(("change", "message"), [
    ("training.stepz=3", "command line, key training.stepz: is unknown; did you mean steps?"),
    ("training.steps=x", "key training.steps: 'x' is not of type int"),
    ("training.bf16=1", "key training.bf16: 1 is not of type bool"),
    ("training.steps=0", "key training.steps: is not positive"),
    ("training.accumulate=3", "key training.accumulate: does not divide"),
    ("training.bf16=fast", "key training.bf16: 'fast' is unknown; use true, false, auto"),
    ("evaluation.keep=first", "key evaluation.keep: 'first' is unknown; use best, last"),
    ("training.decay=square", "key training.decay: 'square' is unknown"),
    ("training=3", "key training: is a section"),
    ("training.warmup=2", "key training.warmup: is not a part of 1"),
    ("model.pattern=dense", "key model.pattern: 'dense' is unknown"),
    ("model.max_length=512", "key model.max_length: is more than the 160 tokens"),
    ("model.max_query_length=-1", "key model.max_query_length: is negative"),
    ("data.run=x", "key data: names 2 sources"),
    ("data.bands=[[2, 1, 1]]", "key data.bands: is not a list of bands"),
    ("data.bands=[[1, 1, 1]]", "key data.bands: chooses one candidate"),
    ("data.bands=[[1, 9, 7]]", "all 20 lists have too few candidates"),
    ("loss.kll=1", "key loss.kll: is unknown; known are margin_mse"),
    ("loss.kl=0", "key loss: is empty"),
    ("loss=kl", "key loss: does not give each loss a weight"),
    ("evaluation.measure=nDCG@0", "exited with"),
    ("program=/none", "/none: No such file or directory; set program"),
    ("steps", "steps: is not a setting"),
])
def test_bad_settings_are_refused_by_name(folder, change, message, capsys):
    changes = [change, "training.steps=1"] if change.startswith(("evaluation", "program")) else [change]
    assert main([str(folder / "recipe.toml"), *changes]) == 1
    assert message in capsys.readouterr().err


def test_bad_files_are_refused_by_line(folder, capsys):
    (folder / "bad.toml").write_text("output = 'x'\n[model\n")
    assert main([str(folder / "bad.toml")]) == 1
    assert "bad.toml: is not TOML" in capsys.readouterr().err
    assert main([str(folder / "none.toml")]) == 1
    assert "none.toml: No such file" in capsys.readouterr().err


def test_show_prints_what_it_reads(folder, capsys):
    assert main([str(folder / "recipe.toml"), "loss.centred_mse=0.1", "model.window=-1", "--show"]) == 0
    shown = capsys.readouterr().out
    (folder / "shown.toml").write_text(shown)
    assert settings.load(folder / "shown.toml") == load(folder, "loss.centred_mse=0.1", "model.window=-1")
    assert settings.load(folder / "shown.toml").loss == {"kl": 1.0, "centred_mse": 0.1}


@pytest.mark.parametrize(("recipe", "source", "candidates"), [
    ("relucent-minilm-l6-w4", "scores", 8), ("ecir2024-passages", "scored_triples", 2),
    ("ecir2024-documents", "run", 2)])
def test_shipped_recipes_are_read(recipe, source, candidates):
    files = ["output=x", "model.base=x", f"data.{source}=x", "data.queries=x", "data.documents=x",
             "evaluation.candidates=x", "evaluation.qrels=x"]
    loaded = settings.load(Path(__file__).parents[2] / f"config/training/{recipe}.toml", files)
    assert sum(band.count for band in loaded.bands()) == candidates


def test_the_example_recipe_is_read():
    recipe = Path(__file__).parents[2] / "docs/examples/training/recipe.toml"
    files = [f"{key}=x" for key in ("output", "model.base", "data.run", "data.qrels", "data.queries", "data.documents")]
    loaded = settings.load(recipe, files)
    assert sum(band.count for band in loaded.bands()) == 8
    assert loaded.loss == {"localized_contrastive": 1.0}
