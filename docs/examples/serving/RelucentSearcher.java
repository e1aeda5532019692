package com.example;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.yahoo.search.Query;
import com.yahoo.search.Result;
import com.yahoo.search.Searcher;
import com.yahoo.search.result.Hit;
import com.yahoo.search.searchchain.Execution;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A Vespa searcher that orders the best hits by the scores of a Relucent server. If the server does not answer in time,
 * the hits stay as they are, and the trace has the reason. Pages beyond the window keep Vespa's order.
 */
public class RelucentSearcher extends Searcher {
  private static final String SERVER = "http://127.0.0.1:8080";
  private static final String TOKEN = "";      // of [server] token_file, or empty
  private static final String FIELD = "text";  // the summary field that the model reads
  private static final int WINDOW = 100;       // [rescorer] window
  private static final long RESERVE_MS = 50;   // of the query's timeout, for what comes after

  private final ObjectMapper json = new ObjectMapper();
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(1)).build();
  private final HttpRequest.Builder request;

  public RelucentSearcher() {
    this(SERVER, TOKEN);
  }

  RelucentSearcher(String server, String token) {
    request = HttpRequest.newBuilder(URI.create(server + "/rerank")).header("Content-Type", "application/json");
    if (!token.isEmpty()) request.header("Authorization", "Bearer " + token);
  }

  @Override
  public Result search(Query query, Execution execution) {
    int offset = query.getOffset();
    int hits = query.getHits();
    if (offset + hits > WINDOW) return execution.search(query);
    query.setOffset(0);
    query.setHits(WINDOW);
    Result result = execution.search(query);
    query.setOffset(offset);
    query.setHits(hits);
    if (result.hits().getErrorHit() != null) return result;
    execution.fill(result);
    try {
      setScores(query, result);
      result.hits().sort();
    } catch (IOException problem) {
      query.trace("Relucent: " + problem, 1);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
    result.hits().trim(offset, hits);
    return result;
  }

  private void setScores(Query query, Result result) throws IOException, InterruptedException {
    List<Hit> found = new ArrayList<>();
    ObjectNode body = json.createObjectNode().put("query", query.getModel().getQueryString()).put("raw_scores", true);
    for (Hit hit : result.hits()) {
      if (hit.isMeta() || hit.getField(FIELD) == null) continue;
      found.add(hit);
      body.withArray("texts").add(hit.getField(FIELD).toString());
    }
    if (found.isEmpty()) return;
    HttpRequest post = request.copy()
                           .timeout(Duration.ofMillis(Math.max(1, query.getTimeLeft() - RESERVE_MS)))
                           .POST(HttpRequest.BodyPublishers.ofByteArray(json.writeValueAsBytes(body)))
                           .build();
    HttpResponse<byte[]> response = client.send(post, HttpResponse.BodyHandlers.ofByteArray());
    if (response.statusCode() != 200) throw new IOException("status " + response.statusCode());
    double[] scores = new double[found.size()];
    for (JsonNode one : json.readTree(response.body())) scores[one.get("index").asInt()] = one.get("score").asDouble();
    double least = Double.POSITIVE_INFINITY;
    for (int i = 0; i < scores.length; i++) {
      found.get(i).setRelevance(scores[i]);
      least = Math.min(least, scores[i]);
    }
    for (Hit hit : result.hits()) {
      if (!hit.isMeta() && hit.getField(FIELD) == null) hit.setRelevance(--least);
    }
  }
}
