// Readers of corpora: text, JSON, CSV, SGML, XML, HTML, WARC, archives.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "index_tools/corpora/corpora.h"
#include "index_tools/corpora/corpus_reader.h"
#include "index_tools/corpora/input_files.h"
#include "tests/growth/growth.h"
#include "tests/growth/scratch.h"
#include "tests/support/indexing_support.h"

namespace relucent::testing {
namespace {

using Make = std::string (*)(std::size_t);
using Entries = std::vector<std::pair<std::string, std::string>>;

/// Reads a file or folder, and keeps nothing.
void read_all(const char* id, const std::filesystem::path& path, const std::vector<std::string>& names) {
  const index_tools::Corpus& corpus = index_tools::find_corpus(id);
  const auto files = index_tools::find_input_files({path.string()}, names.empty() ? corpus.names : names);
  index_tools::CorpusReader reader(corpus, files.files, names, false);
  try {
    for (index_tools::Document document; reader.next(document);) {
    }
  } catch (const Error& error) {
    // Hostile records may be refused, at whatever cost they have had.
    EXPECT_EQ(error.kind(), ErrorKind::invalid_data) << error.what();
  }
}

Case corpus(const std::string& name, const char* id, std::size_t size, Make make, std::size_t largest_factor = 1000) {
  return {name, size,
          [=](std::size_t n) { return on_file(make(n), [id](const auto& path) { read_all(id, path, {}); }); },
          largest_factor};
}

Case archive_of(const std::string& name, const char* format, const char* filter, std::size_t size,
                Entries (*entries)(std::size_t), const char* id = "tsv") {
  return {name, size, [=](std::size_t n) -> Work {
            const auto folder = std::make_shared<TemporaryFolder>();
            pack(*folder / "input", format, filter, entries(n));
            return [folder, id] { read_all(id, *folder / "input", {"*"}); };
          }};
}

std::string html(const std::string& inner) {
  return "<html><head><title>t</title></head><body>" + inner + "</body></html>";
}

std::string warc_record(const std::string& type, const std::string& fields, const std::string& content) {
  return "WARC/1.0\r\nWARC-Type: " + type + "\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-TREC-ID: c-1\r\n" + fields +
         "Content-Length: " + std::to_string(content.size()) + "\r\n\r\n" + content + "\r\n\r\n";
}
std::string warc_page(const std::string& http_fields, const std::string& page) {
  return warc_record("response", "", "HTTP/1.1 200 OK\r\n" + http_fields + "\r\n" + page);
}
std::string trec(const std::string& inner) { return "<DOC>\n<DOCNO> d </DOCNO>\n" + inner + "</DOC>\n"; }
std::string trecweb(const std::string& header, const std::string& page) {
  return "<DOC>\n<DOCNO>d</DOCNO>\n<DOCHDR>\nhttp://a\n" + header + "</DOCHDR>\n" + page + "\n</DOC>\n";
}
std::string pubmed(const std::string& inner) {
  return "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>t</ArticleTitle>"
         "<Abstract>" +
         inner + "</Abstract></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>";
}

/// Ways to make a page hard to read.
struct HardPage {
  const char* name;
  Make make;
  std::size_t size = 200;
  std::size_t largest_factor = 1000;
};
const std::vector<HardPage>& hard_pages() {
  static const std::vector<HardPage> pages = {
      {"paragraphs", [](std::size_t n) { return html(repeated(n, "<p>a b</p>")); }},
      {"open_paragraphs", [](std::size_t n) { return html(repeated(n, "<p>a")); }},
      {"nested", [](std::size_t n) { return html(repeated(n, "<div>") + repeated(n, "</div>")); }},
      {"nested_inline", [](std::size_t n) { return html(repeated(n, "<b>") + "a"); }},
      {"nested_lists", [](std::size_t n) { return html(repeated(n, "<ul><li>")); }},
      {"nested_tables", [](std::size_t n) { return html(repeated(n, "<table><tr><td>")); }},
      {"only_closed", [](std::size_t n) { return html(repeated(n, "</div>")); }},
      {"closed_in_the_wrong_order", [](std::size_t n) { return html(repeated(n, "<b><i></b></i>")); }},
      {"open_then_others_closed", [](std::size_t n) { return html(repeated(n, "<a>") + repeated(n, "</b>")); }},
      {"open_then_text", [](std::size_t n) { return html(repeated(n, "<a>") + repeated(n, "x<br>")); }},
      {"entities", [](std::size_t n) { return html(repeated(n, "&eacute;&#233;&amp;")); }},
      {"unknown_entities", [](std::size_t n) { return html(repeated(n, "&nothing;")); }},
      {"ampersands", [](std::size_t n) { return html(repeated(4 * n, "&")); }},
      {"long_entity", [](std::size_t n) { return html("&" + std::string(10 * n, 'a') + ";"); }},
      {"angles", [](std::size_t n) { return html(std::string(4 * n, '<')); }},
      {"open_comments", [](std::size_t n) { return html(repeated(n, "<!-- a ")); }},
      {"comments", [](std::size_t n) { return html(repeated(n, "<!-- a -->")); }},
      {"long_comment", [](std::size_t n) { return html("<!--" + repeated(n, "--a") + "-->"); }},
      {"open_scripts", [](std::size_t n) { return html(repeated(n, "<script>")); }},
      {"long_script", [](std::size_t n) { return html("<script>" + repeated(10 * n, "a<b;") + "</script>"); }},
      {"scripts", [](std::size_t n) { return html(repeated(n, "<script>a</script>")); }},
      {"open_titles", [](std::size_t n) { return html(repeated(n, "<title>")); }},
      {"attributes",
       [](std::size_t n) {
         return html("<p " + numbered_texts(n, [](const std::string& i) { return "a" + i + "=1 "; }) + ">a</p>");
       }},
      {"one_attribute_again", [](std::size_t n) { return html("<p " + repeated(n, "a=1 ") + ">a</p>"); }},
      {"long_attribute", [](std::size_t n) { return html("<p a=\"" + std::string(20 * n, 'x') + "\">a</p>"); }},
      {"attribute_entities", [](std::size_t n) { return html("<p a=\"" + repeated(n, "&amp;") + "\">a</p>"); }},
      {"open_quote", [](std::size_t n) { return html(repeated(n, "<p a=\"x>")); }},
      {"long_name", [](std::size_t n) { return html("<" + std::string(20 * n, 'x') + ">"); }},
      {"forms", [](std::size_t n) { return html(repeated(n, "<form><select><option>")); }},
      {"frames", [](std::size_t n) { return html(repeated(n, "<frameset><noframes>")); }},
      {"bodies", [](std::size_t n) { return html(repeated(n, "<body><html>")); }},
      {"body_attributes",
       [](std::size_t n) {
         return html(numbered_texts(n, [](const std::string& i) { return "<body a" + i + "=1>"; }));
       }},
      {"declarations", [](std::size_t n) { return repeated(n, "<!DOCTYPE html>") + html("a"); }},
      {"instructions", [](std::size_t n) { return html(repeated(n, "<?php a")); }},
      {"spaces", [](std::size_t n) { return html(std::string(20 * n, ' ') + "a"); }},
      {"blank_lines", [](std::size_t n) { return html(repeated(10 * n, "a\n \n")); }},
      {"charset",
       [](std::size_t n) {
         return "<html><head>" + repeated(n, "<meta charset=iso-8859-1>") + "</head>" + std::string(n, '\xe4') +
                "</html>";
       }},
      {"not_utf8", [](std::size_t n) { return html(std::string(10 * n, '\xe4')); }},
      {"nulls", [](std::size_t n) { return html(std::string(10 * n, '\0')); }},
      {"pre", [](std::size_t n) { return html("<pre>" + repeated(n, "a\n") + "</pre>"); }},
  };
  return pages;
}

/// Ways to make an XML document hard to read.
const std::vector<HardPage>& hard_xml() {
  static const std::vector<HardPage> documents = {
      {"elements", [](std::size_t n) { return repeated(n, "<AbstractText>a</AbstractText>"); }},
      {"nested", [](std::size_t n) { return repeated(n, "<b>") + repeated(n, "</b>"); }},
      {"open", [](std::size_t n) { return repeated(n, "<b>"); }},
      {"closed", [](std::size_t n) { return repeated(n, "</b>"); }},
      {"entities", [](std::size_t n) { return repeated(n, "&amp;&#65;"); }},
      {"unknown_entities", [](std::size_t n) { return repeated(n, "&nothing;"); }},
      {"ampersands", [](std::size_t n) { return repeated(n, "&"); }},
      {"comments", [](std::size_t n) { return repeated(n, "<!-- a -->"); }},
      {"open_comments", [](std::size_t n) { return repeated(n, "<!-- a "); }},
      {"cdata", [](std::size_t n) { return repeated(n, "<![CDATA[a]]>"); }},
      {"open_cdata", [](std::size_t n) { return repeated(n, "<![CDATA[a"); }},
      {"attributes",
       [](std::size_t n) {
         return "<AbstractText " + numbered_texts(n, [](const std::string& i) { return "a" + i + "=\"1\" "; }) +
                ">a</AbstractText>";
       }},
      {"elements_of_attributes",
       [](std::size_t n) {
         const std::string names = numbered_texts(200, [](const std::string& i) { return "a" + i + "=\"1\" "; });
         return repeated(n / 10, "<AbstractText " + names + ">a</AbstractText>");
       }},
      {"one_attribute_again",
       [](std::size_t n) { return "<AbstractText " + repeated(n, "a=\"1\" ") + ">a</AbstractText>"; }},
      {"namespaces",
       [](std::size_t n) {
         return "<AbstractText " + numbered_texts(n, [](const std::string& i) { return "xmlns:n" + i + "=\"u\" "; }) +
                ">a</AbstractText>";
       }},
      {"nested_namespaces",
       [](std::size_t n) {
         return numbered_texts(n, [](const std::string& i) { return "<b xmlns:n" + i + "=\"u\">"; }) +
                repeated(n, "</b>");
       },
       50},
      {"instructions", [](std::size_t n) { return repeated(n, "<?a b?>"); }},
      {"angles", [](std::size_t n) { return repeated(n, "<"); }},
  };
  return documents;
}

std::vector<Case> tsv_cases() {
  return {
      corpus("tsv_lines", "tsv", 500,
             [](std::size_t n) { return numbered_texts(n, [](const std::string& i) { return i + "\ta b\n"; }); }),
      corpus("tsv_long_line", "tsv", 20000, [](std::size_t n) { return "1\t" + std::string(n, 'a') + "\n"; }),
      corpus("tsv_malformed", "tsv", 1000, [](std::size_t n) { return repeated(n, "a\n"); }),
      corpus("tsv_tabs", "tsv", 10000, [](std::size_t n) { return "1" + std::string(n, '\t') + "\n"; }),
      corpus("tsv_long_ids", "tsv", 20,
             [](std::size_t n) { return repeated(100, std::string(100 * n, 'i') + "\ta\n"); }),
      corpus("tsv_not_utf8", "tsv", 10000, [](std::size_t n) { return "1\t" + std::string(n, '\xff') + "\n"; }),
  };
}

std::vector<Case> csv_and_json_cases() {
  return {
      corpus("csv_rows", "csv", 500,
             [](std::size_t n) {
               return "id,text\n" + numbered_texts(n, [](const std::string& i) { return i + ",\"a \"\"b\"\"\"\n"; });
             }),
      corpus("csv_columns", "csv", 1000,
             [](std::size_t n) {
               return "id,text" + numbered_texts(n, [](const std::string& i) { return ",c" + i; }) + "\n1,a" +
                      std::string(n, ',') + "\n";
             }),
      corpus("csv_one_column_again", "csv", 1000,
             [](std::size_t n) { return "id,text" + repeated(n, ",c") + "\n1,a\n"; }),
      corpus("csv_open_quotes", "csv", 1000, [](std::size_t n) { return "id,text\n" + repeated(n, "1,\"a\n"); }),
      corpus("csv_open_quote_at_the_end", "csv", 1000,
             [](std::size_t n) { return "id,text\n1,\"" + repeated(n, "a\n"); }),
      corpus(
          "csv_quotes_long", "csv", 300'000, [](std::size_t n) { return "id,text\n" + repeated(n, "1,\"a\n\n"); }, 8),
      corpus("jsonl_lines", "jsonl", 300,
             [](std::size_t n) {
               return numbered_texts(n, [](const std::string& i) { return "{\"id\":\"" + i + "\",\"text\":\"a\"}\n"; });
             }),
      corpus("jsonl_keys", "jsonl", 500,
             [](std::size_t n) {
               return "{\"id\":\"1\",\"text\":\"a\"" +
                      numbered_texts(n, [](const std::string& i) { return ",\"k" + i + "\":1"; }) + "}\n";
             }),
      corpus("jsonl_repeated_key", "jsonl", 500,
             [](std::size_t n) { return "{\"id\":\"1\",\"text\":\"a\"" + repeated(n, ",\"k\":1") + "}\n"; }),
      corpus("jsonl_deep_malformed", "jsonl", 500, [](std::size_t n) { return "{\"id\":" + repeated(n, "[") + "\n"; }),
      corpus("jsonl_array", "jsonl", 300,
             [](std::size_t n) {
               return "[" +
                      numbered_texts(n,
                                     [](const std::string& i) {
                                       return (i == "0" ? "" : ",") + ("{\"id\":\"" + i + "\",\"text\":\"a\"}");
                                     }) +
                      "]";
             }),
      corpus("jsonl_array_open_strings", "jsonl", 500, [](std::size_t n) { return "[" + repeated(n, "{\"id\":\"1,"); }),
      corpus("jsonl_array_malformed", "jsonl", 500, [](std::size_t n) { return "[" + repeated(n, "{},"); }),
      corpus("jsonl_array_open_objects", "jsonl", 500, [](std::size_t n) { return "[" + repeated(n, "{"); }),
      corpus("jsonl_escapes", "jsonl", 5000,
             [](std::size_t n) { return "{\"id\":\"1\",\"text\":\"" + repeated(n, "\\ud83d\\ude00") + "\"}\n"; }),
      corpus("beir", "beir", 300,
             [](std::size_t n) {
               return numbered_texts(
                   n, [](const std::string& i) { return "{\"_id\":\"" + i + "\",\"title\":\"t\",\"text\":\"a\"}\n"; });
             }),
      corpus("argsme", "argsme/2020-04-01", 300,
             [](std::size_t n) {
               return "{\"arguments\":[" +
                      numbered_texts(n,
                                     [](const std::string& i) {
                                       return (i == "0" ? "" : ",") +
                                              (R"({"id":")" + i +
                                               R"(","conclusion":"c","premises":[{"text":"p","stance":"PRO"}]})");
                                     }) +
                      "]}";
             }),
      corpus("argsme_premises", "argsme/2020-04-01", 300,
             [](std::size_t n) {
               return R"({"arguments":[{"id":"1","conclusion":"c","premises":[)" +
                      repeated(n, R"({"text":"p","stance":"PRO"},)") + R"({"text":"p","stance":"PRO"}]}]})";
             }),
      corpus("argsme_before", "argsme/2020-04-01", 1000,
             [](std::size_t n) { return "{" + repeated(n, "\"a\":[],") + R"("arguments":[]})"; }),
      corpus("wapo_contents", "wapo/v2", 200,
             [](std::size_t n) {
               return R"({"id":"1","title":"t","contents":[)" +
                      repeated(n, R"({"type":"sanitized_html","content":"<p>x</p>"},)") +
                      R"({"type":"x"}]})"
                      "\n";
             }),
  };
}

std::vector<Case> trec_cases() {
  return {
      corpus("trec_documents", "trec", 300, [](std::size_t n) { return repeated(n, trec("<TEXT>\na\n</TEXT>\n")); }),
      corpus("trec_text", "trec", 1000,
             [](std::size_t n) { return trec("<TEXT>\n" + repeated(n, "a\n") + "</TEXT>\n"); }),
      corpus("trec_texts", "trec", 500, [](std::size_t n) { return trec(repeated(n, "<TEXT>\na\n</TEXT>\n")); }),
      corpus("trec_open_texts", "trec", 500, [](std::size_t n) { return trec(repeated(n, "<TEXT>\n")); }),
      corpus("trec_open", "trec", 500, [](std::size_t n) { return repeated(n, "<DOC>\n"); }),
      corpus("trec_closed", "trec", 500, [](std::size_t n) { return repeated(n, "</DOC>\n"); }),
      corpus("trec_no_number", "trec", 500, [](std::size_t n) { return repeated(n, "<DOC>\n</DOC>\n"); }),
      corpus("trec_numbers", "trec", 500, [](std::size_t n) { return trec(repeated(n, "<DOCNO>")); }),
      corpus("trec_one_line", "trec", 500,
             [](std::size_t n) { return repeated(n, "<DOC><DOCNO>1</DOCNO><TEXT>a</TEXT></DOC>"); }),
      corpus("trec_angles", "trec", 5000,
             [](std::size_t n) { return trec("<TEXT>\n" + std::string(n, '<') + "\n</TEXT>\n"); }),
      corpus("disks45_text", "disks45/nocr", 500,
             [](std::size_t n) { return trec("<TEXT>\n" + repeated(n, "<P>\na&blank;\n</P>\n") + "</TEXT>\n"); }),
      corpus("trecweb_documents", "trecweb", 100, [](std::size_t n) { return repeated(n, trecweb("\n", html("a"))); }),
      corpus("trecweb_header", "trecweb", 500,
             [](std::size_t n) { return trecweb(repeated(n, "A: b\n") + "\n", html("a")); }),
      corpus("trecweb_open", "trecweb", 500,
             [](std::size_t n) { return repeated(n, "<DOC>\n<DOCNO>1</DOCNO>\n<DOCHDR>\n"); }),
  };
}

std::vector<Case> warc_cases() {
  return {
      corpus("warc_records", "warc", 100, [](std::size_t n) { return repeated(n, warc_page("", html("a"))); }),
      corpus("warc_empty_records", "warc", 300,
             [](std::size_t n) { return repeated(n, warc_record("response", "", "")); }),
      corpus("warc_other_records", "warc", 300,
             [](std::size_t n) { return repeated(n, warc_record("request", "", "a")); }),
      corpus("warc_fields", "warc", 500,
             [](std::size_t n) { return warc_record("response", repeated(n, "A: b\r\n"), "a"); }),
      corpus("warc_folded_fields", "warc", 500,
             [](std::size_t n) { return warc_record("response", "A: b\r\n" + repeated(n, " c\r\n"), "a"); }),
      corpus("warc_http_fields", "warc", 500,
             [](std::size_t n) { return warc_page(repeated(n, "A: b\r\n"), html("a")); }),
      corpus("warc_chunks", "warc", 500,
             [](std::size_t n) {
               return warc_page("Transfer-Encoding: chunked\r\n", repeated(n, "1\r\na\r\n") + "0\r\n\r\n");
             }),
      corpus("warc_garbage", "warc", 2000, [](std::size_t n) { return repeated(n, "WARC/1.0 a\r\n"); }),
      corpus("warc_blank_lines", "warc", 5000, [](std::size_t n) { return warc_page("", "a") + repeated(n, "\r\n"); }),
      corpus("warc_no_length", "warc", 500,
             [](std::size_t n) { return repeated(n, "WARC/1.0\r\nWARC-Type: response\r\n\r\n"); }),
      corpus("clueweb_records", "clueweb09", 100,
             [](std::size_t n) {
               return repeated(n,
                               "WARC/0.18\nWARC-Type: response\nWARC-TREC-ID: c-1\nContent-Length: 30\n\nHTTP/1.1 200 "
                               "OK\n\n<p>abcdef</p>\n");
             }),
  };
}

std::vector<Case> medline_and_smart_cases() {
  return {
      corpus("pubmed_articles", "pubmed", 100,
             [](std::size_t n) {
               return "<PubmedArticleSet>" +
                      repeated(n,
                               "<PubmedArticle><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>t</ArticleTitle>"
                               "<Abstract><AbstractText>a</AbstractText></Abstract></Article></MedlineCitation></"
                               "PubmedArticle>") +
                      "</PubmedArticleSet>";
             }),
      corpus("pubmed_open_articles", "pubmed", 300,
             [](std::size_t n) { return "<PubmedArticleSet>" + repeated(n, "<PubmedArticle>"); }),
      corpus("pubmed_display", "pubmed", 300,
             [](std::size_t n) {
               return numbered_texts(
                   n, [](const std::string& i) { return "PMID- " + i + "\nTI  - t\nAB  - a\n      b\n\n"; });
             }),
      corpus("pubmed_display_long", "pubmed", 1000,
             [](std::size_t n) { return "PMID- 1\nTI  - t\nAB  - a\n" + repeated(n, "      b\n"); }),
      corpus("medline_2004", "medline/2004", 100,
             [](std::size_t n) {
               return "<MedlineCitationSet>" +
                      repeated(n,
                               "<MedlineCitation><PMID>1</PMID><Article><ArticleTitle>t</ArticleTitle></Article></"
                               "MedlineCitation>") +
                      "</MedlineCitationSet>";
             }),
      corpus("cranfield", "cranfield", 300,
             [](std::size_t n) {
               return numbered_texts(n,
                                     [](const std::string& i) { return ".I " + i + "\n.T\nt\n.A\na\n.B\nb\n.W\nw\n"; });
             }),
      corpus("cranfield_long", "cranfield", 2000,
             [](std::size_t n) { return ".I 1\n.T\nt\n.A\na\n.B\nb\n.W\n" + repeated(n, "w\n"); }),
      corpus("vaswani", "vaswani", 500,
             [](std::size_t n) { return numbered_texts(n, [](const std::string& i) { return i + "\na b\n   /\n"; }); }),
      corpus("vaswani_open", "vaswani", 2000, [](std::size_t n) { return "1\n" + repeated(n, "a\n"); }),
      corpus("nfcorpus", "nfcorpus", 300, [](std::size_t n) { return repeated(n, "MED-1\thttp://a\tt\ta b\n"); }),
      corpus("msmarco_document", "msmarco-document", 300,
             [](std::size_t n) {
               return repeated(n, "<DOC>\n<DOCNO>D1</DOCNO>\n<TEXT>\nhttp://a\nt\nb\n</TEXT>\n</DOC>\n");
             }),
      corpus("html_markdown_text", "text", 20000, [](std::size_t n) { return repeated(n, "a\n"); }),
  };
}

std::vector<Case> archive_cases() {
  return {
      archive_of("zip_entries", "zip", "", 50,
                 [](std::size_t n) {
                   Entries all;
                   for (std::size_t i = 0; i < n; ++i) all.emplace_back("f" + std::to_string(i) + ".tsv", "1\ta\n");
                   return all;
                 }),
      archive_of("tar_entries", "ustar", "gzip", 50,
                 [](std::size_t n) {
                   Entries all;
                   for (std::size_t i = 0; i < n; ++i) all.emplace_back("f" + std::to_string(i) + ".tsv", "1\ta\n");
                   return all;
                 }),
      archive_of("tar_one_name", "ustar", "", 50,
                 [](std::size_t n) {
                   return Entries(n, {"f.tsv", "1\ta\n"});
                 }),
      archive_of("tar_other_entries", "pax", "", 50,
                 [](std::size_t n) {
                   Entries all;
                   for (std::size_t i = 0; i < n; ++i)
                     all.emplace_back(std::string(200, 'd') + "/f" + std::to_string(i), "");
                   return all;
                 }),
      archive_of("gzip_long", "raw", "gzip", 100'000,
                 [](std::size_t n) {
                   return Entries{{"f", "1\t" + std::string(n, 'a') + "\n"}};
                 }),
      archive_of(
          "zip_of_html", "zip", "", 20,
          [](std::size_t n) {
            Entries all;
            for (std::size_t i = 0; i < n; ++i) all.emplace_back("f" + std::to_string(i) + ".html", "<p>a</p>");
            return all;
          },
          "html"),
  };
}

std::vector<Case> folder_cases() {
  return {
      {"archives_inside_archives", 8,
       [](std::size_t n) -> Work {
         const auto folder = std::make_shared<TemporaryFolder>();
         const TemporaryFolder inner;
         Entries small, middle;
         for (std::size_t i = 0; i < 4; ++i) small.emplace_back("f" + std::to_string(i) + ".tsv", "1\ta\n");
         pack(inner / "a", "zip", "", small);
         for (std::size_t i = 0; i < n; ++i)
           middle.emplace_back("a" + std::to_string(i) + ".zip", bytes_of(inner / "a"));
         pack(*folder / "input", "ustar", "gzip", middle);
         return [folder] { read_all("tsv", *folder / "input", {"*"}); };
       }},
      {"gzip_members", 500,
       [](std::size_t n) -> Work {
         const TemporaryFolder inner;
         pack(inner / "a", "raw", "gzip", {{"f", "1\ta\n"}});
         return on_file(repeated(n, bytes_of(inner / "a")), [](const auto& path) { read_all("tsv", path, {"*"}); });
       }},
      {"folder_of_files", 30,
       [](std::size_t n) -> Work {
         const auto folder = std::make_shared<TemporaryFolder>();
         for (std::size_t i = 0; i < n; ++i)
           folder->write("d" + std::to_string(i % 10) + "/" + std::to_string(i) + ".tsv", "1\ta\n");
         return [folder] { read_all("tsv", folder->path(), {}); };
       }},
      {"folder_deep", 8,
       [](std::size_t n) -> Work {
         const auto folder = std::make_shared<TemporaryFolder>();
         folder->write(repeated(n, "d/") + "a.tsv", "1\ta\n");
         return [folder] { read_all("tsv", folder->path(), {}); };
       },
       16},
  };
}

}  // namespace

std::vector<Case> corpora_cases() {
  std::vector<Case> cases;
  for (const auto make :
       {tsv_cases, csv_and_json_cases, trec_cases, warc_cases, medline_and_smart_cases, archive_cases, folder_cases}) {
    for (Case& input : make()) cases.push_back(std::move(input));
  }
  for (const HardPage& page : hard_pages()) {
    cases.push_back(corpus(std::string("html_") + page.name, "html", page.size, page.make, page.largest_factor));
  }
  for (const HardPage& document : hard_xml()) {
    cases.push_back({std::string("pubmed_") + document.name, document.size, [make = document.make](std::size_t n) {
                       return on_file(pubmed(make(n)), [](const auto& path) { read_all("pubmed", path, {}); });
                     }});
    cases.push_back({std::string("cord_") + document.name, document.size, [make = document.make](std::size_t n) {
                       return on_file(trec("<TEXT>\n" + make(n) + "\n</TEXT>\n"),
                                      [](const auto& path) { read_all("disks45/nocr", path, {"*"}); });
                     }});
  }
  return cases;
}

}  // namespace relucent::testing
