"""The files for operators in docs/examples/serving: the dashboard and the alert rules ask for metrics that the server
has; where Debian's Prometheus is installed, it scrapes a server and answers every query; where helm_python is, Helm
renders the chart."""

import contextlib
import importlib.util
import json
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from replicas_test import free_ports
from serve_support import DEVICE, ROOT, Server, build_index, program_path, run_tests

PROGRAM = program_path()
EXAMPLES = ROOT / "docs" / "examples" / "serving"
DASHBOARD = json.loads((EXAMPLES / "grafana-dashboard.json").read_text(encoding="utf-8"))
ALERTS = (EXAMPLES / "alerts.yml").read_text(encoding="utf-8")
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
SCRATCH = tempfile.TemporaryDirectory(prefix="relucent-operations-test-")
CACHE = "[rescorer]\ncache_mb = 8\n"


def setUpModule():
    build_index(PROGRAM, Path(SCRATCH.name) / "demo.index")


def make_server():
    return Server(PROGRAM, "--index", Path(SCRATCH.name) / "demo.index", *DEVICE, profile=CACHE)


class Dashboard(unittest.TestCase):
    def test_panels_have_places_of_their_own(self):
        identifiers = [panel["id"] for panel in DASHBOARD["panels"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        taken = set()
        for panel in DASHBOARD["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            cells = {(place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells

    def test_its_variables_are_declared(self):
        declared = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
        for panel in PANELS:
            self.assertEqual(panel["datasource"]["uid"], "${datasource}")
            for target in panel["targets"]:
                self.assertEqual(target["datasource"]["uid"], "${datasource}")
                used = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval"}
                self.assertEqual(used, {"job", "instance"}, target["expr"])
                self.assertLessEqual(used, declared)

    def test_every_metric_and_label_exists(self):
        with make_server() as server:
            server.get("/info")
            text = server.get("/metrics").body.decode()
        kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
        exist = {name for name, kind in kinds.items() if kind != "histogram"}
        exist |= {name + end for name, kind in kinds.items() if kind == "histogram"
                  for end in ("_bucket", "_sum", "_count")}
        labels = {"job", "instance", *re.findall(r'[{,](\w+)="', text)}
        for source in [*QUERIES, ALERTS]:
            asked = set(re.findall(r"\brelucent_\w+", source))
            self.assertLessEqual(asked, exist)
            by = {name.strip() for names in re.findall(r"\bby \(([^)]*)\)", source) for name in names.split(",")}
            matched = set(re.findall(r'[{,](\w+)=~?"', source))
            self.assertLessEqual(by | matched, labels)
        self.assertTrue(any("relucent_" in query for query in QUERIES))
        for name, kind in kinds.items():
            if kind == "counter":
                self.assertRegex(name, "_total$")


class Prometheus:
    """Debian's Prometheus with the example's files, which scrapes a server every second."""

    def __init__(self, server):
        self.folder = tempfile.TemporaryDirectory(prefix="relucent-prometheus-")
        folder = Path(self.folder.name)
        self.port, = free_ports(1)
        config = (EXAMPLES / "prometheus.yml").read_text(encoding="utf-8")
        config, count = re.subn(r"127\.0\.0\.1:8080", f"127.0.0.1:{server.port}", config)
        assert count == 1, config
        config, count = re.subn(r"_interval: 15s", "_interval: 1s", config)
        assert count == 2, config
        (folder / "prometheus.yml").write_text(config, encoding="utf-8")
        shutil.copy(EXAMPLES / "alerts.yml", folder)
        with open(folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()

    def ask(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{url}: {error.read().decode()}") from error

    def wait_for(self, query, value, seconds=60):
        """Waits until the query's only value is at least `value`."""
        end, found = time.monotonic() + seconds, None
        while time.monotonic() < end:
            with contextlib.suppress(OSError, AssertionError):  # it is starting
                found = self.ask("query", query=query)["result"]
                if len(found) == 1 and float(found[0]["value"][1]) >= value:
                    return
            time.sleep(0.2)
        raise AssertionError(f"{query} is not {value} within {seconds} s: {found}; "
                             + (Path(self.folder.name) / "log").read_text(encoding="utf-8", errors="replace")[-2000:])


@unittest.skipUnless(shutil.which("prometheus") and shutil.which("promtool"),
                     "prometheus is not installed (apt-get install prometheus)")
class PrometheusAnswers(unittest.TestCase):
    def test_every_query_of_the_dashboard_and_every_rule(self):
        with make_server() as server, Prometheus(server) as prometheus:
            prometheus.wait_for("relucent_info", 1)
            rerank = {"query": "rice", "texts": ["Boil the rice.", "Paris is in France."]}
            for _ in range(2):  # the second time the scores come from the cache
                self.assertEqual(server.post("/rerank", rerank).status, 200)
                self.assertEqual(server.post("/search", {"query": "rice", "k": 3}).status, 200)
            server.process.send_signal(signal.SIGHUP)
            prometheus.wait_for("relucent_reloads_total", 1)
            prometheus.wait_for("count_over_time(relucent_info[1m])", 5)
            prometheus.wait_for('sum(relucent_requests_total{path="/search"})', 2)
            for query in QUERIES:
                for name, value in (("$job", "relucent"), ("$instance", ".*"), ("$__rate_interval", "1m")):
                    query = query.replace(name, value)
                found = prometheus.ask("query", query=query)["result"]
                self.assertTrue(found, query)
                for series in found:
                    self.assertGreaterEqual(float(series["value"][1]), 0, query)  # not NaN
            for variable in DASHBOARD["templating"]["list"][1:]:
                match, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"]).groups()
                values = prometheus.ask(f"label/{label}/values", **{"match[]": match.replace("$job", "relucent")})
                self.assertEqual(values, {"job": ["relucent"], "instance": [f"127.0.0.1:{server.port}"]}[label])
            group, = prometheus.ask("rules")["groups"]
            self.assertEqual(len(group["rules"]), ALERTS.count("- alert:"))
            self.assertEqual({(rule["name"], rule.get("lastError", "")) for rule in group["rules"]},
                             {(name, "") for name in re.findall(r"- alert: (\w+)", ALERTS)})
            self.assertEqual({rule["state"] for rule in group["rules"]}, {"inactive"})
            server.process.kill()
            prometheus.wait_for('ALERTS{alertname="RelucentDown",alertstate="pending"}', 1)

    def test_each_rule_fires_when_it_should(self):
        subprocess.run(["promtool", "check", "rules", EXAMPLES / "alerts.yml"], check=True, stdout=subprocess.DEVNULL)
        with tempfile.TemporaryDirectory() as name:
            tests = (Path(__file__).parent / "alerts.yml").read_text(encoding="utf-8")
            for rule in re.findall(r"- alert: (\w+)", ALERTS):
                self.assertEqual(tests.count(f"alertname: {rule}\n") + tests.count(f"alertname: {rule}}}"),
                                 3 if rule == "RelucentDown" else 2, rule)
            file = Path(name) / "tests.yml"
            file.write_text(tests.replace("RULES", str(EXAMPLES / "alerts.yml")), encoding="utf-8")
            done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@unittest.skipUnless(importlib.util.find_spec("helm_python"), "helm_python is not installed (pip: helm-python-sdk)")
class Chart(unittest.TestCase):
    def render(self, **values):
        import helm_python
        with helm_python.Chart.load(str(EXAMPLES / "helm")) as chart:
            return {name.rsplit("/", 1)[1]: text for name, text in
                    chart.render({"token": {"secret": "the-token"}, **values}, name="search", namespace="prod").items()}

    def test_lint(self):
        import helm_python
        self.assertEqual(helm_python.lint(str(EXAMPLES / "helm"))["errors"], [])

    def test_the_server_is_started_with_flags_and_a_profile_that_it_takes(self):
        files = self.render(index={"claim": "the-index", "path": "my.index"})
        flags = re.findall(r"^ +- --(\w+)=(.*)$", files["deployment.yaml"], re.MULTILINE)
        self.assertEqual(dict(flags), {"host": "0.0.0.0", "port": "8080", "config": "/etc/relucent/profile.toml",
                                       "index": "/index/my.index", "reopen": "60"})
        usage = subprocess.run([PROGRAM, "serve", "--help"], check=True, capture_output=True, text=True).stdout
        for flag, _ in flags:
            self.assertIn(f"--{flag}", usage)
        profile = re.search(r"profile.toml: \|\n((?:    .*\n?)+)", files["profile.yaml"])[1]
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "profile.toml"
            file.write_text(re.sub("^    ", "", profile, flags=re.MULTILINE), encoding="utf-8")
            subprocess.run([PROGRAM, "config", "check", file], check=True, stdout=subprocess.DEVNULL)
            drain = int(re.search(r"drain_timeout_ms = (\d+)", file.read_text(encoding="utf-8"))[1]) / 1000
        self.assertGreater(int(re.search(r"terminationGracePeriodSeconds: (\d+)", files["deployment.yaml"])[1]), drain)
        self.assertIn("claimName: the-index", files["deployment.yaml"])
        with make_server() as server:
            for path in re.findall(r"path: (/\w+), port", files["deployment.yaml"]) + ["/metrics"]:
                self.assertEqual(server.get(path).status, 200, path)
            version, = re.findall(r'relucent_info\{version="([^"]+)"', server.get("/metrics").body.decode())
        self.assertIn(f'image: "relucent:{version}"', files["deployment.yaml"])

    def test_what_is_on_request(self):
        files = self.render()
        self.assertNotIn("--index", files["deployment.yaml"])
        self.assertIn("replicas: 2", files["deployment.yaml"])
        self.assertFalse(files["autoscaling.yaml"].strip() or files["monitor.yaml"].strip())
        files = self.render(autoscaling={"enabled": True}, serviceMonitor={"enabled": True}, replicas=5)
        self.assertNotIn("replicas: 5", files["deployment.yaml"])
        self.assertIn("maxReplicas: 8", files["autoscaling.yaml"])
        self.assertIn("credentials: {name: the-token, key: token}", files["monitor.yaml"])

    def test_a_token_is_needed(self):
        import helm_python
        with self.assertRaisesRegex(helm_python.HelmError, "name the Secret with the bearer token"):
            self.render(token={"secret": ""})


if __name__ == "__main__":
    run_tests()
