#include "plugin/index_format/token_ids.h"

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

template <int size>
void read(std::string_view bytes, std::int32_t* ids) {
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    std::uint32_t id = 0;
    for (std::size_t i = 0; i < size; ++i) id |= std::uint32_t{static_cast<std::uint8_t>(bytes[at + i])} << 8 * i;
    *ids++ = static_cast<std::int32_t>(id);
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

bool read_token_ids(std::string_view bytes, std::vector<std::int32_t>& ids, bool& all) {
  if (bytes.empty()) return false;
  const auto how = static_cast<std::uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  const std::size_t size = (how & kFourBytes) != 0 ? 4 : 2;
  if ((how & ~(kMore | kFourBytes)) != 0 || bytes.size() % size != 0) return false;
  all = (how & kMore) == 0;
  const std::size_t before = ids.size();
  ids.resize(before + bytes.size() / size);
  size == 4 ? read<4>(bytes, ids.data() + before) : read<2>(bytes, ids.data() + before);
  return true;
}

}  // namespace relucent
