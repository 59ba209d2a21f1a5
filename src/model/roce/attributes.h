#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace cb {

// Walks over netlink attributes (length, type, value, padding to 4 bytes; in this machine's byte
// order). Ends at the first one that does not fit.
class AttributeWalk {
 public:
  struct One {
    unsigned type = 0;
    std::string_view value;
  };
  explicit AttributeWalk(std::string_view bytes) : rest_(bytes) {}

  std::optional<One> next() {
    constexpr size_t kHead = 4;
    constexpr unsigned kFlags = 0xc000;  // nested, of network byte order
    if (rest_.size() < kHead) return std::nullopt;
    const size_t length = word(rest_, 0);
    if (length < kHead || length > rest_.size()) return std::nullopt;
    const One out{word(rest_, 2) & ~kFlags, rest_.substr(kHead, length - kHead)};
    const size_t padded = (length + 3) / 4 * 4;
    rest_.remove_prefix(padded < rest_.size() ? padded : rest_.size());
    return out;
  }

  // The first attribute of that type; nothing if there is none.
  static std::optional<std::string_view> find(std::string_view bytes, unsigned type) {
    AttributeWalk walk(bytes);
    for (auto one = walk.next(); one; one = walk.next()) {
      if (one->type == type) return one->value;
    }
    return std::nullopt;
  }

  // A number of 2 or 4 bytes in this machine's byte order; the bytes must be there.
  static unsigned word(std::string_view bytes, size_t at) {
    uint16_t out = 0;
    std::memcpy(&out, bytes.data() + at, sizeof out);
    return out;
  }
  static uint32_t long_word(std::string_view bytes, size_t at) {
    uint32_t out = 0;
    std::memcpy(&out, bytes.data() + at, sizeof out);
    return out;
  }

 private:
  std::string_view rest_;
};

}  // namespace cb
