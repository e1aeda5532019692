"""Makes the inputs and answers of tests/index_tools/evaluation/more_measures_golden.cpp.

    python3 -m venv VENV
    VENV/bin/pip install pytrec-eval-terrier==0.5.11 ir-measures==0.4.3 cwl-eval==1.0.12
    VENV/bin/python tests/index_tools/evaluation/golden_measures/make_expected.py

Everything is written beside this file: runs and judgments made from fixed seeds, and expected.json, whose values come from

- trec_eval 9.0 inside pytrec_eval: bpref, Rprec, success, recall, num_rel_ret;
- gdeval.pl, TREC's script for graded measures, as ir_measures ships it: ERR. It rounds to five decimals; a copy of it that
  prints all digits gives the values, and its own output is compared with them;
- cwl_eval through ir_measures: RBP. It breaks ties by docno ascending, so it is given trec_eval's ranks in place of the scores.
"""

import importlib.resources
import json
import math
import random
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

import ir_measures
import pytrec_eval

HERE = Path(__file__).parent
VERSIONS = {"pytrec-eval-terrier": "0.5.11", "ir-measures": "0.4.3", "cwl-eval": "1.0.12"}
for package, wanted in VERSIONS.items():
    assert version(package) == wanted, f"{package} is {version(package)}, not {wanted}"


def ties():
    """Few different scores, so that docnos decide most ranks."""
    chance, run, qrels = random.Random(1), {}, {}
    for query in ("1", "2", "10", "30"):
        run[query] = {f"d{i}": float(chance.randint(1, 4)) for i in chance.sample(range(60), 40)}
        qrels[query] = {f"d{i}": chance.choice((0, 0, 0, 1, 1, 2, 3)) for i in chance.sample(range(60), 30)}
    return run, qrels


def missing():
    """Queries that only one side has, nothing relevant, nothing judged, fewer hits than relevant documents."""
    hits = {f"d{i}": 20.0 - i for i in range(20)}
    run = {
        "1": hits, "2": {"d3": 1.0}, "3": hits, "4": hits, "5": {"x1": 2.0, "x2": 1.0}, "6": hits, "7": hits,
        "90": hits, "91": {"d1": 1.0},
    }
    qrels = {
        "1": {f"d{i}": int(i % 3 == 0) for i in range(30)},
        "2": {f"d{i}": 1 for i in range(8)},
        "3": {f"d{i}": 0 for i in range(8)},                    # nothing relevant
        "4": {"d1": -1, "d2": -1},                              # negative only
        "5": {"d1": 1, "d2": 2, "d3": 0},                       # no hit is judged
        "6": {f"d{i}": 1 for i in range(25)},                   # all hits relevant, nothing judged non-relevant
        "7": {"d19": 1, "d0": 0, "d1": 0, "d2": 0},             # one relevant, behind more non-relevant ones
        "8": {"d1": 1}, "9": {"d1": 0}, "11": {"d5": 3, "d6": 0},  # the run does not have them
    }
    return run, qrels


def negative():
    """Grades from -2 to 4; trec_eval takes a negative one for not judged."""
    chance, run, qrels = random.Random(3), {}, {}
    for query in range(1, 7):
        run[str(query)] = {f"d{i}": chance.randint(0, 9999) / 100 for i in range(50)}
        qrels[str(query)] = {f"d{i}": chance.choice((-2, -1, 0, 0, 1, 2, 3, 4)) for i in chance.sample(range(70), 45)}
    return run, qrels


def deep():
    """Long runs with as many judgments as a pool has."""
    chance, run, qrels = random.Random(4), {}, {}
    for query in (7, 8, 9):
        order = chance.sample(range(600), 300)
        run[str(query)] = {f"doc-{i}": 500.0 - rank for rank, i in enumerate(order)}
        qrels[str(query)] = {f"doc-{i}": chance.choice((0, 0, 0, 0, 1, 2, 3)) for i in chance.sample(range(600), 150)}
    return run, qrels


def trec_eval(run, qrels, names, level):
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(names), relevance_level=level)
    return evaluator.evaluate(run)


