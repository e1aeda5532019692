"""Two processes train what one trains, up to rounding; the main one alone writes."""
import importlib.util
import os
import signal
import socket
import subprocess
import sys

import pytest
import torch
from relucent_search.train.cli import main
from safetensors.torch import load_file
from support import write_base, write_teacher


@pytest.fixture
def folder(tmp_path):
    write_base(tmp_path / "base")
    return write_teacher(tmp_path)


def started(arguments: list[str]) -> list[subprocess.Popen]:
    """Two processes with the variables that `accelerate launch` and `torchrun` set."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = {**os.environ, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return [subprocess.Popen([sys.executable, "-m", "relucent_search.train", *arguments], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True,
                             env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)})
            for rank in range(2)]


def ended(processes: list[subprocess.Popen]) -> list[tuple[int, str, str]]:
    found = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=300)
            found.append((process.returncode, out, err))
    finally:
        for process in processes:
            process.kill()
    return found


needs_accelerate = pytest.mark.skipif(importlib.util.find_spec("accelerate") is None,
                                      reason="the package accelerate is not installed")


@needs_accelerate
def test_two_processes_train_as_one_does(folder):
    recipe = [str(folder / "recipe.toml"), "training.accumulate=2", "training.steps=6", "evaluation.every=3",
              "loss.cross_entropy=0.1"]  # kl alone leaves the bias of the classifier to rounding
    assert main([*recipe, f"output={folder / 'one'}"]) == 0
    first, second = ended(started([*recipe, f"output={folder / 'two'}"]))
    assert first[0] == second[0] == 0, first[2] + second[2]
    assert first[1].strip() == str(folder / "two")
    assert "2 processes" in first[2]
    assert second[1] == ""
    assert "relucent-train" not in second[2]
    one, two = (load_file(folder / name / "model.safetensors") for name in ("one", "two"))
    base = load_file(folder / "base/model.safetensors")
    for name, tensor in one.items():
        # Adam divides a gradient by its size: where it is rounding alone, as that of a key's bias is, so is the step.
        if "key.bias" not in name:
            assert (two[name] - tensor).abs().mean() < 1e-6, name
            assert (two[name] - tensor).abs().max() < 5e-4, name
    assert (one["classifier.weight"] - base["classifier.weight"]).abs().max() > 1e-3
    rows = [(folder / name / "training/log.csv").read_text().splitlines() for name in ("one", "two")]
    for x, y in zip(*rows, strict=True):
        x, y = x.split(","), y.split(",")
        assert x[0] == y[0]
        if x[0] == "0":
            assert float(x[4]) == float(y[4])
        elif x[0] != "step":
            assert float(x[1]) == pytest.approx(float(y[1]), rel=1e-4)
            assert x[4] == y[4]


@needs_accelerate
def test_a_signal_to_one_stops_both_after_the_same_step(folder):
    recipe = [str(folder / "recipe.toml"), "training.log_every=1", "evaluation.every=0", "training.steps=100"]
    processes = started(recipe)
    for line in processes[0].stderr:
        if line.startswith("relucent-train: step 3 "):
            processes[1].send_signal(signal.SIGTERM)
            break
    first, second = ended(processes)
    assert first[0] == second[0] == 130, first[2] + second[2]
    step = torch.load(folder / "out/training/state.pt", weights_only=True)["step"]
    assert 3 <= step < 100
    first, second = ended(started(recipe))
    assert first[0] == second[0] == 0, first[2] + second[2]
    assert f"resumes after step {step}\n" in first[2]


@needs_accelerate
def test_shares_must_be_equal(folder):
    for code, _, err in ended(started([str(folder / "recipe.toml"), "training.queries=3"])):
        assert code == 1
        assert "key training.queries: cannot be divided among 2 processes" in err


def test_without_accelerate_the_remedy_is_named(folder, monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setitem(sys.modules, "accelerate", None)
    assert main([str(folder / "recipe.toml")]) == 1
    assert "needs the package accelerate; pip install" in capsys.readouterr().err
