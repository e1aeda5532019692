"""CrossEncoder: sentence-transformers' interface, the program's bits."""
import gzip
import json
import multiprocessing
import os
import pathlib
import pickle
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import relucent_search


@pytest.fixture(scope="module")
def model():
    return relucent_search.CrossEncoder()


def bits(scores):
    return np.asarray(scores, dtype=np.float32).view(np.uint32).tolist()


def test_scores_have_the_bits_of_relucent_rerank(model, candidates, logits):
    shuffled = random.Random(1).sample(candidates, len(candidates))
    scores = model.predict([(row["query"], row["text"]) for row in shuffled])
    assert len(scores) == len(logits) > 300
    assert bits(scores) == bits([logits[row["qid"], row["docno"]] for row in shuffled])


def test_scores_are_an_array_of_memory_that_is_not_copied(model):
    scores = model.predict([("rice", "rice"), ("rice", "bread")])
    assert scores.dtype == np.float32 and scores.shape == (2,)
    assert not scores.flags.owndata and scores.flags.writeable and scores.flags.c_contiguous
    scores[0] = 7  # its own, not the library's
    assert model.predict([("rice", "rice")])[0] != 7


def test_one_pair_gives_one_score_and_no_pair_none(model):
    one = model.predict(("rice", "rice"))
    assert isinstance(one, np.float32)
    assert one == model.predict([["rice", "rice"]])[0]
    assert model.predict([]).shape == (0,)


@pytest.mark.parametrize("name", ["bert", "electra", "mix-labels"])
def test_a_classifier_gives_a_row_of_logits_per_pair(name):
    folder = pathlib.Path(__file__).parents[2] / "goldens/classifiers"
    with gzip.open(folder / f"{name}.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    model = relucent_search.CrossEncoder(folder / name, precision="fp32")
    assert model.labels == ["entailment", "neutral", "contradiction"]
    pairs = [(row["query"], row["text"]) for row in rows]
    logits = model.predict(pairs)
    assert logits.dtype == np.float32 and logits.shape == (16, 3)
    np.testing.assert_allclose(logits, [row["logits"] for row in rows], atol=1e-4)
    shares = model.predict(pairs, apply_softmax=True)
    np.testing.assert_allclose(shares, np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), rtol=1e-5)
    assert model.predict(pairs[0]).tolist() == logits[0].tolist()
    assert model.predict([]).shape == (0, 3)
    assert name in model.describe()
    with pytest.raises(relucent_search.UsageError, match="is a classifier with 3 labels and has no score"):
        model.rank("bad", ["dan"])


def test_a_scorer_has_no_labels(model):
    assert model.labels == []


def test_rank_is_that_of_sentence_transformers(model, documents):
    texts = list(documents.values())[:30]
    query = "is it safe to eat rice that was left out overnight"
    ranked = model.rank(query, texts, top_k=5, return_documents=True)
    scores = model.predict([(query, text) for text in texts])
    best = sorted(range(30), key=lambda place: -scores[place])[:5]
    assert ranked == [{"corpus_id": i, "score": scores[i], "text": texts[i]} for i in best]
    assert list(model.rank(query, texts)[0]) == ["corpus_id", "score"]
    assert len(model.rank(query, texts)) == 30


def test_all_texts_of_a_query_are_one_set_of_a_set_encoder(documents, root):
    folder = pathlib.Path(os.environ.get("RELUCENT_GOLDENS") or root / "../shared/goldens") / "rerankers/set-encoder"
    if not folder.exists():
        pytest.skip(f"SKIPPED: {folder} is absent")
    model = relucent_search.CrossEncoder(str(folder), device="cpu")
    texts = list(documents.values())[:8]
    whole = {texts[entry["corpus_id"]]: entry["score"] for entry in model.rank("rice", texts)}
    backwards = texts[::-1]
    assert {backwards[entry["corpus_id"]]: entry["score"] for entry in model.rank("rice", backwards)} == whole
    assert all(entry["score"] != whole[texts[entry["corpus_id"]]] for entry in model.rank("rice", texts[:4]))
    # A Reranker is what Spark's tasks use.
    logits = relucent_search.Reranker(model=str(folder), device="cpu").rerank("rice", texts).logits
    for text, logit in zip(texts, logits, strict=True):
        assert whole[text] == np.float32(logit)  # this model's activation is the identity


