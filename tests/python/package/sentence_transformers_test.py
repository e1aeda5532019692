"""CrossEncoder next to sentence-transformers' class: the same arguments, and the same numbers for them."""
import inspect
import json

import numpy as np
import pytest

import relucent_search

st = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PAIRS = [("how to treat a burn", "Hold it under cool running water for twenty minutes."),
         ("how to treat a burn", "Burning calories takes time."), ("bread", "Why did my bread not rise?")]


def arguments_of(function):
    arguments = inspect.signature(function).parameters
    return [(name, argument.kind, argument.default) for name, argument in arguments.items()]


@pytest.mark.parametrize("name", ["predict", "rank"])
def test_the_arguments_are_those_of_sentence_transformers(name):
    theirs = arguments_of(getattr(st.CrossEncoder, name))
    assert arguments_of(getattr(relucent_search.CrossEncoder, name)) == theirs


@pytest.fixture(scope="module")
def folder(tmp_path_factory, root):
    """A small BERT of random numbers with two prompts."""
    bare, folder = tmp_path_factory.mktemp("bare"), tmp_path_factory.mktemp("checkpoint")
    torch.manual_seed(1)
    config = transformers.BertConfig(vocab_size=30522, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                                     intermediate_size=64, max_position_embeddings=64, num_labels=1,
                                     initializer_range=0.5)
    transformers.BertForSequenceClassification(config).save_pretrained(bare)
    vocabulary = root / "model/relucent-minilm-l6-w4/vocab.txt"
    transformers.BertTokenizerFast(vocab_file=str(vocabulary), model_max_length=64).save_pretrained(bare)
    prompts = {"question": "question: ", "long": "answer this question: "}
    st.CrossEncoder(str(bare), device="cpu", prompts=prompts).save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="module")
def theirs(folder):
    return st.CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity())


@pytest.fixture(scope="module")
def ours(folder):
    return relucent_search.CrossEncoder(folder, device="cpu", precision="fp32")


@pytest.mark.parametrize("arguments", [{}, {"prompt": "question: "}, {"prompt_name": "long"}, {"batch_size": 2},
                                       {"show_progress_bar": False}, {"chunk_size": 3}, {"device": "cpu"},
                                       {"activation_fn": torch.nn.Sigmoid()}, {"apply_softmax": True}])
def test_every_argument_gives_their_numbers(theirs, ours, arguments):
    expected = theirs.predict(PAIRS, **arguments)
    assert ours.predict(PAIRS, **arguments) == pytest.approx(expected, abs=1e-4)
    if "apply_softmax" in arguments:
        return
    documents = [document for _, document in PAIRS]
    ranked = theirs.rank("burn", documents, **arguments)
    found = ours.rank("burn", documents, **arguments)
    assert [entry["corpus_id"] for entry in found] == [entry["corpus_id"] for entry in ranked]
    assert [entry["score"] for entry in found] == pytest.approx([entry["score"] for entry in ranked], abs=1e-4)


def test_a_prompt_changes_the_score(ours):
    assert np.all(ours.predict(PAIRS, prompt="question: ") != ours.predict(PAIRS))


def test_arguments_may_be_given_by_place(theirs, ours):
    expected = theirs.predict(PAIRS, "question", None, 8)
    assert ours.predict(PAIRS, "question", None, 8) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("inputs", [PAIRS, PAIRS[0]])
@pytest.mark.parametrize("arguments", [{"convert_to_numpy": False}, {"convert_to_tensor": True},
                                       {"convert_to_numpy": False, "convert_to_tensor": True}, {}])
def test_the_types_are_theirs(theirs, ours, inputs, arguments):
    expected, found = theirs.predict(inputs, **arguments), ours.predict(inputs, **arguments)
    assert type(found) is type(expected)
    assert [float(score) for score in np.atleast_1d(found)] == pytest.approx(
        [float(score) for score in np.atleast_1d(expected)], abs=1e-4)


def test_what_is_not_possible_is_refused(ours):
    for arguments, message in [({"pool": {}}, "pool: there are no pools"),
                               ({"device": ["cuda:0", "cuda:1"]}, "device: .* is not the device of this object"),
                               ({"device": "cuda:7"}, "device: cuda:7 is not the device of this object"),
                               ({"prompt_name": "answer"}, "prompt_name: the checkpoint has no prompt 'answer'")]:
        with pytest.raises(relucent_search.UsageError, match=message):
            ours.predict(PAIRS, **arguments)
        with pytest.raises(relucent_search.UsageError, match=message):
            ours.rank("burn", ["a"], **arguments)
    with pytest.raises(relucent_search.UsageError, match="processing_kwargs: is not an argument"):
        ours.predict(PAIRS, processing_kwargs={"text": {"max_length": 9}})


def test_the_checkpoints_own_prompt_cannot_be_left_out(folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    stated = json.loads((folder / "config_sentence_transformers.json").read_text())
    file = tmp_path / "config_sentence_transformers.json"
    file.unlink()
    file.write_text(json.dumps({**stated, "default_prompt_name": "question"}))
    theirs = st.CrossEncoder(str(tmp_path), device="cpu", activation_fn=torch.nn.Identity())
    ours = relucent_search.CrossEncoder(tmp_path, device="cpu", precision="fp32")
    assert ours.predict(PAIRS) == pytest.approx(theirs.predict(PAIRS), abs=1e-4)
    for prompt in ("question: ", "question: please "):
        assert ours.predict(PAIRS, prompt=prompt) == pytest.approx(theirs.predict(PAIRS, prompt=prompt), abs=1e-4)
    with pytest.raises(relucent_search.UsageError, match="own prompt 'question: ' stands before every query"):
        ours.predict(PAIRS, prompt="")
