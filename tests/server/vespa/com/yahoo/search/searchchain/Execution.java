package com.yahoo.search.searchchain;

import com.yahoo.search.Query;
import com.yahoo.search.Result;
import com.yahoo.search.result.Hit;

/** Finds the given texts in their order, as many as the query asks for; an empty one is a document without "text". */
public class Execution {
  private final String[] texts;

  public Execution(String[] texts) {
    this.texts = texts;
  }

  public Result search(Query query) {
    Result result = new Result();
    for (int i = query.getOffset(); i < Math.min(texts.length, query.getOffset() + query.getHits()); i++) {
      result.hits().add(new Hit(String.valueOf(i), 1000.0 - i));
    }
    return result;
  }

  public void fill(Result result) {
    for (Hit hit : result.hits()) {
      String text = texts[Integer.parseInt(hit.getId())];
      if (!text.isEmpty()) hit.setField("text", text);
    }
  }
}
