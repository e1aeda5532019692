"""Real clients against the real server, in an environment with their packages; ./test.sh --long clients makes such
environments and runs this in each.

    serve_clients.py PROGRAM [CLIENT...]

Each client, or each that is named, must rank the same text first with the score that curl gets. A client whose package
is missing is skipped with a message.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
from serve_support import DEVICE, Server  # noqa: E402

QUERY = "how to boil an egg"
TEXTS = ["Paris is the capital of France.", "To boil an egg, put it in boiling water for seven minutes.",
         "Eggs are laid by hens."]


def curl(url):
    body = json.dumps({"query": QUERY, "texts": TEXTS})
    out = subprocess.run(["curl", "-sS", "--fail", url + "/rerank", "-H", "Content-Type: application/json", "-d", body],
                         check=True, stdout=subprocess.PIPE).stdout
    return [(rank["index"], rank["score"]) for rank in json.loads(out)]


def huggingface_hub(url):
    """Its InferenceClient has no call for reranking; what TEI's documentation shows is a POST with its session."""
    from huggingface_hub.utils import get_session
    answer = get_session().post(url + "/rerank", json={"query": QUERY, "texts": TEXTS})
    answer.raise_for_status()
    return [(rank["index"], rank["score"]) for rank in answer.json()]


def cohere_v1(url):
    import cohere
    answer = cohere.Client(api_key="none", base_url=url).rerank(model="m", query=QUERY, documents=TEXTS)
    return [(result.index, result.relevance_score) for result in answer.results]


def cohere_v2(url):
    import cohere
    answer = cohere.ClientV2(api_key="none", base_url=url).rerank(model="m", query=QUERY, documents=TEXTS, top_n=3)
    return [(result.index, result.relevance_score) for result in answer.results]


def langchain_jina(url):
    from langchain_community.document_compressors import JinaRerank
    import langchain_community.document_compressors.jina_rerank as module
    module.JINA_API_URL = url + "/v1/rerank"
    compressor = JinaRerank(jina_api_key="none", model="m", top_n=3)
    return [(result["index"], result["relevance_score"]) for result in compressor.rerank(TEXTS, QUERY)]


def langchain_tei(url):
    """LangChain's cross-encoder interface over TEI's form of requests."""
    import requests
    from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
    from langchain_community.cross_encoders.base import BaseCrossEncoder
    from langchain_core.documents import Document

    class Tei(BaseCrossEncoder):
        def score(self, text_pairs):
            ranks = requests.post(url + "/rerank", json={"query": text_pairs[0][0],
                                                         "texts": [text for _, text in text_pairs]}, timeout=60).json()
            scores = {rank["index"]: rank["score"] for rank in ranks}
            self.scores.update({text: scores[i] for i, (_, text) in enumerate(text_pairs)})
            return [scores[i] for i in range(len(text_pairs))]

    Tei.scores = {}
    documents = [Document(page_content=text) for text in TEXTS]
    best = CrossEncoderReranker(model=Tei(), top_n=3).compress_documents(documents, QUERY)
    return [(TEXTS.index(document.page_content), Tei.scores[document.page_content]) for document in best]


def llama_index_tei(url):
    from llama_index.core.schema import NodeWithScore, TextNode
    from llama_index.postprocessor.tei_rerank import TextEmbeddingInference
    reranker = TextEmbeddingInference(base_url=url, top_n=3)
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.0) for text in TEXTS]
    best = reranker.postprocess_nodes(nodes, query_str=QUERY)
    return [(TEXTS.index(node.node.text), node.score) for node in best]


def llama_index_jina(url):
    from llama_index.core.schema import NodeWithScore, TextNode
    from llama_index.postprocessor.jinaai_rerank import JinaRerank
    reranker = JinaRerank(api_key="none", model="m", top_n=3, base_url=url + "/v1")
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.0) for text in TEXTS]
    best = reranker.postprocess_nodes(nodes, query_str=QUERY)
    return [(TEXTS.index(node.node.text), node.score) for node in best]


def langchain_cohere(url):
    from langchain_cohere import CohereRerank
    reranker = CohereRerank(cohere_api_key="none", base_url=url, model="m", top_n=3)
    return [(result["index"], result["relevance_score"]) for result in reranker.rerank(TEXTS, QUERY)]


def llama_index_cohere(url):
    from llama_index.core.schema import NodeWithScore, TextNode
    from llama_index.postprocessor.cohere_rerank import CohereRerank
    reranker = CohereRerank(api_key="none", base_url=url, model="m", top_n=3)
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.0) for text in TEXTS]
    best = reranker.postprocess_nodes(nodes, query_str=QUERY)
    return [(TEXTS.index(node.node.text), node.score) for node in best]


