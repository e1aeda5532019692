"""Dify's rerankers, in a process of their own as Dify runs them: `import dify_plugin` replaces the sockets, threads and
processes of whatever program imports it, and programs that already use them hang.

    dify_client.py URL QUERY TEXT...

prints a JSON array of [name, [[index, score]...]]; without the package dify_plugin it exits with 77. The environment
variable DIFY_PLUGINS may name a checkout of Dify's official plugins: then its rerankers for servers of one's own also
run, each after its own check of the credentials.
"""

import importlib
import json
import os
import sys
from pathlib import Path

# Folder of the plugin, its class, the credentials that it asks for; {} stands for the server.
PLUGINS = (("openai_api_compatible", "OpenAIRerankModel", {"endpoint_url": "{}"}),
           ("huggingface_tei", "HuggingfaceTeiRerankModel", {"server_url": "{}"}),
           ("localai", "LocalaiRerankModel", {"server_url": "{}"}),
           ("gpustack", "GPUStackRerankModel", {"endpoint_url": "{}", "api_key": "none"}),
           ("jina", "JinaRerankModel", {"base_url": "{}/v1", "api_key": "none"}),
           ("cohere", "CohereRerankModel", {"base_url": "{}", "api_key": "none"}))


def plugin_class(folder, name):
    """Each plugin calls its package `models`."""
    for module in [module for module in sys.modules if module.split(".")[0] == "models"]:
        del sys.modules[module]
    sys.path.insert(0, str(folder))
    try:
        return getattr(importlib.import_module("models.rerank.rerank"), name)
    finally:
        sys.path.pop(0)


def ranked(model, credentials, query, texts):
    model.validate_credentials("m", credentials)
    documents = model.invoke("m", credentials, query, texts, top_n=len(texts)).docs
    assert [document.text for document in documents] == [texts[document.index] for document in documents], documents
    return [[document.index, document.score] for document in documents]


def main():
    try:
        from dify_plugin.interfaces.model.openai_compatible.rerank import OAICompatRerankModel
    except ImportError as missing:
        print(missing)
        return 77
    url, query, *texts = sys.argv[1:]
    found = [["OAICompatRerankModel", ranked(OAICompatRerankModel([]), {"endpoint_url": url, "api_key": "none"},
                                             query, texts)]]
    if "DIFY_PLUGINS" in os.environ:
        for folder, name, credentials in PLUGINS:
            model = plugin_class(Path(os.environ["DIFY_PLUGINS"], "models", folder), name)([])
            credentials = {key: value.format(url) for key, value in credentials.items()}
            found.append([name, ranked(model, credentials, query, texts)])
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # gevent's clean-up at the end of the interpreter fails with Python 3.11
