#include "index_tools/indexing/index_input.h"

#include "relucent/error.h"

namespace relucent::index_tools {

InputFiles find_input(const IndexJob& job, const Corpus& corpus, IndexSummary& summary) {
  InputFiles input = find_input_files(job.inputs, job.names.empty() ? corpus.names : job.names);
  summary.left_out_files = input.left_out;
  summary.broken_links = input.broken_links;
  if (job.strict && !input.broken_links.empty()) {
    throw Error(ErrorKind::invalid_data, input.broken_links.front(), "is a link that cannot be followed",
                "remove it, or index without --strict");
  }
  summary.input_files = static_cast<std::int64_t>(input.files.size());
  for (const InputFile& file : input.files) summary.input_bytes += file.size;
  return input;
}

IndexBuilder::Options builder_options(const IndexJob& job) {
  IndexBuilder::Options options;
  options.fields = job.fields;
  options.first_stage = job.first_stage;
  options.threads = job.threads;
  options.token_ids_of = job.token_ids_of;
  options.metadata = true;
  return options;
}

}  // namespace relucent::index_tools
