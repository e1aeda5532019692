"use strict";

const at = (id) => document.getElementById(id);
const steps = [
  ["parse", "query"], ["first_stage", "BM25"], ["fetch", "texts"], ["tokenize", "tokenizer"], ["encode", "model"],
  ["combine", "order"], ["passages", "passages"],
];
const stopWords = new Set(("a an and are as at be but by for if in into is it no not of on or such that the their " +
  "then there these they this to was will with").split(" "));  // which BM25 also ignores
const places = new Intl.NumberFormat("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const whole = new Intl.NumberFormat("en");
const total = (answer) => (answer.total_is_exact ? "" : "at least ") + whole.format(answer.total_hits);
const milliseconds = (value) => (value < 10 ? value.toFixed(1) : Math.round(value)) + " ms";
const asked = { query: "", size: 10, page: 1, rerank: true, index: "" };  // what the page shows
let most = 1000;       // the hits that the server gives
let newest = 0;        // the last search that was started
let running = null;    // its AbortController
let cards = new Map(); // by id: the hits on the page

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
  let answer;
  try {
    answer = await fetch(path, body ? { method: "POST", headers, body: JSON.stringify(body), signal } : { headers });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Error("The server does not answer. Is `relucent serve` running?");
  }
  const json = await answer.json().catch(() => ({}));
  if (answer.ok) return json;
  at("access").hidden = answer.status !== 401;
  if (answer.status === 401) at("token").focus();
  throw new Error(json.error || json.message || "the server answered " + answer.status);
}

function say(text, { problem = false, waiting = false } = {}) {
  at("status").textContent = text;
  at("status").classList.toggle("problem", problem);
  at("status").classList.toggle("waiting", waiting);
}

/** What to do where there are no hits to see. */
function showEmpty(title, ...lines) {
  at("empty").replaceChildren(element("h2", "", title), ...lines.map((line) => element("p", "", line)));
  at("empty").hidden = false;
  at("results").hidden = at("pages").hidden = true;
}

const wordsOf = (query) =>
  (query.toLowerCase().match(/[\p{L}\p{N}]+/gu) || []).filter((word) => !stopWords.has(word));

/** Which of the words a piece of a text is, roughly as stems compare; -1: none. */
function wordAt(piece, words) {
  const lower = piece.toLowerCase();
  const stem = (word) => (word.length > 4 ? word.slice(0, -1) : word);
  return words.findIndex((word) => lower === word || (word.length > 3 && lower.startsWith(stem(word))));
}

const piecesOf = (text) => text.split(/([\p{L}\p{N}]+)/u);

function marked(text, words) {
  return piecesOf(text).map((piece) => (wordAt(piece, words) >= 0 ? element("mark", "", piece) : piece));
}

/** Where `length` characters begin that have as many of the words as possible; early ones are preferred. */
function bestPlace(text, words, length) {
  const found = [];
  let place = 0;
  for (const piece of piecesOf(text)) {
    const word = wordAt(piece, words);
    if (word >= 0) found.push([place, word]);
    place += piece.length;
  }
  let best = 0, mostWords = 0;
  for (const [begin] of found) {
    const inside = found.filter(([one]) => one >= begin && one < begin + length * 0.8);
    const score = new Set(inside.map(([, word]) => word)).size + inside.length / 1000;
    if (score > mostWords * 1.001) [best, mostWords] = [begin, score];
  }
  if (best < length * 0.8) return 0;
  return text.lastIndexOf(" ", Math.min(best - length / 10, text.length - length * 0.9)) + 1;
}

/** Three lines of the passage that scored best, or of the text's beginning, with the query's words marked. */
function textOf(hit, words) {
  const paragraph = element("p", "text");
  const passage = hit.passage;
  const text = passage ? passage.text : hit.snippet;
  if (!text) {
    paragraph.append(element("span", "note", "no stored text"));
    return paragraph;
  }
  const width = at("results").clientWidth || document.body.clientWidth;
  const column = getComputedStyle(at("moves")).display === "none" ? width - 30 : width - 340;
  const begin = bestPlace(text, words, 3 * Math.max(column, 280) / 7.6);
  paragraph.append(begin > 0 || (passage && passage.begin > 0) ? "… " : "", ...marked(text.slice(begin), words),
                   passage && !passage.ends_field ? " …" : "");
  if (passage) paragraph.title = `bytes ${passage.begin} to ${passage.end} of ${passage.field}`;
  return paragraph;
}

function tree(explanation) {
  const item = element("li", "", places.format(explanation.value) + "  " + explanation.description);
  const details = explanation.details || [];
  if (details.length) item.append(element("ul", "", ...details.map(tree)));
  return item;
}

