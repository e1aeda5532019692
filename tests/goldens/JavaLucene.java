import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.ar.ArabicAnalyzer;
import org.apache.lucene.analysis.bn.BengaliAnalyzer;
import org.apache.lucene.analysis.cjk.CJKAnalyzer;
import org.apache.lucene.analysis.core.KeywordTokenizer;
import org.apache.lucene.analysis.core.SimpleAnalyzer;
import org.apache.lucene.analysis.de.GermanAnalyzer;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.es.SpanishAnalyzer;
import org.apache.lucene.analysis.fa.PersianAnalyzer;
import org.apache.lucene.analysis.fi.FinnishAnalyzer;
import org.apache.lucene.analysis.fr.FrenchAnalyzer;
import org.apache.lucene.analysis.hi.HindiAnalyzer;
import org.apache.lucene.analysis.id.IndonesianAnalyzer;
import org.apache.lucene.analysis.it.ItalianAnalyzer;
import org.apache.lucene.analysis.nl.DutchAnalyzer;
import org.apache.lucene.analysis.pt.PortugueseAnalyzer;
import org.apache.lucene.analysis.ru.RussianAnalyzer;
import org.apache.lucene.analysis.standard.StandardTokenizer;
import org.apache.lucene.analysis.sv.SwedishAnalyzer;
import org.apache.lucene.analysis.th.ThaiAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.analysis.tokenattributes.OffsetAttribute;
import org.apache.lucene.analysis.tokenattributes.PositionIncrementAttribute;
import org.apache.lucene.analysis.tokenattributes.TypeAttribute;
import org.apache.lucene.analysis.tr.TurkishAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LogDocMergePolicy;
import org.apache.lucene.index.NoMergePolicy;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.search.similarities.LMDirichletSimilarity;
import org.apache.lucene.search.similarities.Similarity;
import org.apache.lucene.store.ByteBuffersDirectory;

/**
 * Answers of Java Lucene 8 for the make.py of analyzer, bm25, fields and languages, which send texts as base64 of UTF-16BE.
 *
 * <p>JavaLucene analyze: a text per line in, a JSON object with tokens, offsets, end_increment and raw per line out.
 *
 * <p>JavaLucene analyze LANGUAGE: the same, without raw, by the analyzer of this language.
 *
 * <p>JavaLucene stem: a word per line in, its stem as a JSON string per line out.
 *
 * <p>JavaLucene bm25 K1 B STATE [LANGUAGE]: lines "D ID TEXT" and then "Q ID TEXT" in, lines "qid docno rank score bits" out. STATE
 * is all, deleted10 (every document at a position i with i mod 10 = 3 is deleted) or deleted10-merged.
 *
 * <p>JavaLucene fields SIMILARITY STATE: lines "D ID FIELD:TEXT ..." and then "Q ID FIELD^WEIGHT,... TEXT" in, lines as bm25's out.
 * SIMILARITY is bm25-K1-B or qld-MU. A word of a query is an optional TermQuery in each field, in a BoostQuery unless its weight is 1.
 */
