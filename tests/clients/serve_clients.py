"""Real clients against the real server; run by hand in an environment with their packages:

    python3 -m venv venv && venv/bin/pip install cohere huggingface_hub langchain-classic langchain-community \\
        llama-index-core llama-index-postprocessor-tei-rerank llama-index-postprocessor-jinaai-rerank requests
    venv/bin/python tests/clients/serve_clients.py PROGRAM

Each client must rank the same text first with the score that curl gets. A client whose package is missing is skipped
with a message.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
from serve_support import DEVICE, Server, program_path  # noqa: E402

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


def main():
    failed = False
    with Server(program_path(), *DEVICE) as server:
        url = f"http://127.0.0.1:{server.port}"
        expected = curl(url)
        print(f"curl: {expected}")
        for client in (huggingface_hub, cohere_v1, cohere_v2, langchain_jina, langchain_tei, llama_index_tei,
                       llama_index_jina):
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
