package com.yahoo.search.result;

import java.util.HashMap;
import java.util.Map;

public class Hit {
  private final Map<String, Object> fields = new HashMap<>();
  private final String id;
  private double relevance;
  private boolean meta;

  public Hit(String id, double relevance) {
    this.id = id;
    this.relevance = relevance;
  }

  public String getId() {
    return id;
  }

  public Object getField(String name) {
    return fields.get(name);
  }

  public void setField(String name, Object value) {
    fields.put(name, value);
  }

  public double getRelevance() {
    return relevance;
  }

  public void setRelevance(double relevance) {
    this.relevance = relevance;
  }

  public boolean isMeta() {
    return meta;
  }

  public void setMeta(boolean meta) {
    this.meta = meta;
  }
}