/** A button that opens what `load` gives below the card's text, and closes it. */
function opener(name, waiting, card, load) {
  const button = element("button", name.toLowerCase().replace(" ", "-"), name);
  button.type = "button";
  button.setAttribute("aria-expanded", "false");
  let more = null;
  button.addEventListener("click", async () => {
    if (button.disabled) return;
    if (more) {
      more.remove();
      more = null;
      return button.setAttribute("aria-expanded", "false");
    }
    button.disabled = true;
    button.textContent = waiting;
    button.classList.add("waiting");
    let content;
    try {
      content = await load();
    } catch (problem) {
      content = element("p", "note", problem.message);
    }
    more = element("div", "more", content);
    card.append(more);
    const passage = more.querySelector(".passage");
    if (passage) passage.parentNode.scrollTop = passage.offsetTop - passage.parentNode.offsetTop - 40;
    button.disabled = false;
    button.textContent = name;
    button.classList.remove("waiting");
    button.setAttribute("aria-expanded", "true");
  });
  return button;
}

const noLongerThere = () => element("p", "note", "The index no longer has this hit. Search again.");

/** What names the index in a request, where the server has several. */
const indexOf = (order) => (order.index ? { index: order.index } : {});

async function explanationOf(hit, order) {
  const body = { query: order.query, k: hit.rank, id: hit.id, explain: true, texts: "none", rescore: order.rerank,
                 ...indexOf(order) };
  const found = (await ask("search", body)).hits[0];
  return found ? element("ul", "explanation", tree(found.explanation)) : noLongerThere();
}

async function wholeTextOf(hit, order, words) {
  const body = { query: order.query, k: hit.first_stage_rank, id: hit.id, texts: "full", rescore: false,
                 ...indexOf(order) };
  const found = (await ask("search", body)).hits[0];
  if (!found) return noLongerThere();
  const text = element("p", "whole");
  const passage = hit.passage && (hit.passage.begin > 0 || !hit.passage.ends_field) ? hit.passage.text : "";
  const begin = passage ? found.text.indexOf(passage) : -1;
  if (begin < 0) {
    text.append(...marked(found.text, words));
  } else {
    text.append(...marked(found.text.slice(0, begin), words), element("span", "passage", ...marked(passage, words)),
                ...marked(found.text.slice(begin + passage.length), words));
  }
  return text;
}

function card(hit, order, words) {
  const item = element("li");
  const title = element("div", "title", element("span", "rank", String(hit.rank)), element("span", "id", hit.id));
  title.children[1].title = hit.id;
  const scores = element("div", "scores");
  if (order.rerank) {
    const up = hit.first_stage_rank - hit.rank;
    const move = element("span", "move " + (up > 0 ? "up" : up < 0 ? "down" : ""),
                         up === 0 ? "=" : (up > 0 ? "↑ " : "↓ ") + Math.abs(up));
    move.title = "BM25 rank " + hit.first_stage_rank;
    title.append(move);
    if (hit.logit !== null) scores.append(element("span", "", "model " + places.format(hit.logit)));
  }
  scores.append(element("span", "", "BM25 " + places.format(hit.first_stage_score) + ", rank " + hit.first_stage_rank));
  if (hit.truncated) scores.append(element("span", "note", "read in part"));
  const actions = element("div", "actions", opener("Explain", "Explaining…", item, () => explanationOf(hit, order)),
                          opener("Full text", "Reading…", item, () => wholeTextOf(hit, order, words)));
  title.append(scores, actions);
  item.append(title, textOf(hit, words));
  item.tabIndex = -1;
  item.dataset.rank = hit.rank;
  item.dataset.id = hit.id;
  return item;
}

/** A hit in BM25's own order; `now`: the same hit after reranking, if it is among those that were asked for. */
function before(hit, now, order) {
  const line = element("div", "", element("span", "rank", String(hit.rank)), element("span", "id", hit.id),
                       element("span", "score", places.format(hit.first_stage_score)));
  const item = element("li", "", line);
  item.dataset.id = hit.id;
  item.title = hit.id;
  if (!cards.has(hit.id)) {
    item.className = "out";
    item.append(element("div", "where", now ? "now " + now.rank : `below ${order.size * order.page} after reranking`));
  }
  if (hit.snippet) item.append(element("p", "beginning", hit.snippet));
  item.addEventListener("click", () => cards.get(hit.id)?.focus());
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
  at("bars").replaceChildren(...bars);
  at("legend").replaceChildren(...legend);
  at("all").textContent = "in all " + milliseconds(times.total);
  at("times").hidden = false;
}

