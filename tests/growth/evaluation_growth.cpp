// Runs, judgments, topics and rerank files, and what is computed from them.
#include <memory>
#include <utility>

#include "index_tools/evaluation/dialogues.h"
#include "index_tools/evaluation/fusion.h"
#include "index_tools/evaluation/measures.h"
#include "index_tools/evaluation/qrels.h"
#include "index_tools/evaluation/rerank_input.h"
#include "index_tools/evaluation/rerank_output.h"
#include "index_tools/evaluation/run.h"
#include "index_tools/evaluation/run_formats.h"
#include "index_tools/evaluation/topics.h"
#include "tests/growth/growth.h"
#include "tests/growth/scratch.h"

namespace relucent::testing {
namespace {

using namespace index_tools;  // NOLINT(google-build-using-namespace)

using Make = std::string (*)(std::size_t);

std::function<Work(std::size_t)> run(Make make) {
  return [make](std::size_t n) { return on_file(make(n), [](const auto& path) { read_run(path); }); };
}
std::function<Work(std::size_t)> qrels(Make make) {
  return [make](std::size_t n) { return on_file(make(n), [](const auto& path) { read_qrels(path); }); };
}
std::function<Work(std::size_t)> topics(Make make) {
  return [make](std::size_t n) { return on_file(make(n), [](const auto& path) { read_topics(path); }); };
}
std::function<Work(std::size_t)> dialogues(DialogueFormat format, Make make) {
  return [make, format](std::size_t n) {
    return on_file(make(n), [format](const auto& path) { read_dialogues(path, format, [](const Dialogue&) {}); });
  };
}
std::function<Work(std::size_t)> rerank(Make make) {
  return [make](std::size_t n) {
    return on_file(make(n), [](const auto& path) {
      for (const auto& query : read_rerank_input(path, true, BadLines::leave_out).queries) {
        RerankedQuery result;
        result.order.resize(query.candidates.size());
        for (std::size_t i = 0; i < result.order.size(); ++i) result.order[i].index = i;
        format_reranked(RerankFormat::jsonl, query, result, "tag");
      }
    });
  };
}

std::string one_topic_run(std::size_t n) {
  return numbered_texts(n, [](const std::string& i) { return "1 Q0 d" + i + " " + i + " 0.5 tag\n"; });
}
/// Each line belongs to another topic than the one before.
std::string interleaved_run(std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) {
    text += std::to_string(i % 50) + " Q0 d" + std::to_string(i) + " 1 0.5 t" + std::to_string(i) + "\n";
  }
  return text;
}
std::string one_topic_qrels(std::size_t n) {
  return numbered_texts(n, [](const std::string& i) { return "1 0 d" + i + " 1\n"; });
}
std::string trec_topics(std::size_t n) {
  return numbered_texts(n, [](const std::string& i) {
    return "<top>\n<num> Number: " + i + "\n<title> a b\n<desc> Description:\nc\n<narr> Narrative:\nd\n</top>\n";
  });
}

Case both(const std::string& name, std::size_t size, void (*use)(const Run&, const Qrels&)) {
  return {name, size, [use](std::size_t n) -> Work {
            const TemporaryFolder folder;
            const auto read = std::make_shared<std::pair<Run, Qrels>>(
                read_run(folder.write("run", one_topic_run(n))), read_qrels(folder.write("q", one_topic_qrels(n))));
            return [read, use] { use(read->first, read->second); };
          }};
}

}  // namespace

