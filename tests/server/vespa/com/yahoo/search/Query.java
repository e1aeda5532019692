package com.yahoo.search;

import com.yahoo.search.query.Model;

public class Query {
  private final Model model;
  private final long timeout;
  private int offset;
  private int hits;

  public Query(String text, int offset, int hits, long timeout) {
    model = new Model(text);
    this.offset = offset;
    this.hits = hits;
    this.timeout = timeout;
  }

  public Model getModel() {
    return model;
  }

  public int getOffset() {
    return offset;
  }

  public void setOffset(int offset) {
    this.offset = offset;
  }

  public int getHits() {
    return hits;
  }

  public void setHits(int hits) {
    this.hits = hits;
  }

  public long getTimeLeft() {
    return timeout;
  }

  public void trace(String message, int traceLevel) {
    System.out.println("trace " + traceLevel + " " + message);
  }
}