def test_documents_with_equal_scores_keep_their_order(model):
    assert [entry["corpus_id"] for entry in model.rank("rice", ["bread", "rice", "bread", "rice"])][:2] == [1, 3]


def test_activation_functions(model):
    pair = [("rice", "Cooked rice should stand for an hour at most."), ("rice", "bread")]
    raw = model.predict(pair)
    expected = 1 / (1 + np.exp(-raw.astype(np.float64)))
    assert np.allclose(model.predict(pair, activation_fn="sigmoid"), expected, rtol=1e-6)
    assert bits(model.predict(pair, activation_fn="identity")) == bits(raw)
    assert bits(model.predict(pair, activation_fn=lambda scores: scores * 2)) == bits(raw * 2)
    with pytest.raises(relucent_search.UsageError, match="cosine is not known"):
        model.predict(pair, activation_fn="cosine")


def test_the_checkpoints_own_activation_is_that_of_sentence_transformers(model, tmp_path):
    pair = ("rice", "Cooked rice should stand for an hour at most.")
    raw = model.predict(pair)
    # The bundled checkpoint states nothing, which means a sigmoid.
    own = relucent_search.CrossEncoder(activation_fn="checkpoint")
    assert own.predict(pair) == pytest.approx(1 / (1 + np.exp(-raw)), rel=1e-6)
    for file in pathlib.Path(relucent_search.default_model()).iterdir():
        if file.name != "config.json":
            (tmp_path / file.name).symlink_to(file)
    config = json.loads(pathlib.Path(relucent_search.default_model(), "config.json").read_text())
    config["sbert_ce_default_activation_function"] = "torch.nn.modules.linear.Identity"
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert bits([relucent_search.CrossEncoder(tmp_path, activation_fn="checkpoint").predict(pair)]) == bits([raw])


def test_settings_are_the_keys_of_the_profile(model):
    long = "word " * 2000 + "rice"
    assert relucent_search.CrossEncoder(max_length=64).raw(["rice"], ["rice " * 100]).tokens.tolist() == [64]
    assert model.raw(["rice"], [long]).truncated.tolist() == [1]
    assert relucent_search.CrossEncoder(long_documents="maxp").raw(["rice"], [long]).truncated.tolist() == [0]
    question = "rice " * 40
    assert model.raw([question], ["bread"]).query_truncated
    whole = relucent_search.CrossEncoder(max_query_length=40).raw([question], ["bread"])
    assert not whole.query_truncated and whole.tokens.tolist() == [44]
    one_thread = relucent_search.CrossEncoder(device="cpu", precision="fp32", threads=1)
    assert "fp32" in one_thread.describe() and "fp32" in repr(one_thread)
    with pytest.warns(UserWarning, match="pattern"):
        relucent_search.CrossEncoder(pattern="full")


def test_texts_that_utf8_cannot_hold(model):
    replaced = model.predict([("rice", "a \ufffd b")])
    assert bits(model.predict([("rice", "a \ud83d b")])) == bits(replaced)
    assert np.isfinite(model.predict([("rice", ""), ("rice", " "), ("rice", "\0")])).all()


def test_what_is_not_a_pair_is_refused(model):
    with pytest.raises(TypeError, match="a text is a str, not int"):
        model.predict([("rice", 5)])
    with pytest.raises(relucent_search.UsageError, match="pair 1: .* is not a pair"):
        model.predict([("rice", "bread"), ("rice", "bread", "more")])
    with pytest.raises(relucent_search.UsageError, match="pair 1: its query is empty"):
        model.predict([("rice", "bread"), (" ", "bread")])


def test_errors_have_a_place_a_hint_and_a_class(tmp_path):
    with pytest.raises(relucent_search.Error) as caught:
        relucent_search.CrossEncoder(tmp_path / "missing")
    error = caught.value
    assert type(error) is relucent_search.FileError and error.code == "io"
    assert "missing" in error.place and error.problem and error.hint
    assert error.place in str(error) and error.hint in str(error)
    with pytest.raises(relucent_search.InvalidDataError, match="precisoin.*precision") as caught:
        relucent_search.CrossEncoder(precisoin="fp32")
    assert caught.value.place.startswith("arguments of CrossEncoder")
    with pytest.raises(ValueError, match="device"):
        relucent_search.CrossEncoder(device="gpu")
    for kind in relucent_search.Error.__subclasses__():
        made = kind(error.place, error.problem, error.hint)
        restored = pickle.loads(pickle.dumps(made))
        assert type(restored) is kind and str(restored) == str(made) == str(error) and restored.hint == error.hint


