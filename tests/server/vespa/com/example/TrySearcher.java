package com.example;

import com.yahoo.search.Query;
import com.yahoo.search.Result;
import com.yahoo.search.result.Hit;
import com.yahoo.search.searchchain.Execution;
import java.util.Arrays;

/** Runs the searcher of the documentation once. Arguments: SERVER TOKEN QUERY OFFSET HITS TIMEOUT_MS TEXT... */
public class TrySearcher {
  public static void main(String[] arguments) {
    Query query = new Query(arguments[2], Integer.parseInt(arguments[3]), Integer.parseInt(arguments[4]),
                            Long.parseLong(arguments[5]));
    Execution execution = new Execution(Arrays.copyOfRange(arguments, 6, arguments.length));
    Result result = new RelucentSearcher(arguments[0], arguments[1]).search(query, execution);
    for (Hit hit : result.hits()) System.out.println("hit " + hit.getId() + " " + hit.getRelevance());
    System.out.println("asked " + query.getOffset() + " " + query.getHits());
  }
}
