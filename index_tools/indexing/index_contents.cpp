#include "index_tools/indexing/index_contents.h"

#include <LuceneHeaders.h>
#include <fmt/core.h>

#include <exception>
#include <new>

#include "index_tools/indexing/id_set.h"
#include "index_tools/indexing/progress.h"
#include "relucent/bm25.h"
#include "relucent/error.h"
#include "relucent/index_reader.h"
#include "relucent/stored_text.h"

namespace relucent::index_tools {
namespace {

constexpr std::size_t kDuplicateExamples = 5;

// On a damaged index Lucene++ and the standard library throw many types of exceptions.
template <typename Work>
auto readable(const std::filesystem::path& index, Work&& work) {
  const auto damaged = [&](const std::string& reason) {
    return Error(ErrorKind::invalid_data, index.string(), "the index cannot be read: " + reason,
                 "it is damaged: restore it from a copy, or rebuild it with the program that wrote it");
  };
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::io, index.string(), "out of memory while reading the index",
                "free some memory, or raise the limit (ulimit -v)");
  } catch (const Lucene::LuceneException& reason) {
    throw damaged(to_utf8(reason.getError()));
  } catch (const std::exception& reason) {
    throw damaged(reason.what());
  }
}

void read_documents(const Lucene::IndexReaderPtr& reader, const IndexConfig& fields, bool quiet,
                    IndexContents& contents) {
  Progress progress("reading documents", Progress::Unit::documents, reader->maxDoc(), quiet);
  IdSet ids;
  for (std::int32_t i = 0; i < reader->maxDoc(); ++i) {
    progress.update(0, i);
    if (reader->isDeleted(i)) continue;
    const std::string number = fmt::format("document {}", i);
    const Lucene::DocumentPtr document = reader->document(i);
    const auto id = first_stored_text(document, fields.id_field);
    if (!id || id->empty()) {
      contents.without_id.add(number);
    } else if (!ids.insert(*id)) {
      contents.repeated_ids.add(*id);
    }
    if (!stored_text(document, fields.text_field)) contents.without_text.add(number);
  }
}

void read_postings(const Lucene::IndexReaderPtr& reader, const IndexConfig& fields, bool quiet,
                   IndexContents& contents) {
  Progress progress("reading postings", Progress::Unit::documents, 0, quiet);
  const Lucene::String field = to_lucene(fields.contents_field);
  std::vector<bool> has_tokens(static_cast<std::size_t>(reader->maxDoc()));
  const Lucene::TermEnumPtr terms = reader->terms(Lucene::newLucene<Lucene::Term>(field, Lucene::String()));
  const Lucene::TermDocsPtr postings = reader->termDocs();
  std::int64_t seen = 0;
  do {
    const Lucene::TermPtr term = terms->term();
    if (!term || term->field() != field) break;
    postings->seek(terms);
    while (postings->next()) {
      has_tokens.at(static_cast<std::size_t>(postings->doc())) = true;
      contents.tokens += postings->freq();
      if ((++seen & 0xFFFF) == 0) progress.update(0, seen);
    }
  } while (terms->next());
  for (const bool any : has_tokens) contents.documents_with_tokens += any ? 1 : 0;
}

}  // namespace

void IndexContents::Faults::add(const std::string& example) {
  ++count;
  if (examples.size() < kDuplicateExamples) examples.push_back(example);
}

std::map<std::string, std::string> committed_user_data(const std::filesystem::path& index) {
  const Lucene::IndexReaderPtr reader = open_reader(index);
  return readable(index, [&] {
    std::map<std::string, std::string> data;
    Lucene::MapStringString stored = reader->getCommitUserData();
    if (stored) {
      for (const auto& [key, value] : stored) data[to_utf8(key)] = to_utf8(value);
    }
    reader->close();
    return data;
  });
}

IndexContents read_contents(const std::filesystem::path& index, const IndexConfig& fields,
                            const FirstStageConfig& first_stage, bool quiet) {
  const Lucene::IndexReaderPtr reader = open_reader(index);
  return readable(index, [&] {
    IndexContents contents;
    contents.documents = reader->numDocs();
    contents.deleted = reader->numDeletedDocs();
    read_documents(reader, fields, quiet, contents);
    read_postings(reader, fields, quiet, contents);
    try {
      const auto searcher = Lucene::newLucene<BM25Searcher>(reader, first_stage, fields);
      contents.recorded_documents_with_tokens = searcher->statistics().document_count;
      contents.recorded_tokens = searcher->statistics().sum_total_term_freq;
      searcher->close();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;
      contents.unsearchable = error.what();
    }
    reader->close();
    return contents;
  });
}

}  // namespace relucent::index_tools
