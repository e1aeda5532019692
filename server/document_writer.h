#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace relucent::server {

/// A document of a request.
struct NewDocument {
  std::string id, text;
  std::string metadata;  ///< the other members, as an object in JSON; empty: none
};

/// The only writer of a server's index. One thread at a time.
class DocumentWriter {
 public:
  /// What one commit has done.
  struct Change {
    std::int64_t removed = 0;      ///< documents that were replaced or deleted
    std::int64_t unknown_ids = 0;  ///< ids of the request that no document had
    std::int64_t documents = 0;    ///< in the index afterwards
  };

  virtual ~DocumentWriter() = default;
  /// Replaces the documents with these ids, and adds the others. All are durable on return, or none is. Throws Error
  /// `invalid_data` for metadata that does not fit the index's declared fields.
  virtual Change put(std::span<const NewDocument> documents) = 0;
  virtual Change remove(const std::string& id) = 0;
};

}  // namespace relucent::server