def test_other_threads_run_meanwhile(model, documents):
    pairs = [("rice", text) for text in documents.values()] * 4
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    before = counted[0]
    model.predict(pairs)
    during = counted[0] - before
    done.set()
    counter.join()
    assert during > 10


def test_several_threads_get_the_same_bits(model, documents):
    pairs = [("rice", text) for text in documents.values()][:100]
    expected = bits(model.predict(pairs))
    results = [None] * 4

    def work(place):
        results[place] = bits(model.predict(pairs))

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_ctrl_c_ends_a_long_call(model, documents):
    pairs = [("rice", " ".join(list(documents.values())[:8]))] * 100_000  # minutes of work
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.predict(pairs)
    assert time.monotonic() - sent[0] < 2  # usually below 0.1 s; other programs may have the cores
    assert np.isfinite(model.predict(("rice", "bread")))


def test_a_signal_handler_that_raises_nothing_does_not_end_it(model, documents):
    seen = []
    old = signal.signal(signal.SIGUSR1, lambda *_: seen.append(model.predict(("rice", "bread"))))  # also reentrant
    try:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        scores = model.predict([("rice", text) for text in documents.values()] * 4)
        deadline = time.monotonic() + 10
        while not seen and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        signal.signal(signal.SIGUSR1, old)
    assert seen == [model.predict(("rice", "bread"))] and np.isfinite(scores).all()


def _predict_in_child(model, connection):
    try:
        connection.send(str(model.predict(("rice", "bread"))))
    except relucent_search.UsageError as error:
        connection.send(f"UsageError: {error}")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_told_to_make_its_own(model):
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_predict_in_child, args=(model, there))
    child.start()
    assert here.poll(30) and "after the fork" in here.recv()
    child.join()


def test_it_can_be_pickled(model):
    copy = pickle.loads(pickle.dumps(relucent_search.CrossEncoder(max_length=64)))
    assert copy.raw(["rice"], ["rice " * 100]).tokens.tolist() == [64]


def test_without_the_compiled_library_training_remains(root):
    code = ("import relucent_search, relucent_search.train\n"
            "assert issubclass(relucent_search.UsageError, relucent_search.Error)\n"
            "try: relucent_search.CrossEncoder\n"
            "except ModuleNotFoundError as error: print(error)\n")
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True,
                           env={**os.environ, "PYTHONPATH": str(root / "python/src")}).stdout
    assert "pip install ./python" in found


def test_names_and_versions():
    assert set(relucent_search.__all__) <= set(dir(relucent_search))
    assert all(getattr(relucent_search, name) is not None for name in relucent_search.__all__)
    assert relucent_search.version() == "0.1.0"
    with pytest.raises(AttributeError, match="CrossEncodre"):
        _ = relucent_search.CrossEncodre


def test_types(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    (tmp_path / "use.py").write_text(
        "import relucent_search\n"
        "model = relucent_search.CrossEncoder('model', device='cpu')\n"
        "reveal_type(model.predict([('a', 'b')]))\n"
        "reveal_type(model.predict(('a', 'b')))\n"
        "result = relucent_search.Searcher('index').search('query', 5)\n"
        "reveal_type(result.hits[0].logit)\n"
        "reveal_type([hit.id for hit in result])\n"
        "reveal_type(relucent_search.Reranker().rerank('query', ['a']).order)\n")
    found = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, "use.py"], cwd=tmp_path,
                           capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
    types = [line.split('Revealed type is ')[1].strip('"') for line in found.stdout.splitlines() if "Revealed" in line]
    assert "float32" in types[0] or "floating[" in types[0]
    assert "ndarray" in types[0] and "ndarray" not in types[1]
    assert types[2] == "float | None" or types[2] == "Union[builtins.float, None]" or "float" in types[2]
    assert "str" in types[3] and "ndarray" in types[4]
