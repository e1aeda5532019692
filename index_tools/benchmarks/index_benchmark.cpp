#include <LuceneHeaders.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <ostream>
#include <string>

#include "base/file/file_io.h"
#include "index_tools/benchmarks/benchmarks.h"
#include "index_tools/benchmarks/generated_collection.h"
#include "index_tools/benchmarks/work_folder.h"
#include "index_tools/indexing/indexer.h"
#include "index_tools/indexing/interrupt.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"
#include "relucent/times.h"

namespace relucent::benchmarks {
namespace {

namespace fs = std::filesystem;

/// Writes the collection; returns the size of the texts without ids.
std::int64_t write_collection(const fs::path& file, std::int64_t documents) {
  GeneratedCollection collection;
  std::ofstream out(file, std::ios::binary);
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < documents; ++i) {
    const std::string text = collection.next_passage();
    bytes += static_cast<std::int64_t>(text.size());
    out << i << '\t' << text << '\n';
  }
  if (!out.flush()) {
    throw Error(ErrorKind::io, file.string(), "cannot be written", "free some space, or choose another --folder");
  }
  sync_file(file);  // before anything is timed
  return bytes;
}

void index_by_relucent(const fs::path& input, const fs::path& index, int threads) {
  index_tools::IndexJob job;
  job.corpus = "tsv";
  job.inputs = {input.string()};
  job.index = index;
  job.threads = threads;
  job.quiet = true;
  index_tools::run_index(job);
}

void index_by_lucene(const fs::path& input, const fs::path& index) {
  using Lucene::AbstractField;
  const auto writer = Lucene::newLucene<Lucene::IndexWriter>(
      Lucene::FSDirectory::open(to_lucene(index.string())),
      Lucene::newLucene<Lucene::StandardAnalyzer>(Lucene::LuceneVersion::LUCENE_CURRENT), true,
      Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  std::ifstream in(input, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    const std::size_t tab = line.find('\t');
    const auto document = Lucene::newLucene<Lucene::Document>();
    document->add(Lucene::newLucene<Lucene::Field>(L"id", Lucene::StringUtils::toUnicode(line.substr(0, tab)),
                                                   AbstractField::STORE_YES, AbstractField::INDEX_NOT_ANALYZED));
    document->add(Lucene::newLucene<Lucene::Field>(L"contents", Lucene::StringUtils::toUnicode(line.substr(tab + 1)),
                                                   AbstractField::STORE_YES, AbstractField::INDEX_ANALYZED));
    writer->addDocument(document);
  }
  writer->close();
}

struct Sample {
  std::chrono::nanoseconds time{0};
  double peak_mb = 0;
};

/// Runs in a child process, to measure only its memory.
Sample sample(const std::function<void()>& work) {
  std::cout.flush();
  Sample result;
  result.time = time_of([&] {
    const pid_t child = ::fork();
    if (child < 0)
      throw Error(ErrorKind::io, "bench index", std::string("cannot start a process: ") + std::strerror(errno));
    if (child == 0) {
      try {
        work();
        ::_exit(0);
      } catch (const Lucene::LuceneException& error) {
        std::cerr << to_utf8(error.getError()) << std::endl;
      } catch (const std::exception& error) {
        std::cerr << error.what() << std::endl;
      }
      ::_exit(1);
    }
    int status = 0;
    struct rusage used {};
    while (::wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw Error(ErrorKind::io, "bench index", "a run failed");
    result.peak_mb = static_cast<double>(used.ru_maxrss) / 1000;
  });
  return result;
}

Measurement measurement_of(const std::string& name, const std::vector<Sample>& samples, std::int64_t documents,
                           std::int64_t bytes) {
  std::vector<std::chrono::nanoseconds> times;
  double peak_mb = 0;
  for (const Sample& each : samples) {
    times.push_back(each.time);
    peak_mb = std::max(peak_mb, each.peak_mb);
  }
  Measurement result = summarize(name, times);
  result.figures = {{"documents", static_cast<double>(documents)},
                    {"megabytes", static_cast<double>(bytes) / 1e6},
                    {"mb_per_s", static_cast<double>(bytes) / 1e3 / in_milliseconds(result.median)},
                    {"peak_rss_mb", peak_mb}};
  return result;
}

}  // namespace

std::vector<Measurement> run(const IndexBenchmark& settings, std::ostream& log) {
  const WorkFolder folder(settings.folder);
  const fs::path input = folder / "collection.tsv", index = folder / "index";
  const std::int64_t bytes = write_collection(input, settings.documents);
  log << "wrote " << settings.documents << " generated documents of " << bytes / 1'000'000 << " MB\n";
  const index_tools::InterruptGuard guard;
  std::vector<Sample> ours, stock;
  for (int i = 0; i < settings.runs; ++i) {
    const auto timed = [&](std::vector<Sample>& samples, const char* name, const std::function<void()>& work) {
      if (index_tools::InterruptGuard::interrupted()) throw Error(ErrorKind::interrupted, "bench index", "interrupted");
      samples.push_back(sample(work));
      log << name << ": " << in_milliseconds(samples.back().time) / 1e3 << " s\n";
      fs::remove_all(index);
    };
    timed(ours, "relucent", [&] { index_by_relucent(input, index, settings.threads); });
    if (settings.stock) timed(stock, "lucene++", [&] { index_by_lucene(input, index); });
  }
  std::vector<Measurement> result = {measurement_of("index relucent", ours, settings.documents, bytes)};
  if (settings.stock) {
    result.push_back(measurement_of("index lucene++ standard analyzer", stock, settings.documents, bytes));
    result.front().figures.emplace_back("ratio",
                                        in_milliseconds(result.back().median) / in_milliseconds(result.front().median));
  }
  return result;
}

}  // namespace relucent::benchmarks
