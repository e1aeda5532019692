#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/index_format/fields/declared_fields.h"

namespace relucent::segment {

/// Consecutive documents that become one segment: their ids, texts and metadata as given, and their values of declared
/// fields.
class DocumentRange {
 public:
  struct Document {
    std::string_view id, text, metadata = {};
  };

  void add(std::string_view id, std::string_view text, std::string_view metadata = {},
           std::span<const fields::FieldValue> values = {}) {
    ends_.push_back({append(id), append(text), append(metadata)});
    for (const fields::FieldValue& value : values) {
      values_.push_back({static_cast<std::uint32_t>(ends_.size() - 1), value.field, append_value(value.bytes)});
    }
  }
  std::size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  std::size_t bytes() const { return bytes_.size() + value_bytes_.size() + values_.size() * sizeof(Value); }
  Document operator[](std::size_t i) const {
    const std::size_t start = i == 0 ? 0 : ends_[i - 1].metadata;
    const auto& [id, text, metadata] = ends_[i];
    const std::string_view all(bytes_.data(), bytes_.size());
    return {all.substr(start, id - start), all.substr(id, text - id), all.substr(text, metadata - text)};
  }
  /// Calls use(document, field, bytes) for each value, in the order of the documents.
  template <typename Use>
  void each_value(Use&& use) const {
    std::size_t start = 0;
    for (const Value& value : values_) {
      use(value.document, value.field, std::string_view(value_bytes_).substr(start, value.end - start));
      start = value.end;
    }
  }

 private:
  struct Ends {
    std::size_t id, text, metadata;  // one past the last byte
  };
  struct Value {
    std::uint32_t document, field;
    std::size_t end;
  };
  std::size_t append(std::string_view bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return bytes_.size();
  }
  std::size_t append_value(std::string_view bytes) {
    value_bytes_ += bytes;
    return value_bytes_.size();
  }

  std::vector<char> bytes_;
  std::vector<Ends> ends_;
  std::string value_bytes_;
  std::vector<Value> values_;
};

}  // namespace relucent::segment
