#include "bench/harness/oob/frames.h"

#include <array>

namespace cb {
namespace {

constexpr size_t kHeader = 5;

size_t length_at(const std::string& bytes) {
  size_t out = 0;
  for (size_t i = 0; i < 4; ++i)
    out |= static_cast<size_t>(static_cast<unsigned char>(bytes[1 + i])) << (8 * i);
  return out;
}

}  // namespace

void FrameLink::queue(char kind, std::string_view body) {
  out_.erase(0, sent_);
  sent_ = 0;
  out_ += kind;
  for (size_t i = 0; i < 4; ++i) out_ += static_cast<char>(body.size() >> (8 * i) & 0xff);
  out_ += body;
}

bool FrameLink::flush() {
  while (has_output()) {
    const long n = write_some(socket_, std::string_view(out_).substr(sent_));
    if (n < 0) return false;
    if (n == 0) return true;
    sent_ += static_cast<size_t>(n);
  }
  return true;
}

bool FrameLink::fill() {
  std::array<char, 65536> piece;
  for (;;) {
    const long n = read_some(socket_, piece.data(), piece.size());
    if (n < 0) return false;
    if (n == 0) return true;
    in_.append(piece.data(), static_cast<size_t>(n));
    if (in_.size() >= kHeader && length_at(in_) > longest_) return false;
    if (in_.size() > longest_ + kHeader) return true;  // the rest later
  }
}

std::optional<Frame> FrameLink::next() {
  if (in_.size() < kHeader || in_.size() < kHeader + length_at(in_)) return std::nullopt;
  Frame out{in_[0], in_.substr(kHeader, length_at(in_))};
  in_.erase(0, kHeader + out.body.size());
  return out;
}

}  // namespace cb