/** A curve from each hit's place in BM25's order to its place in the new one; half a curve to what is on no row. */
function drawMoves() {
  const svg = at("moves");
  svg.replaceChildren();
  if (getComputedStyle(svg).display === "none") return;
  const box = svg.getBoundingClientRect();
  const height = (row) => row.getBoundingClientRect().top + 22 - box.top;
  const draw = (id, path, className) => {
    const curve = document.createElementNS("http://www.w3.org/2000/svg", "path");
    curve.setAttribute("d", path);
    curve.setAttribute("class", className);
    curve.dataset.id = id;
    svg.append(curve);
  };
  const middle = box.width / 2, end = box.width;
  const left = new Map([...at("first-stage").children].map((row) => [row.dataset.id, row]));
  for (const [id, right] of cards) {
    const to = height(right), className = right.dataset.move;
    if (left.has(id)) {
      const from = height(left.get(id));
      draw(id, `M0 ${from}C${middle} ${from} ${middle} ${to} ${end} ${to}`, className);
    } else if (className) {
      draw(id, `M${middle} ${to + (className === "up" ? 40 : -40)}Q${middle} ${to} ${end} ${to}`, className + " far");
    }
  }
}

function light(id) {
  for (const one of at("results").querySelectorAll("[data-id]")) one.classList.toggle("lit", one.dataset.id === id);
}

function summary(answer) {
  const parts = [`${total(answer)} hits`];
  if (answer.rescored) parts.push(`the best ${answer.rescored} rescored`);
  if (answer.truncated) parts.push(`${answer.truncated} read in part`);
  if (answer.query_truncated) parts.push("the query was cut");
  if (answer.without_text) parts.push(`${answer.without_text} without text`);
  if (answer.degraded) parts.push("degraded: " + (answer.reason || "BM25's order"));
  return parts.join(" · ");
}

/** Shows the hits; `pending`: the model's order is still to come. */
function show(order, answer, bm25, pending) {
  if (answer.note) {
    say("");
    return showEmpty("These words are too common", "The index leaves out words such as “the” and “of”. " +
                     "Add a word that the documents you look for contain.");
  }
  if (answer.hits.length === 0) {
    say("");
    return order.page > 1 ? showEmpty("There are no more hits", "Go back to the first page.")
                          : showEmpty("No document has any of these words",
                                      "Check the spelling, or try other words for the same thing.");
  }
  const words = wordsOf(order.query);
  const onPage = (one) => one.rank > order.size * (order.page - 1) && one.rank <= order.size * order.page;
  const reranked = order.rerank && (pending || answer.rescored > 0);
  at("empty").hidden = true;
  at("results").hidden = false;
  at("results").classList.toggle("single", !reranked);
  at("results").classList.toggle("pending", pending);
  const hits = answer.hits.filter(onPage);
  cards = new Map(hits.map((hit) => [hit.id, card(hit, { ...order, rerank: reranked && !pending }, words)]));
  hits.forEach((hit, i) => {
    const row = cards.get(hit.id);
    row.style.gridRow = i + 2;
    const up = hit.first_stage_rank - hit.rank;
    row.dataset.move = up > 0 ? "up" : up < 0 ? "down" : "";
  });
  at("reranked").replaceChildren(...cards.values());
  const now = new Map(answer.hits.map((hit) => [hit.id, hit]));
  const first = reranked ? bm25.hits.filter(onPage).map((hit) => before(hit, now.get(hit.id), order)) : [];
  first.forEach((row, i) => { row.style.gridRow = i + 2; });
  at("first-stage").replaceChildren(...first);
  at("moves").style.gridRow = `2 / span ${Math.max(hits.length, first.length)}`;
  at("after-title").textContent = reranked && !pending ? "Reranked" : "BM25";
  const last = order.size * (order.page - 1) + hits.length;
  at("pages").hidden = pending || (order.page === 1 && last >= answer.total_hits);
  at("previous").disabled = order.page === 1;
  at("next").disabled = last >= Math.min(answer.total_hits, most) || hits.length < order.size;
  at("range").textContent = `${last - hits.length + 1}–${last} of ${total(answer)}`;
  if (pending) say(`${total(answer)} hits by BM25; the model reads the best`, { waiting: true });
  else say(summary(answer), { problem: answer.degraded });
  showTimes(answer.milliseconds);
  drawMoves();  // also where the new hits take as much room as the old ones
}

function addressOf(order) {
  const parts = new URLSearchParams({ q: order.query, k: order.size });
  if (order.page > 1) parts.set("p", order.page);
  if (!order.rerank) parts.set("rerank", "0");
  if (order.index) parts.set("index", order.index);
  return "?" + parts;
}

