#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Numbers and texts in SSH's format (RFC 4251, section 5). A number has 32 bits, most significant
// first; a text is its length and its bytes.
namespace cb {

inline void append_ssh_number(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

inline void append_ssh_text(std::string& out, std::string_view text) {
  append_ssh_number(out, static_cast<uint32_t>(text.size()));
  out += text;
}

// Reads the next number or text; returns nothing beyond the end.
class SshReader {
 public:
  explicit SshReader(std::string_view bytes) : rest_(bytes) {}

  std::optional<uint32_t> number() {
    if (rest_.size() < 4) return std::nullopt;
    uint32_t out = 0;
    for (size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(4);
    return out;
  }
  std::optional<std::string_view> text() {
    const auto size = number();
    if (!size || rest_.size() < *size) return std::nullopt;
    const std::string_view out = rest_.substr(0, *size);
    rest_.remove_prefix(*size);
    return out;
  }

 private:
  std::string_view rest_;
};

}  // namespace cb