def litellm_with(provider, path=""):
    def client(url):
        import os
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # nothing is fetched
        import litellm
        answer = litellm.rerank(model=provider + "/m", query=QUERY, documents=TEXTS, top_n=3, api_key="none",
                                api_base=url + path, return_documents=True)
        for result in answer.results:
            assert result["document"]["text"] == TEXTS[result["index"]], result
        return [(result["index"], result["relevance_score"]) for result in answer.results]

    client.__name__ = "litellm_" + provider
    return client


def infinity(url):
    from infinity_client import Client
    from infinity_client.api.default import rerank
    from infinity_client.models import RerankInput
    answer = rerank.sync(client=Client(base_url=url + "/infinity", raise_on_unexpected_status=True),
                         body=RerankInput(query=QUERY, documents=TEXTS, return_documents=True))
    assert [result.document for result in answer.results] == [TEXTS[result.index] for result in answer.results]
    return [(result.index, result.relevance_score) for result in answer.results]


def open_webui(url):
    """Its external reranker, without the rest of the program, which the class only asks for settings."""
    import importlib.util
    import types
    found = importlib.util.find_spec("open_webui")
    if found is None:
        raise ImportError("No module named 'open_webui'")
    root = Path(found.origin).parent if found.origin else Path(list(found.submodule_search_locations)[0])
    for name, values in (("open_webui", {"__path__": [str(root)]}), ("open_webui.utils", {"__path__": []}),
                         ("open_webui.retrieval", {"__path__": [str(root / "retrieval")]}),
                         ("open_webui.env", {"ENABLE_FORWARD_USER_INFO_HEADERS": False, "REQUESTS_VERIFY": True}),
                         ("open_webui.utils.headers", {"include_user_info_headers": lambda headers, _: headers})):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(values)
    from open_webui.retrieval.models.external import ExternalReranker
    scores = ExternalReranker("none", url + "/v1/rerank").predict([(QUERY, text) for text in TEXTS])
    return sorted(enumerate(scores), key=lambda pair: -pair[1])


def dify(url):
    """OAICompatRerankModel scales the scores of a request to 0..1; the rerankers of the plugins do not."""
    run = subprocess.run([sys.executable, Path(__file__).with_name("dify_client.py"), url, QUERY, *TEXTS],
                         stdout=subprocess.PIPE, text=True, timeout=300)
    if run.returncode == 77:
        raise ImportError(run.stdout.strip())
    run.check_returncode()
    expected = curl(url)
    best, worst = expected[0][1], expected[-1][1]
    scaled = [(index, (score - worst) / (best - worst)) for index, score in expected]
    for name, found in json.loads(run.stdout):
        wanted = scaled if name == "OAICompatRerankModel" else expected
        assert [index for index, _ in found] == [index for index, _ in wanted], (name, found)
        assert all(abs(a - b) < 1e-6 for (_, a), (_, b) in zip(found, wanted, strict=True)), (name, found)
        print(f"dify, {name}: ok")
    return expected


CLIENTS = (huggingface_hub, cohere_v1, cohere_v2, langchain_jina, langchain_tei, llama_index_tei, llama_index_jina,
           langchain_cohere, llama_index_cohere, litellm_with("cohere"), litellm_with("jina_ai"),
           litellm_with("hosted_vllm"), litellm_with("huggingface"), litellm_with("infinity", "/infinity"), infinity,
           open_webui, dify)


def main():
    program, *names = sys.argv[1:]
    unknown = sorted(set(names) - {client.__name__ for client in CLIENTS})
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; there are: {', '.join(client.__name__ for client in CLIENTS)}")
    failed = False
    with Server(program, *DEVICE) as server:
        url = f"http://127.0.0.1:{server.port}"
        expected = curl(url)
        print(f"curl: {expected}")
        for client in CLIENTS:
            if names and client.__name__ not in names:
                continue
            try:
                got = [(index, score) for index, score in client(url)]
            except ImportError as missing:
                print(f"{client.__name__}: SKIPPED: {missing}")
                continue
            except Exception as problem:  # noqa: BLE001: one client's failure must not hide the others
                print(f"{client.__name__}: FAILED: {type(problem).__name__}: {problem}")
                failed = True
                continue
            print(f"{client.__name__}: {'ok' if got == expected else f'FAILED: {got}'}")
            failed = failed or got != expected
        agents = sorted({line.get("user_agent", "-") for line in server.access_log()})
        print("user agents seen: " + ", ".join(agents))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
