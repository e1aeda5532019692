// A large WARC is streamed: memory does not grow with the file.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <string>

#include "index_tools/corpora/corpus_reader.h"
#include "tests/support/indexing_support.h"

namespace relucent {
namespace {

constexpr std::size_t kRawBytes = 200 * 1000 * 1000;
constexpr long kMaxKilobytes = 64 * 1024;

std::string page(std::size_t bytes) {
  std::string html = "<html><head><title>a title</title></head><body>";
  for (std::size_t i = 0; html.size() < bytes; ++i)
    html += "<p>Some <b>words</b> of paragraph " + std::to_string(i) + " &amp; more.</p>\n";
  return html;
}

int write_warc(const std::filesystem::path& file) {
  const gzFile out = ::gzopen(file.c_str(), "wb1");
  int documents = 0;
  for (std::size_t written = 0; written < kRawBytes; ++documents) {
    const std::string payload = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" +
                                page(documents % 100 == 0 ? 3'000'000 : 30'000);
    const std::string record = "WARC/1.0\r\nWARC-Type: response\r\nWARC-TREC-ID: doc-" + std::to_string(documents) +
                               "\r\nContent-Length: " + std::to_string(payload.size()) + "\r\n\r\n" + payload +
                               "\r\n\r\n";
    ::gzwrite(out, record.data(), static_cast<unsigned>(record.size()));
    written += record.size();
  }
  ::gzclose(out);
  return documents;
}

TEST(MarkupMemory, StaysFlatOverALargeWarc) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "SKIPPED: sanitizers use memory of their own";
#endif
  const testing::TemporaryFolder folder;
  const auto file = folder / "large.warc.gz";
  const int documents = write_warc(file);
  // In a process of its own, so that what other tests used before does not count.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    const auto& corpus = index_tools::find_corpus("clueweb12");
    index_tools::CorpusReader reader(corpus, index_tools::find_input_files({file.string()}, corpus.names).files, {},
                                     true);
    int read = 0;
    for (index_tools::Document document; reader.next(document);) ++read;
    ::getrusage(RUSAGE_SELF, &after);
    const long grown = after.ru_maxrss - before.ru_maxrss;
    ::fprintf(stderr, "read %d of %d documents, memory grew by %ld KiB\n", read, documents, grown);
    ::_exit(read != documents ? 1 : grown > kMaxKilobytes ? 2 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: documents are missing; 2: memory grew by more than " << kMaxKilobytes
                                    << " KiB";
}

}  // namespace
}  // namespace relucent