std::vector<Case> evaluation_cases() {
  return {
      {"run_of_one_topic", 500, run(one_topic_run)},
      {"run_of_many_topics", 500, run([](std::size_t n) {
         return numbered_texts(n, [](const std::string& i) { return i + " Q0 d 1 0.5 tag\n"; });
       })},
      {"run_interleaved", 500, run(interleaved_run)},
      {"run_long_ids", 20, run([](std::size_t n) {
         return numbered_texts(50, [n](const std::string& i) {
           return std::string(n * 50, 'q') + " Q0 " + std::string(n * 50, 'd') + i + " 1 0.5 t\n";
         });
       })},
      {"run_long_tag", 5000, run([](std::size_t n) { return "1 Q0 d 1 0.5 " + std::string(n, 't') + "\n"; })},
      {"run_long_number", 5000, run([](std::size_t n) { return "1 Q0 d 1 0." + std::string(n, '1') + " t\n"; })},
      {"run_repeated_document", 500, run([](std::size_t n) { return one_topic_run(n) + "1 Q0 d1 1 0.5 t\n"; }), 1000,
       true},
      {"run_blank_lines", 5000, run([](std::size_t n) { return std::string(n, '\n') + "1 Q0 d 1 0.5 t\n"; })},
      {"run_msmarco", 500, run([](std::size_t n) {
         return numbered_texts(
             n, [](const std::string& i) { return "1\td" + i + "\t" + std::to_string(std::stoul(i) + 1) + "\n"; });
       })},
      {"run_jsonl", 300, run([](std::size_t n) {
         return numbered_texts(
             n, [](const std::string& i) { return R"({"qid":"1","docno":"d)" + i + "\",\"score\":1}\n"; });
       })},
      {"run_jsonl_many_keys", 300, run([](std::size_t n) {
         return R"({"qid":"1","docno":"d","score":1)" +
                numbered_texts(n, [](const std::string& i) { return ",\"k" + i + "\":1"; }) + "}\n";
       })},
      {"run_jsonl_repeated_key", 500,
       run([](std::size_t n) { return R"({"qid":"1","docno":"d","score":1)" + repeated(n, ",\"k\":1") + "}\n"; })},
      {"run_jsonl_deep", 50, run([](std::size_t n) {
         return R"({"qid":"1","docno":"d","score":1,"k":)" + repeated(n, "[") + repeated(n, "]") + "}\n";
       }),
       1},
      {"qrels_of_one_topic", 500, qrels(one_topic_qrels)},
      {"qrels_interleaved", 500, qrels([](std::size_t n) {
         std::string text;
         for (std::size_t i = 0; i < n; ++i) text += std::to_string(i % 50) + " 0 d" + std::to_string(i) + " 1\n";
         return text;
       })},
      {"qrels_duplicates", 500, qrels([](std::size_t n) { return one_topic_qrels(n) + "1 0 d0 0\n"; }), 1000, true},
      {"qrels_smart", 500,
       qrels([](std::size_t n) { return numbered_texts(n, [](const std::string& i) { return "1 " + i + " 1\n"; }); })},
      {"qrels_npl", 500, qrels([](std::size_t n) {
         return "1\n" +
                numbered_texts(n, [](const std::string& i) { return std::to_string(std::stoul(i) + 1) + " "; }) +
                "\n/\n";
       })},
      {"qrels_npl_lines", 500, qrels([](std::size_t n) {
         return numbered_texts(n, [](const std::string& i) { return std::to_string(std::stoul(i) + 1) + "\n 5\n/\n"; });
       })},
      {"qrels_jsonl", 300, qrels([](std::size_t n) {
         return numbered_texts(
             n, [](const std::string& i) { return R"({"qid":"1","docno":"d)" + i + "\",\"relevance\":1}\n"; });
       })},
      {"qrels_beir", 500, qrels([](std::size_t n) {
         return "query-id\tcorpus-id\tscore\n" +
                numbered_texts(n, [](const std::string& i) { return "1\td" + i + "\t1\n"; });
       })},
      {"topics_tsv", 500, topics([](std::size_t n) {
         return numbered_texts(n, [](const std::string& i) { return i + "\tword word\n"; });
       })},
      {"topics_tsv_one_line", 10000, topics([](std::size_t n) { return "1\t" + repeated(n, "a  "); })},
      {"topics_trec", 200, topics(trec_topics)},
      {"topics_trec_not_closed", 500,
       topics([](std::size_t n) { return "<top><num>1<title>a" + repeated(n, "<desc>") + "</top>"; }), 1000, false},
      {"topics_trec_only_opened", 1000,
       topics([](std::size_t n) { return "<top><num>1<title>a" + repeated(n, "<top>"); }), 1000, true},
      {"topics_trec_angles", 5000,
       topics([](std::size_t n) { return "<top><num>1<title>a" + std::string(n, '<') + "</top>"; })},
      {"topics_xml", 200, topics([](std::size_t n) {
         return "<topics>" +
                numbered_texts(n,
                               [](const std::string& i) {
                                 return "<topic number=\"" + i + "\"><query>a</query><question>b</question></topic>";
                               }) +
                "</topics>";
       })},
      {"topics_xml_entities", 1000, topics([](std::size_t n) {
         return "<topics><topic number=\"1\"><query>" + repeated(n, "&amp;&#65;") + "</query></topic></topics>";
       })},
      {"topics_xml_ampersands", 2000, topics([](std::size_t n) {
         return "<topics><topic number=\"1\"><query>" + repeated(n, "&") + "</query></topic></topics>";
       })},
      {"topics_xml_comments", 1000, topics([](std::size_t n) {
         return "<topics>" + repeated(n, "<!--") + "--><topic number=\"1\"><query>a" + repeated(n, "<!---->") +
                "</query></topic></topics>";
       })},
      {"topics_xml_open_comments", 1000, topics([](std::size_t n) {
         return "<topics><topic number=\"1\"><query>a</query></topic>" + repeated(n, "<!-- ");
       }),
       1000, true},
      {"topics_xml_nested", 500, topics([](std::size_t n) {
         return "<topics><topic number=\"1\"><query>a" + repeated(n, "<b>") + repeated(n, "</b>") +
                "</query></topic></topics>";
       })},
      {"topics_xml_open_fields", 500, topics([](std::size_t n) {
         return "<topics><topic number=\"1\"><query>a</query>" + repeated(n, "<description>") + "</topic></topics>";
       })},
      {"topics_xml_attributes", 500, topics([](std::size_t n) {
         return "<topics><topic " + numbered_texts(n, [](const std::string& i) { return "a" + i + "=\"1\" "; }) +
                "number=\"1\"><query>a</query></topic></topics>";
       })},
      {"topics_xml_cdata", 500, topics([](std::size_t n) {
         return "<topics><topic number=\"1\"><query>" + repeated(n, "<![CDATA[a]]>") + "</query></topic></topics>";
       })},
      {"topics_smart", 500, topics([](std::size_t n) {
         return numbered_texts(n, [](const std::string& i) { return ".I " + i + "\n.W\na b\n"; });
       })},
      {"topics_npl", 500, topics([](std::size_t n) {
         return numbered_texts(n,
                               [](const std::string& i) { return std::to_string(std::stoul(i) + 1) + "\na b\n/\n"; });
       })},
      {"topics_jsonl", 300, topics([](std::size_t n) {
         return numbered_texts(n, [](const std::string& i) { return "{\"qid\":\"" + i + "\",\"query\":\"a\"}\n"; });
       })},
      {"dialogues_ubuntu", 300,
       dialogues(
           DialogueFormat::ubuntu_v2,
           [](std::size_t n) { return "Context,Ground Truth Utterance,Distractor_0\n" + repeated(n, "a,b,c\n"); })},
      {"dialogues_dstc7_options", 2000,
       dialogues(
           DialogueFormat::dstc7,
           [](std::size_t n) {
             const std::string options = numbered_texts(
                 n, [](const std::string& i) { return R"({"candidate-id":)" + i + R"(,"utterance":"u"},)"; });
             return R"([{"example-id":1,"messages-so-far":[{"utterance":"a"}],"options-for-next":[)" + options +
                    R"({"candidate-id":"x","utterance":"u"}],"options-for-correct-answers":[{"candidate-id":"x"}]}])";
           })},
      {"rerank_of_one_query", 200, rerank([](std::size_t n) {
         return numbered_texts(n, [](const std::string& i) {
           return R"({"qid":"1","query":"q","docno":"d)" + i +
                  R"(","text":"t","rank":1,"score":1})"
                  "\n";
         });
       })},
      {"rerank_interleaved", 200, rerank([](std::size_t n) {
         return numbered_texts(n, [](const std::string& i) {
           return R"({"qid":")" + std::to_string(std::stoul(i) % 50) + R"(","query":"q","docno":"d)" + i +
                  R"(","text":"t"})"
                  "\n";
         });
       })},
      {"rerank_bad_lines", 500, rerank([](std::size_t n) {
         return repeated(n, "{\n") + R"({"qid":"1","query":"q","docno":"d","text":"t"})"
                                     "\n";
       })},
      {"rerank_repeated_documents", 300, rerank([](std::size_t n) {
         return repeated(n, R"({"qid":"1","query":"q","docno":"d","text":"t"})"
                            "\n");
       })},
      {"rerank_long_query", 20, rerank([](std::size_t n) {
         return numbered_texts(50, [n](const std::string& i) {
           return R"({"qid":"1","query":")" + std::string(n * 50, 'q') + R"(","docno":"d)" + i +
                  R"(","text":"t"})"
                  "\n";
         });
       })},
      {"rerank_extra_keys", 300, rerank([](std::size_t n) {
         return R"({"qid":"1","query":"q","docno":"d","text":"t")" +
                numbered_texts(n, [](const std::string& i) { return ",\"k" + i + "\":1"; }) + "}\n";
       })},
      both("evaluate", 500,
           [](const Run& run, const Qrels& qrels) {
             evaluate(run, qrels, parse_measures("nDCG@10,nDCG,RR@10,MAP,P@10,R@1000,Rprec,bpref,RBP,ERR,Judged@10"));
           }),
      both("fuse", 500,
           [](const Run& run, const Qrels&) {
             fuse({run, run}, {});
           }),
      both("fuse_sums", 500,
           [](const Run& run, const Qrels&) {
             FusionOptions options;
             options.method = FusionMethod::weighted_sum;
             fuse({run, run}, options);
           }),
      both("check_run", 2000, [](const Run& run, const Qrels&) { check_run(run); }),
      both("format_run_of_ties", 500,
           [](const Run& run, const Qrels&) {
             format_run_as(RunFormat::trec, ranked_queries(run, RunOrder::score, 0), "t");
           }),
      {"measures", 200,
       [](std::size_t n) {
         return [text = "P@1" + numbered_texts(n, [](const std::string& i) {
                          return ",P@" + std::to_string(std::stoul(i) + 2);
                        })] { parse_measures(text); };
       }},
      {"measures_parentheses", 1000,
       [](std::size_t n) {
         return [text = "P" + repeated(n, "(") + repeated(n, ",") + repeated(n, ")")] { parse_measures(text); };
       },
       1000, true},
  };
}

}  // namespace relucent::testing