def by_gdeval(run, qrels, cutoff):
    """Query: ERR. What gdeval leaves out (nothing relevant) is 0."""
    script = importlib.resources.files("ir_measures").joinpath("bin/gdeval.pl").read_text()
    assert script.count("%.5f,%.5f") == 1
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        qrels_file, run_file, program = (Path(folder) / name for name in ("qrels", "run", "gdeval.pl"))
        qrels_file.write_text("".join(f"{q} 0 {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items()))
        run_file.write_text("".join(f"{q} Q0 {d} 1 {s} tag\n" for q, docs in run.items() for d, s in docs.items()))
        for text in (script, script.replace("%.5f,%.5f", "%.17g,%.17g")):
            program.write_text(text)
            lines = subprocess.run(["perl", program, qrels_file, run_file, str(cutoff)], check=True, text=True,
                                   capture_output=True).stdout.split()
            answers.append({line.split(",")[1]: float(line.split(",")[3]) for line in lines[1:]})
    assert answers[0].keys() == answers[1].keys()
    assert all(abs(answers[0][q] - answers[1][q]) < 0.6e-5 for q in answers[0])
    return {q: answers[1].get(q, 0.0) for q in run if q in qrels}


def by_cwl(run, qrels, measure, cutoff=None):
    """Query: the measure, of the hits in trec_eval's order down to the cutoff."""
    hits = []
    for query, docs in run.items():
        ordered = sorted(docs.items(), key=lambda hit: (hit[1], hit[0].encode()), reverse=True)[:cutoff]
        hits += [ir_measures.ScoredDoc(query, docno, -float(rank)) for rank, (docno, _) in enumerate(ordered)]
    judgments = [ir_measures.Qrel(q, d, g) for q, docs in qrels.items() for d, g in docs.items()]
    return {m.query_id: float(m.value) for m in ir_measures.cwl_eval.iter_calc([measure], judgments, hits)
            if m.query_id in run}


def answers_of(run, qrels):
    """Measure: {query: value}, for the queries of both."""
    answers = {}
    for level, suffix in ((1, ""), (2, "(rel=2)"), (3, "(rel>=3)")):
        asked = ["bpref", "Rprec", "num_rel_ret"] + [f"success_{k}" for k in (1, 5, 10)]
        asked += [f"recall_{k}" for k in (5, 10, 100, 1000)]
        found = trec_eval(run, qrels, asked, level)
        for name in asked:
            base, _, cutoff = name.rpartition("_") if name[-1].isdigit() else (name, "", "")
            values = {query: measures[name] for query, measures in found.items()}
            if level == 1:
                answers[name] = values
            # The names of ir_measures.
            there = {"bpref": "Bpref", "Rprec": "Rprec", "num_rel_ret": "NumRelRet", "success": "Success", "recall": "R"}
            answers[there[base] + suffix + (f"@{cutoff}" if cutoff else "")] = values
            if base == "recall":
                answers["Recall" + suffix + f"@{cutoff}"] = values
    for cutoff in (1, 5, 10, 20, 1000):
        answers[f"ERR@{cutoff}"] = by_gdeval(run, qrels, cutoff)
    answers["ERR"] = answers["ERR@1000"]  # no run is longer
    rbp = ir_measures.RBP
    answers["RBP"] = answers["RBP(p=0.8)"] = answers["RBP(rel=1)"] = by_cwl(run, qrels, rbp(p=0.8, rel=1))
    for p in (0.5, 0.95):
        for rel in (1, 2):
            answers[f"RBP(p={p},rel={rel})"] = by_cwl(run, qrels, rbp(p=p, rel=rel))
    answers["RBP(rel=3)"] = by_cwl(run, qrels, rbp(p=0.8, rel=3))
    answers["RBP@5"] = by_cwl(run, qrels, rbp(p=0.8, rel=1), 5)
    answers["RBP(p=0.5)@10"] = by_cwl(run, qrels, rbp(p=0.5, rel=1), 10)
    return answers


def main():
    expected = {"versions": VERSIONS, "cases": {}}
    for make in (ties, missing, negative, deep):
        run, qrels = make()
        (HERE / f"{make.__name__}.run").write_text(
            "".join(f"{q} Q0 {d} {i + 1} {s:g} made\n" for q, docs in run.items() for i, (d, s) in enumerate(docs.items())))
        (HERE / f"{make.__name__}.qrels").write_text(
            "".join(f"{q} 0 {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items()))
        both = [query for query in run if query in qrels]
        answers = answers_of(run, qrels)
        case = {"about": make.__doc__, "num_q": len(both), "num_q_complete": len(qrels), "mean": {}, "mean_complete": {},
                "queries": {query: {} for query in both}}
        for name, values in answers.items():
            assert set(values) == set(both), (name, set(values) ^ set(both))
            for query in both:
                case["queries"][query][name] = values[query]
            total = math.fsum(values.values())
            counted = name.lower().startswith("num")
            case["mean"][name] = total if counted else total / len(both)
            case["mean_complete"][name] = total if counted else total / len(qrels)
        expected["cases"][make.__name__] = case
        # ir_measures itself, whose averages are over all queries of the judgments.
        asked = ["Bpref", "Bpref(rel=2)", "Rprec", "Success@5", "Success(rel=2)@5", "R@10", "RBP(rel=1)", "ERR@20"]
        hits = [ir_measures.ScoredDoc(q, d, s) for q, docs in run.items() for d, s in docs.items()]
        judgments = [ir_measures.Qrel(q, d, g) for q, docs in qrels.items() for d, g in docs.items()]
        if make is not ties:
            got = ir_measures.calc_aggregate([ir_measures.parse_measure(name) for name in asked], judgments, hits)
            for measure, value in got.items():
                assert abs(value - case["mean_complete"][str(measure)]) < 1e-5, (make, measure, value)
    (HERE / "expected.json").write_text(json.dumps(expected, indent=0, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
