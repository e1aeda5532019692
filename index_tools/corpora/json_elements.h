#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/corpora/byte_stream.h"
#include "index_tools/corpora/read_report.h"

namespace relucent::index_tools {

/// The elements of one array in a JSON text of any size, or a sequence of JSON values, each as its own text.
/// Holds one element at a time. Looks only at brackets and strings, so elements that are not JSON are also passed on.
/// Malformed UTF-8 is replaced by U+FFFD and counted. One thread at a time.
class JsonElements {
 public:
  /// `bytes`, `part` and `report` outlive this; `part` names the text in errors.
  /// @param member  the member of the outermost object that is the array; empty if the text is an array or values
  JsonElements(ByteStream& bytes, const std::string& part, ReadReport& report, std::string member);

  /// False at the end. Throws Error `invalid_data` if the member is missing or not an array, if the text ends inside an
  /// element or the array, and for an element over 64 MiB.
  bool next(std::string& element);
  /// Number, from 1, of the last element that next() returned.
  std::int64_t number() const { return number_; }

 private:
  int peek();
  char take();
  void skip_white();
  void enter();
  void find_member();
  std::string read_value();
  std::size_t span_within(bool in_string) const;
  [[noreturn]] void fail(const std::string& problem) const;

  ByteStream& bytes_;
  const std::string& part_;
  ReadReport& report_;
  std::string member_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t line_ = 1, number_ = 0;
  bool entered_ = false, in_array_ = false, ended_ = false;
};

}  // namespace relucent::index_tools
