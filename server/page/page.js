"use strict";
let token = "";

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

async function post(query) {
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = "Bearer " + token;
  const response = await fetch("/search", { method: "POST", headers, body: JSON.stringify({ query, k: 10 }) });
  if (response.status === 401) {
    token = window.prompt("Bearer token") || "";
    if (token) return post(query);
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || response.status);
  return answer;
}

function shown(hit) {
  const item = document.createElement("li");
  const moved = hit.first_stage_rank - hit.rank;
  const arrow = moved > 0 ? "↑ " + moved : moved < 0 ? "↓ " + -moved : "=";
  const logit = hit.logit === null ? "–" : hit.logit.toFixed(3);
  item.append(element("div", "id", hit.id), element("div", "snippet", hit.snippet),
    element("div", "scores", `${arrow} · model ${logit} · BM25 #${hit.first_stage_rank}, ` +
      `${hit.first_stage_score.toFixed(3)}${hit.truncated ? " · truncated" : ""}`));
  return item;
}

document.getElementById("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const status = document.getElementById("status");
  const hits = document.getElementById("hits");
  status.textContent = "…";
  try {
    const answer = await post(document.getElementById("query").value);
    hits.replaceChildren(...answer.hits.map(shown));
    status.textContent = `${answer.hits.length} of ${answer.total_hits} hits, ` +
      `${answer.milliseconds.total.toFixed(0)} ms${answer.degraded ? ", degraded: " + answer.reason : ""}`;
  } catch (error) {
    hits.replaceChildren();
    status.textContent = error.message;
  }
});
