package com.yahoo.search.query;

public class Model {
  private final String text;

  public Model(String text) {
    this.text = text;
  }

  public String getQueryString() {
    return text;
  }
}
