"use strict";

const at = (id) => document.getElementById(id);
const steps = [
  ["parse", "query"], ["first_stage", "BM25"], ["fetch", "texts"], ["tokenize", "tokenizer"], ["encode", "model"],
  ["combine", "order"], ["passages", "passages"],
];
const stopWords = new Set(("a an and are as at be but by for if in into is it no not of on or such that the their " +
  "then there these they this to was will with").split(" "));  // which BM25 ignores, too
const places = new Intl.NumberFormat("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const whole = new Intl.NumberFormat("en");
const milliseconds = (value) => (value < 10 ? value.toFixed(1) : Math.round(value)) + " ms";
let shown = null;      // the answer on the page
let newest = 0;        // the last search that was started
let running = null;    // its AbortController

/** An element with text or children; text is never read as HTML. */
function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

async function ask(path, body, signal) {
  const headers = {};
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = "Bearer " + token;
  if (body) headers["Content-Type"] = "application/json";
  const post = body && { method: "POST", headers, body: JSON.stringify(body), signal };
  const answer = await fetch(path, post || { headers });
  const json = await answer.json().catch(() => ({}));
  if (answer.ok) return json;
  at("access").hidden = answer.status !== 401;
  if (answer.status === 401) at("token").focus();
  throw new Error(json.error || json.message || "the server answered " + answer.status);
}

function say(text, problem = false) {
  at("status").textContent = text;
  at("status").classList.toggle("problem", problem);
}

/** The query's words in a text stand out; so does the passage that answered. */
function highlighted(text, words) {
  const nodes = [];
  for (const piece of text.split(/([\p{L}\p{N}]+)/u)) {
    const lower = piece.toLowerCase();
    const found = words.some((word) => lower === word || (word.length > 4 && lower.startsWith(word.slice(0, -1))));
    nodes.push(found ? element("span", "word", piece) : piece);
  }
  return nodes;
}

function textOf(hit, words) {
  const paragraph = element("p", "text");
  const passage = hit.passage;
  if (passage && (passage.begin > 0 || !passage.ends_field)) {
    paragraph.append(passage.begin > 0 ? "… " : "", element("mark", "", ...highlighted(passage.text, words)),
                     passage.ends_field ? "" : " …");
    paragraph.title = `bytes ${passage.begin} to ${passage.end} of ${passage.field}`;
  } else if (passage || hit.snippet) {
    paragraph.append(...highlighted(passage ? passage.text : hit.snippet, words));
  } else {
    paragraph.append(element("span", "note", "no stored text"));
  }
  return paragraph;
}

function tree(explanation) {
  const item = element("li", "", places.format(explanation.value) + "  " + explanation.description);
  const details = explanation.details || [];
  if (details.length) item.append(element("ul", "", ...details.map(tree)));
  return item;
}

/** Explanations are asked for once per answer, when the first of them is opened. */
async function explain(details, hit) {
  if (!details.open || details.dataset.state) return;
  details.dataset.state = "asked";
  const answer = shown;
  try {
    answer.explained ??= ask("search", { query: answer.query, k: Math.min(answer.hits.length, 10), explain: true });
    const explained = (await answer.explained).hits.find((one) => one.id === hit.id);
    details.append(explained && explained.explanation ? element("ul", "", tree(explained.explanation))
                                                      : element("p", "", "Only the first ten hits can be explained."));
  } catch (problem) {
    answer.explained = undefined;
    delete details.dataset.state;
    details.open = false;
    say("Not explained: " + problem.message, true);
  }
}

function card(hit, words, reranked) {
  const up = hit.first_stage_rank - hit.rank;
  const move = element("span", "move " + (up > 0 ? "up" : up < 0 ? "down" : ""),
                       up === 0 ? "=" : (up > 0 ? "↑ " : "↓ ") + Math.abs(up));
  move.title = "BM25 rank " + hit.first_stage_rank;
  const title = element("div", "title", element("span", "rank", String(hit.rank)), element("span", "id", hit.id));
  const scores = element("div", "scores");
  if (reranked) {
    title.append(move);
    if (hit.logit !== null) scores.append(element("span", "", "model " + places.format(hit.logit)));
  }
  scores.append(element("span", "", "BM25 " + places.format(hit.first_stage_score) + ", rank " + hit.first_stage_rank));
  if (hit.truncated) scores.append(element("span", "note", "read in part"));
  const details = element("details", "", element("summary", "", "Explain"));
  details.addEventListener("toggle", () => explain(details, hit));
  const item = element("li", "", title, scores, textOf(hit, words), details);
  item.tabIndex = -1;
  item.dataset.rank = hit.rank;
  return item;
}

function showTimes(times) {
  const total = times.total || 1;
  const bars = [], legend = [];
  steps.forEach(([name, label], i) => {
    if (!(times[name] > 0.05)) return;
    const bar = element("div", "step-" + i);
    bar.style.width = 100 * times[name] / total + "%";
    bars.push(bar);
    legend.push(element("span", "", element("i", "step-" + i), label + " " + milliseconds(times[name])));
  });
  legend.push(element("span", "", "in all " + milliseconds(times.total)));
  at("bars").replaceChildren(...bars);
  at("legend").replaceChildren(...legend);
  at("times").hidden = false;
}

/** A curve from each hit's place in BM25's order to its place in the new one. */
function drawMoves() {
  const svg = at("moves");
  svg.replaceChildren();
  if (!shown || getComputedStyle(svg).display === "none") return;
  const box = svg.getBoundingClientRect();
  for (const left of at("first-stage").children) {
    const right = at("reranked").querySelector(`[data-rank="${left.dataset.rank}"] .title`);
    const from = left.getBoundingClientRect(), to = right.getBoundingClientRect();
    const y0 = from.top + from.height / 2 - box.top, y1 = to.top + to.height / 2 - box.top, middle = box.width / 2;
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M0 ${y0}C${middle} ${y0} ${middle} ${y1} ${box.width} ${y1}`);
    path.setAttribute("class", left.dataset.move);
    path.dataset.rank = left.dataset.rank;
    svg.append(path);
  }
}

function light(rank) {
  for (const one of at("results").querySelectorAll("[data-rank]")) {
    one.classList.toggle("lit", one.dataset.rank === rank);
  }
}

function summary(answer) {
  const parts = [`${answer.hits.length} of ${whole.format(answer.total_hits)} hits`];
  if (answer.rescored) parts.push(`the best ${answer.rescored} rescored`);
  if (answer.truncated) parts.push(`${answer.truncated} read in part`);
  if (answer.query_truncated) parts.push("the query was cut");
  if (answer.without_text) parts.push(`${answer.without_text} without text`);
  if (answer.degraded) parts.push("degraded: " + (answer.reason || "BM25's order"));
  if (answer.note) parts.push(answer.note);
  return parts.join(" · ");
}

function show(answer) {
  shown = answer;
  const words = (answer.query.toLowerCase().match(/[\p{L}\p{N}]+/gu) || []).filter((word) => !stopWords.has(word));
  const reranked = answer.rescored > 0;
  at("reranked").replaceChildren(...answer.hits.map((hit) => card(hit, words, reranked)));
  const before = [...answer.hits].sort((a, b) => a.first_stage_rank - b.first_stage_rank).map((hit) => {
    const item = element("li", "", element("span", "rank", String(hit.first_stage_rank)), element("span", "id", hit.id),
                         element("span", "score", places.format(hit.first_stage_score)));
    item.dataset.rank = hit.rank;
    item.dataset.move = hit.first_stage_rank > hit.rank ? "up" : hit.first_stage_rank < hit.rank ? "down" : "";
    return item;
  });
  at("first-stage").replaceChildren(...before);
  at("results").hidden = answer.hits.length === 0;
  at("results").classList.toggle("single", !reranked);
  at("after-title").textContent = reranked ? "Reranked" : "BM25";
  say(summary(answer), answer.degraded);
  showTimes(answer.milliseconds);
  drawMoves();  // also where the new hits take as much room as the old ones
}

async function search(remember) {
  const query = at("query").value.trim();
  if (!query) return;
  const k = Number(at("hits").value);
  if (remember) history.pushState(null, "", "?" + new URLSearchParams({ q: query, k }));
  document.title = query + " · Relucent";
  if (running) running.abort();
  running = new AbortController();
  const mine = ++newest;
  say("Searching …");
  try {
    const answer = await ask("search", { query, k }, running.signal);
    if (mine === newest) show(answer);
  } catch (problem) {
    if (mine !== newest) return;
    say(problem.message, true);
    at("results").hidden = at("times").hidden = true;
  }
}

function fromAddress() {
  const asked = new URLSearchParams(location.search);
  at("query").value = asked.get("q") || "";
  const k = asked.get("k");
  if ([...at("hits").options].some((option) => option.value === k)) at("hits").value = k;
  search(false);
}

async function describe() {
  try {
    const info = await ask("info");
    at("model").textContent = info.scorer || info.model_id || "";
  } catch (problem) {
    say(problem.message, true);
  }
}

function step(by) {
  const cards = [...at("reranked").children];
  const now = cards.indexOf(document.activeElement.closest("#reranked > li"));
  const next = cards[Math.min(cards.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
  if (next) next.focus();
}

at("form").addEventListener("submit", (event) => { event.preventDefault(); search(true); });
at("hits").addEventListener("change", () => search(true));
at("access").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", at("token").value);
  at("access").hidden = true;
  describe();
  search(false);
});
for (const name of ["pointerover", "focusin"]) {
  at("results").addEventListener(name, (event) => light(event.target.closest("[data-rank]")?.dataset.rank));
}
at("results").addEventListener("pointerleave", () => light());
new ResizeObserver(drawMoves).observe(at("results"));
addEventListener("popstate", fromAddress);
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    if (event.key === "Escape") {
      event.preventDefault();  // which would empty the query
      event.target.blur();
    }
    return;
  }
  if (event.key === "/") at("query").focus();
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "e") {
    const details = document.activeElement.closest("#reranked > li")?.querySelector("details");
    if (details) details.open = !details.open;
  } else return;
  event.preventDefault();
});
describe();
fromAddress();