public final class JavaLucene {
  private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.US_ASCII);

  private static String decode(String base64) {
    return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_16BE);
  }

  private static String quote(CharSequence text) {
    StringBuilder json = new StringBuilder("\"");
    for (int i = 0; i < text.length(); ++i) json.append(String.format("\\u%04x", (int) text.charAt(i)));
    return json.append('"').toString();
  }

  private static Analyzer analyzerOf(String language) throws Exception {
    switch (language) {
      case "arabic": return new ArabicAnalyzer();
      case "bengali": return new BengaliAnalyzer();
      case "chinese":
      case "korean": return new CJKAnalyzer();
      case "dutch": return new DutchAnalyzer();
      case "finnish": return new FinnishAnalyzer();
      case "french": return new FrenchAnalyzer();
      case "german": return new GermanAnalyzer();
      case "hindi": return new HindiAnalyzer();
      case "indonesian": return new IndonesianAnalyzer();
      case "italian": return new ItalianAnalyzer();
      case "japanese": // in a jar of its own
        return (Analyzer)
            Class.forName("org.apache.lucene.analysis.ja.JapaneseAnalyzer").getConstructor().newInstance();
      case "persian": return new PersianAnalyzer();
      case "portuguese": return new PortugueseAnalyzer();
      case "russian": return new RussianAnalyzer();
      case "simple": return new SimpleAnalyzer();
      case "spanish": return new SpanishAnalyzer();
      case "swedish": return new SwedishAnalyzer();
      case "thai": return new ThaiAnalyzer();
      case "turkish": return new TurkishAnalyzer();
      default: return new EnglishAnalyzer();
    }
  }

  private static String analyze(Analyzer analyzer, String text, boolean withRaw) throws Exception {
    List<String> tokens = new ArrayList<>(), offsets = new ArrayList<>(), raw = new ArrayList<>();
    int end;
    try (TokenStream stream = analyzer.tokenStream("contents", text)) {
      CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
      OffsetAttribute offset = stream.addAttribute(OffsetAttribute.class);
      PositionIncrementAttribute increment = stream.addAttribute(PositionIncrementAttribute.class);
      stream.reset();
      while (stream.incrementToken()) {
        tokens.add("[" + quote(term) + "," + increment.getPositionIncrement() + "]");
        offsets.add("[" + offset.startOffset() + "," + offset.endOffset() + "]");
      }
      stream.end();
      end = increment.getPositionIncrement();
    }
    String answer = "{\"tokens\":" + tokens + ",\"offsets\":" + offsets + ",\"end_increment\":" + end;
    if (!withRaw) return answer + "}";
    try (StandardTokenizer words = new StandardTokenizer()) {
      words.setReader(new java.io.StringReader(text));
      OffsetAttribute offset = words.addAttribute(OffsetAttribute.class);
      TypeAttribute type = words.addAttribute(TypeAttribute.class);
      words.reset();
      while (words.incrementToken()) {
        raw.add("[" + offset.startOffset() + "," + offset.endOffset() + "," + quote(type.type()) + "]");
      }
      words.end();
    }
    return answer + ",\"raw\":" + raw + "}";
  }

  private static String stem(String word) throws Exception {
    KeywordTokenizer whole = new KeywordTokenizer();
    whole.setReader(new java.io.StringReader(word));
    try (TokenStream stream = new PorterStemFilter(whole)) {
      CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
      stream.reset();
      stream.incrementToken();
      return quote(term);
    }
  }

  private static void bringTo(String state, ByteBuffersDirectory directory, Analyzer analyzer, List<String> deleted)
      throws Exception {
    if (!state.equals("all")) {
      IndexWriterConfig kept = new IndexWriterConfig(analyzer).setMergePolicy(NoMergePolicy.INSTANCE);
      try (IndexWriter writer = new IndexWriter(directory, kept)) {
        for (String id : deleted) writer.deleteDocuments(new Term("id", id));
      }
    }
    if (state.equals("deleted10-merged")) {
      IndexWriterConfig again = new IndexWriterConfig(analyzer).setMergePolicy(new LogDocMergePolicy());
      try (IndexWriter writer = new IndexWriter(directory, again)) {
        writer.forceMerge(1);
      }
    }
  }

  private static void print(IndexSearcher searcher, String id, BooleanQuery query, int hits) throws Exception {
    int rank = 0;
    for (ScoreDoc hit : searcher.search(query, hits).scoreDocs) {
      OUT.println(id + "\t" + searcher.doc(hit.doc).get("id") + "\t" + ++rank + "\t" + hit.score + "\t"
          + String.format("%08x", Float.floatToIntBits(hit.score)));
    }
  }

  private static Similarity similarityOf(String name) {
    String[] parts = name.split("-");
    if (parts[0].equals("qld")) return new LMDirichletSimilarity(Float.parseFloat(parts[1]));
    return new BM25Similarity(Float.parseFloat(parts[1]), Float.parseFloat(parts[2]));
  }

  /** What the lines of a collection say: "D ID ..." of a document, "Q ID ..." of a query. */
  private abstract static class Form {
    final int hits;

    Form(int hits) { this.hits = hits; }

    abstract void addTexts(Document document, String[] parts);
    /** NAME^WEIGHT of each field that is searched. */
    abstract String[] fields(String[] query);
    abstract String text(String[] query);

    static void addText(Document document, String field, String encoded) {
      document.add(new TextField(field, decode(encoded), Field.Store.NO));
    }
  }

  /** "D ID TEXT", "Q ID TEXT". */
  private static final Form ONE_FIELD = new Form(100) {
    void addTexts(Document document, String[] parts) { addText(document, "contents", parts[2]); }
    String[] fields(String[] query) { return new String[] {"contents^1"}; }
    String text(String[] query) { return query[2]; }
  };

  /** "D ID NAME:TEXT ...", "Q ID NAME^WEIGHT,... TEXT". */
  private static final Form SEVERAL_FIELDS = new Form(50) {
    void addTexts(Document document, String[] parts) {
      for (int i = 2; i < parts.length; ++i) {
        int colon = parts[i].indexOf(':');
        addText(document, parts[i].substring(0, colon), parts[i].substring(colon + 1));
      }
    }
    String[] fields(String[] query) { return query[2].split(","); }
    String text(String[] query) { return query[3]; }
  };

  private static void search(BufferedReader in, Form form, Similarity similarity, String state, Analyzer analyzer)
      throws Exception {
    ByteBuffersDirectory directory = new ByteBuffersDirectory();
    List<String> deleted = new ArrayList<>(), queries = new ArrayList<>();
    IndexWriterConfig inOrder = new IndexWriterConfig(analyzer).setMergePolicy(new LogDocMergePolicy());
    try (IndexWriter writer = new IndexWriter(directory, inOrder)) {
      int position = 0;
      for (String line; (line = in.readLine()) != null; ) {
        String[] parts = line.split(" ", -1);
        if (parts[0].equals("Q")) {
          queries.add(line);
          continue;
        }
        Document document = new Document();
        document.add(new StringField("id", parts[1], Field.Store.YES));
        form.addTexts(document, parts);
        writer.addDocument(document);
        if (position++ % 10 == 3) deleted.add(parts[1]);
      }
      writer.forceMerge(1);
    }
    bringTo(state, directory, analyzer, deleted);
    try (DirectoryReader reader = DirectoryReader.open(directory)) {
      IndexSearcher searcher = new IndexSearcher(reader);
      searcher.setSimilarity(similarity);
      for (String line : queries) {
        String[] parts = line.split(" ", -1);
        BooleanQuery.Builder query = new BooleanQuery.Builder();
        for (String field : form.fields(parts)) {
          String name = field.substring(0, field.indexOf('^'));
          float weight = Float.parseFloat(field.substring(field.indexOf('^') + 1));
          try (TokenStream stream = analyzer.tokenStream(name, decode(form.text(parts)))) {
            CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
            stream.reset();
            while (stream.incrementToken()) {
              Query word = new TermQuery(new Term(name, term.toString()));
              query.add(weight == 1 ? word : new BoostQuery(word, weight), BooleanClause.Occur.SHOULD);
            }
          }
        }
        print(searcher, parts[1], query.build(), form.hits);
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    if (arguments[0].equals("bm25")) {
      Analyzer analyzer = analyzerOf(arguments.length > 4 ? arguments[4] : "english");
      Similarity similarity = new BM25Similarity(Float.parseFloat(arguments[1]), Float.parseFloat(arguments[2]));
      search(in, ONE_FIELD, similarity, arguments[3], analyzer);
    } else if (arguments[0].equals("fields")) {
      search(in, SEVERAL_FIELDS, similarityOf(arguments[1]), arguments[2], analyzerOf("english"));
    } else {
      boolean english = arguments.length == 1;
      Analyzer analyzer = analyzerOf(english ? "english" : arguments[1]);
      for (String line; (line = in.readLine()) != null; ) {
        OUT.println(arguments[0].equals("stem") ? stem(decode(line)) : analyze(analyzer, decode(line), english));
      }
    }
    OUT.flush();
  }
}
