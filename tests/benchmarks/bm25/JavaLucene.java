import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LogDocMergePolicy;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollector;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;

/**
 * Times Java Lucene's BM25 on the texts and queries that `relucent bench bm25` writes. One thread, one segment, the
 * index mapped into memory, the virtual machine warmed up.
 *
 * <p>JavaLucene TEXTS QUERIES INDEX HITS ROUNDS FILE: makes INDEX where it is absent, writes the hits of every query to
 * FILE and prints a line `name median min max` for each way to search, in milliseconds.
 */
public final class JavaLucene {
  private static final int WARM_UP_SECONDS = 15;

  public static void main(String[] arguments) throws IOException {
    Path texts = Path.of(arguments[0]), queries = Path.of(arguments[1]), folder = Path.of(arguments[2]);
    int hits = Integer.parseInt(arguments[3]), rounds = Integer.parseInt(arguments[4]);
    if (!Files.exists(folder)) makeIndex(texts, folder);
    try (Directory directory = FSDirectory.open(folder); DirectoryReader reader = DirectoryReader.open(directory)) {
      if (reader.leaves().size() != 1) throw new IllegalStateException("more than one segment");
      IndexSearcher searcher = new IndexSearcher(reader);
      searcher.setSimilarity(new BM25Similarity(0.9f, 0.4f));
      searcher.setQueryCache(null);
      List<Query> parsed = new ArrayList<>();
      for (String line : Files.readAllLines(queries)) {
        BooleanQuery.Builder query = new BooleanQuery.Builder();
        for (String word : line.split(" ")) {
          query.add(new TermQuery(new Term("contents", word)), BooleanClause.Occur.SHOULD);
        }
        parsed.add(query.build());
      }
      writeHits(searcher, parsed, hits, Path.of(arguments[5]));
      long end = System.nanoTime() + WARM_UP_SECONDS * 1_000_000_000L;
      while (System.nanoTime() < end) {
        for (Query query : parsed) {
          skipping(searcher, query, hits);
          counting(searcher, query, hits);
        }
      }
      report("java-lucene", parsed, rounds, query -> skipping(searcher, query, hits));
      report("java-lucene-exact-count", parsed, rounds, query -> counting(searcher, query, hits));
    }
  }

  private interface Search {
    TopDocs run(Query query) throws IOException;
  }

  /** What everybody calls: block-max WAND, hits counted up to a thousand. */
  private static TopDocs skipping(IndexSearcher searcher, Query query, int hits) throws IOException {
    return searcher.search(query, hits);
  }

  /** With every match counted, as Lucene++ does. */
  private static TopDocs counting(IndexSearcher searcher, Query query, int hits) throws IOException {
    TopScoreDocCollector collector = TopScoreDocCollector.create(hits, null, Integer.MAX_VALUE);
    searcher.search(query, collector);
    return collector.topDocs();
  }

  private static void report(String name, List<Query> queries, int rounds, Search search) throws IOException {
    double[] medians = new double[queries.size()];
    for (int i = 0; i < medians.length; ++i) {
      double[] samples = new double[rounds];
      for (int round = 0; round < rounds; ++round) {
        long start = System.nanoTime();
        search.run(queries.get(i));
        samples[round] = (System.nanoTime() - start) / 1e6;
      }
      medians[i] = median(samples);
    }
    System.out.println(name + " " + median(medians) + " " + medians[0] + " " + medians[medians.length - 1]);
  }

  /** Sorts. */
  private static double median(double[] samples) {
    Arrays.sort(samples);
    int n = samples.length;
    return n % 2 == 1 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  }

  private static void makeIndex(Path texts, Path folder) throws IOException {
    IndexWriterConfig config = new IndexWriterConfig(new EnglishAnalyzer());
    config.setSimilarity(new BM25Similarity(0.9f, 0.4f));
    config.setMergePolicy(new LogDocMergePolicy());  // keeps the order of documents
    config.setRAMBufferSizeMB(512);
    try (Directory directory = FSDirectory.open(folder); IndexWriter writer = new IndexWriter(directory, config);
        BufferedReader lines = Files.newBufferedReader(texts, StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        Document document = new Document();
        document.add(new TextField("contents", line, Field.Store.NO));
        writer.addDocument(document);
      }
      writer.forceMerge(1);
    }
  }

  /** One line per query: how many documents match, then document and the score's float bits of each hit. */
  private static void writeHits(IndexSearcher searcher, List<Query> queries, int hits, Path file) throws IOException {
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
      for (Query query : queries) {
        TopDocs counted = counting(searcher, query, hits), skipped = skipping(searcher, query, hits);
        StringBuilder line = new StringBuilder().append(counted.totalHits.value);
        for (int i = 0; i < counted.scoreDocs.length; ++i) {
          ScoreDoc a = counted.scoreDocs[i], b = skipped.scoreDocs[i];
          if (a.doc != b.doc || a.score != b.score) {
            throw new IllegalStateException("Java Lucene disagrees with itself");
          }
          line.append(' ').append(a.doc).append(' ').append(Integer.toHexString(Float.floatToRawIntBits(a.score)));
        }
        out.println(line);
      }
    }
  }
}
