"""Makes the answers of tests/index_tools/experiments/significance_golden.cpp: expected.json beside this file.

    python3 -m venv VENV
    VENV/bin/pip install scipy==1.17.1 statsmodels==0.15.0
    VENV/bin/python tests/index_tools/experiments/golden_tests/make_expected.py

Families of rows with made-up values per query, each compared with a reference row: the paired t-test by SciPy, TOST and Holm's
correction by statsmodels.
"""
import json
import random
from importlib.metadata import version
from pathlib import Path

from scipy.stats import ttest_rel
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

VERSIONS = {"scipy": "1.17.1", "statsmodels": "0.15.0"}
for package, wanted in VERSIONS.items():
    assert version(package) == wanted, f"{package} is {version(package)}, not {wanted}"

import numpy

rng = random.Random(2024)


def family(queries, rows, spread, shift, bound):
    reference = [round(rng.random(), 6) for _ in range(queries)]
    case = {"bound": bound, "reference": reference, "rows": []}
    for row in range(rows):
        move = shift * (row - rows / 2)
        values = [round(value + move + rng.gauss(0, spread), 6) for value in reference]
        a, b = numpy.array(values), numpy.array(reference)
        t = ttest_rel(a, b)
        p_tost = ttost_paired(a, b, -bound, bound)[0]
        case["rows"].append({"values": values, "t": float(t.statistic), "p_t": float(t.pvalue), "p_tost": float(p_tost)})
    for name in ("p_t", "p_tost"):
        adjusted = multipletests([row[name] for row in case["rows"]], method="holm")[1]
        for row, p in zip(case["rows"], adjusted):
            row[name + "_holm"] = float(p)
    return case


cases = [family(queries, rows, spread, shift, bound)
         for queries in (2, 5, 43, 226) for rows in (1, 2, 13)
         for spread, shift, bound in ((0.05, 0.004, 0.02), (0.2, 0.01, 0.05), (0.01, 0.0, 0.005))]
# Equal p-values: rows with the same values.
twice = family(20, 3, 0.05, 0.01, 0.02)
for row in (1, 2):
    twice["rows"][row] = dict(twice["rows"][0])
for name in ("p_t", "p_tost"):
    for row, p in zip(twice["rows"], multipletests([row[name] for row in twice["rows"]], method="holm")[1]):
        row[name + "_holm"] = float(p)
cases.append(twice)
out = Path(__file__).parent / "expected.json"
out.write_text(json.dumps({"versions": VERSIONS, "cases": cases}, separators=(",", ":")) + "\n")
