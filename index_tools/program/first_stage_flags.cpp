#include "index_tools/program/first_stage_flags.h"

#include "index_tools/program/flags.h"
#include "relucent/error.h"

namespace relucent::program {
namespace {

void refuse_without(const char* flag, bool given, const char* needed, bool is_set) {
  if (!given || is_set) return;
  throw Error(ErrorKind::usage, flag, std::string("has no effect without ") + needed,
              std::string("pass ") + needed + ", or remove it");
}

}  // namespace

void add_first_stage_flags(CLI::App& command, FirstStageFlags& flags) {
  add_value(command, "--k1,--bm25.k1 NUMBER", flags.k1, "BM25's k1 (default: the profile's [first_stage] k1, 0.9)");
  add_value(command, "--b,--bm25.b NUMBER", flags.b, "BM25's b (default: the profile's [first_stage] b, 0.4)");
  add_list(command, "--search-fields FIELD,...", flags.search_fields,
           "Fields to search and the factors of their scores, separated by commas, as contents,title^2 (default: "
           "the profile's [first_stage] fields, or the contents); see docs/fields-and-filters.md");
  command.add_flag("--qld", flags.qld, "Query likelihood with Dirichlet smoothing in place of BM25");
  add_value(command, "--mu,--qld.mu NUMBER", flags.mu, "Its mu (default: the profile's [first_stage] mu, 1000)");
  command.add_flag("--qljm", flags.qljm, "Query likelihood with Jelinek-Mercer smoothing in place of BM25");
  add_value(command, "--lambda,--qljm.lambda NUMBER", flags.lambda,
            "Its lambda (default: the profile's [first_stage] lambda, 0.1)");
  command.add_flag("--rm3", flags.rm3, "Expand queries with terms of their best hits, and search again");
  add_value(command, "--rm3-terms,--rm3.fbTerms N", flags.rm3_terms,
            "Terms that --rm3 adds (default: the profile's [first_stage] rm3_terms, 10)");
  add_value(command, "--rm3-documents,--rm3.fbDocs N", flags.rm3_documents,
            "Hits that it takes them from (default: the profile's [first_stage] rm3_documents, 10)");
  add_value(command, "--rm3-original-weight,--rm3.originalQueryWeight NUMBER", flags.rm3_original_weight,
            "The share of the query's own terms (default: the profile's [first_stage] rm3_original_weight, 0.5)");
  command.add_flag("--rm3-any-terms,--rm3.noTermFilter", flags.rm3_any_terms,
                   "Let --rm3 also add terms of other characters than a to z and digits");
}

void FirstStageFlags::apply(FirstStageConfig& config) const {
  if (qld && qljm) throw Error(ErrorKind::usage, "--qld", "cannot be combined with --qljm", "choose one");
  if (qld) config.scoring = FirstStageScoring::qld;
  if (qljm) config.scoring = FirstStageScoring::qljm;
  if (rm3) config.rm3 = true;
  refuse_without("--mu", mu.has_value(), "--qld", config.scoring == FirstStageScoring::qld);
  refuse_without("--lambda", lambda.has_value(), "--qljm", config.scoring == FirstStageScoring::qljm);
  refuse_without("--rm3-terms", rm3_terms.has_value(), "--rm3", config.rm3);
  refuse_without("--rm3-documents", rm3_documents.has_value(), "--rm3", config.rm3);
  refuse_without("--rm3-original-weight", rm3_original_weight.has_value(), "--rm3", config.rm3);
  refuse_without("--rm3-any-terms", rm3_any_terms, "--rm3", config.rm3);
  if (!search_fields.empty()) config.fields = search_fields;
  if (k1) config.k1 = *k1;
  if (b) config.b = *b;
  if (mu) config.mu = *mu;
  if (lambda) config.lambda = *lambda;
  if (rm3_terms) config.rm3_terms = *rm3_terms;
  if (rm3_documents) config.rm3_documents = *rm3_documents;
  if (rm3_original_weight) config.rm3_original_weight = *rm3_original_weight;
  if (rm3_any_terms) config.rm3_ascii_terms = false;
}

}  // namespace relucent::program
