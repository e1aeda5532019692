#include "plugin/index_format/token_ids.h"

#include <vector>

#include "relucent/model/tokenizer.h"

namespace relucent {
namespace {

constexpr std::uint8_t kMore = 1, kFourBytes = 2;

template <int size>
void write(const std::vector<std::int32_t>& ids, std::string& bytes) {
  for (const std::int32_t id : ids) {
    for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(static_cast<std::uint32_t>(id) >> 8 * i));
  }
}

}  // namespace

void write_token_ids(const TokenIdEncoder& maker, std::string_view text, std::string& bytes) {
  std::vector<std::int32_t> ids;
  const bool more = maker.tokenizer->encode(text, static_cast<std::size_t>(maker.most), ids);
  const bool four = maker.tokenizer->vocabulary_size() > 1 << 16;
  bytes.assign(1, static_cast<char>((more ? kMore : 0) | (four ? kFourBytes : 0)));
  bytes.reserve(1 + ids.size() * (four ? 4 : 2));
  four ? write<4>(ids, bytes) : write<2>(ids, bytes);
}

}  // namespace relucent