/** Asks for BM25's order and for the model's; the first is there long before the second. */
async function search(page = 1, remember = true) {
  Object.assign(asked, { query: at("query").value.trim(), size: Number(at("hits").value), page,
                         rerank: at("rerank").checked && !at("switch").hidden, index: at("index").value });
  const order = { ...asked };
  const mine = ++newest;
  running?.abort();
  running = new AbortController();
  at("bars").replaceChildren();
  at("times").hidden = true;
  if (!order.query) {
    say("");
    document.title = "Relucent";
    return showEmpty("Ask a question, or name what you look for",
                     "Type it above and press Enter. BM25 finds the documents that have its words; the model reads " +
                     "the best of them and puts those first that answer.");
  }
  at("query").blur();  // so that the keys move through the hits
  if (remember) history.pushState(null, "", addressOf(order));
  document.title = order.query + " · Relucent";
  say("Searching", { waiting: true });
  const body = { query: order.query, k: Math.min(order.size * order.page, most), texts: "passage", ...indexOf(order) };
  try {
    const first = ask("search", { ...body, rescore: false }, running.signal);
    const second = order.rerank ? ask("search", body, running.signal) : first;
    second.catch(() => {});  // it is awaited below
    const bm25 = await first;
    if (mine !== newest) return;
    show(order, bm25, bm25, order.rerank && bm25.hits.length > 0);
    const answer = await second;
    if (mine === newest && order.rerank) show(order, answer, bm25, false);
  } catch (problem) {
    if (mine !== newest) return;
    at("results").classList.remove("pending");
    if (cards.size === 0) at("results").hidden = true;
    say(problem.message, { problem: true });
  }
}

function fromAddress() {
  const parts = new URLSearchParams(location.search);
  at("query").value = parts.get("q") || "";
  const k = parts.get("k");
  if ([...at("hits").options].some((option) => option.value === k)) at("hits").value = k;
  at("rerank").checked = parts.get("rerank") !== "0";
  const index = parts.get("index");
  if ([...at("index").options].some((option) => option.value === index)) at("index").value = index;
  search(Math.max(1, Math.min(most, Math.floor(Number(parts.get("p")) || 1))), false);
}

/** False: there is nothing to search. */
async function describe() {
  try {
    const info = await ask("info");
    at("model").textContent = info.scorer || info.model_id || "";
    most = info.max_hits;
    at("switch").hidden = !info.can_rerank;
    at("index").replaceChildren(...(info.indexes || []).map((name) => element("option", "", name)));
    at("choice").hidden = at("index").options.length < 2;
    for (const option of at("hits").options) option.disabled = Number(option.value) > most;
    if (info.can_search) return true;
    for (const one of at("form").elements) one.disabled = true;
    showEmpty("This server has no index to search", "Start it with one: relucent serve --index DIR.",
              "It reranks the texts that programs send to POST /rerank.");
  } catch (problem) {
    say(problem.message, { problem: true });
  }
  return false;
}

async function start() {
  if (await describe()) fromAddress();
}

function step(by) {
  const all = [...at("reranked").children];
  const now = all.indexOf(document.activeElement.closest("#reranked > li"));
  const next = all[Math.min(all.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
  if (next) next.focus();
}

const press = (selector) => document.activeElement.closest("#reranked > li")?.querySelector(selector).click();
const keys = {
  "/": () => at("query").focus(),
  "j": () => step(1),
  "k": () => step(-1),
  "e": () => press(".explain"),
  "f": () => press(".full-text"),
  "n": () => at("next").click(),
  "p": () => at("previous").click(),
};

at("form").addEventListener("submit", (event) => { event.preventDefault(); search(); });
for (const name of ["hits", "rerank", "index"]) at(name).addEventListener("change", () => search());
for (const [name, by] of [["next", 1], ["previous", -1]]) {
  at(name).addEventListener("click", () => { search(asked.page + by); scrollTo(0, 0); });
}
at("access").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", at("token").value);
  at("access").hidden = true;
  start();
});
for (const name of ["pointerover", "focusin"]) {
  at("results").addEventListener(name, (event) => light(event.target.closest("[data-id]")?.dataset.id));
}
at("results").addEventListener("pointerleave", () => light());
new ResizeObserver(drawMoves).observe(at("results"));
addEventListener("popstate", fromAddress);
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(SELECT|TEXTAREA)$/.test(event.target.tagName) || event.target.matches("input:not([type=checkbox])")) {
    if (event.key === "Escape") {
      event.preventDefault();  // which would empty the query
      event.target.blur();
    }
    return;
  }
  if (!Object.hasOwn(keys, event.key)) return;
  keys[event.key]();
  event.preventDefault();
});
start();
