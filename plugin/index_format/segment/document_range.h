#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace relucent::segment {

/// Consecutive documents that become one segment: their ids and texts as given.
class DocumentRange {
 public:
  struct Document {
    std::string_view id, text;
  };

  void add(std::string_view id, std::string_view text) { ends_.push_back({append(id), append(text)}); }
  std::size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  std::size_t bytes() const { return bytes_.size(); }
  Document operator[](std::size_t i) const {
    const std::size_t start = i == 0 ? 0 : ends_[i - 1].text;
    const std::string_view all(bytes_.data(), bytes_.size());
    return {all.substr(start, ends_[i].id - start), all.substr(ends_[i].id, ends_[i].text - ends_[i].id)};
  }

 private:
  struct Ends {
    std::size_t id, text;  // one past the last byte
  };
  std::size_t append(std::string_view bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return bytes_.size();
  }

  std::vector<char> bytes_;
  std::vector<Ends> ends_;
};

}  // namespace relucent::segment
