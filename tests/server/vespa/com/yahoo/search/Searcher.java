package com.yahoo.search;

import com.yahoo.search.searchchain.Execution;

public abstract class Searcher {
  public abstract Result search(Query query, Execution execution);
}
