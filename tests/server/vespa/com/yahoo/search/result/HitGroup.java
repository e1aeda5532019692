package com.yahoo.search.result;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;

public class HitGroup implements Iterable<Hit> {
  private List<Hit> hits = new ArrayList<>();

  public void add(Hit hit) {
    hits.add(hit);
  }

  public Object getErrorHit() {
    return null;
  }

  @Override
  public Iterator<Hit> iterator() {
    return hits.iterator();
  }

  public void sort() {
    hits.sort(Comparator.comparingDouble(Hit::getRelevance).reversed());
  }

  public void trim(int offset, int numHits) {
    int begin = Math.min(offset, hits.size());
    hits = new ArrayList<>(hits.subList(begin, Math.min(begin + numHits, hits.size())));
  }
}
