package com.yahoo.search;

import com.yahoo.search.result.HitGroup;

public class Result {
  private final HitGroup hits = new HitGroup();

  public HitGroup hits() {
    return hits;
  }
}
