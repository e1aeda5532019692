"""Scores texts for a question with the bundled model, in Python: one `score<TAB>text` per line, the best first.

Usage: score_texts.py QUESTION < one text per line
"""

import sys

from relucent_search import CrossEncoder


def main():
    texts = [line.rstrip("\n") for line in sys.stdin]
    model = CrossEncoder()  # a folder names another checkpoint; device="cuda" a GPU
    for hit in model.rank(sys.argv[1], texts, return_documents=True):
        print(f"{hit['score']:.4f}\t{hit['text']}")


if __name__ == "__main__":
    main()
