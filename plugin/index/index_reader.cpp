#include "relucent/index_reader.h"

#include <FSDirectory.h>

#include "index/segments_file.h"
#include "lucene_errors.h"
#include "relucent/stored_text.h"

namespace relucent {

Lucene::IndexReaderPtr open_reader(const std::filesystem::path& folder) {
  prepare_file_names();
  const std::string place = folder.string();
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(ErrorKind::io, place, error && error != std::errc::no_such_file_or_directory
                                          ? "the index folder cannot be read: " + error.message()
                                          : "there is no such index folder",
                "check the name, or make an index with `relucent index`");
  }
  return with_errors(place, "opening the index", [&]() -> Lucene::IndexReaderPtr {
    const auto directory = Lucene::FSDirectory::open(to_lucene(place));
    if (!Lucene::IndexReader::indexExists(directory)) {
      throw Error(ErrorKind::invalid_data, place, "the folder holds no index",
                  "check the name, or make an index with `relucent index`");
    }
    check_segments_file(folder);
    return Lucene::IndexReader::open(directory, true);
  });
}

}  // namespace relucent
