#include "model/nccl_tuning.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <tuple>

#include <fmt/format.h>

namespace cb {
namespace {

// In the order of NCCL's numbers: src/include/nccl_common.h (NCCL_ALGO_*, NCCL_PROTO_*).
constexpr std::array kAlgorithms{"tree",      "ring", "collnet_direct", "collnet_chain", "nvls",
                                 "nvls_tree", "pat"};
constexpr std::array kProtocols{"ll", "ll128", "simple"};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Reads words and numbers from the beginning of the remaining text.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  bool skip(std::string_view expected) {
    if (!left_.starts_with(expected)) return false;
    left_.remove_prefix(expected.size());
    return true;
  }
  std::string_view word() {
    const size_t end = std::min(left_.find_first_of(" \r\n"), left_.size());
    const std::string_view out = left_.substr(0, end);
    left_.remove_prefix(end);
    skip(" ");
    return out;
  }
  template <typename T>
  std::optional<T> number() {
    T out{};
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), out);
    if (error != std::errc()) return std::nullopt;
    left_.remove_prefix(static_cast<size_t>(end - left_.data()));
    return out;
  }

 private:
  std::string_view left_;
};

// Returns a name as it is, and a number as the name with that number; "" if there is none.
template <size_t N>
std::string named(std::string_view word, const std::array<const char*, N>& names) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
  if (error != std::errc() || end != word.data() + word.size()) return lower(word);
  return index < N ? names[index] : "";
}

bool read_choice(Reader r, TuningChoice& out) {
  if (r.skip("Kernel ")) {
    out.algorithm = "symmetric " + std::string(r.word());
    if (r.skip("nchannels ")) out.channels = r.number<int>();
    return true;
  }
  if (!r.skip("Algo ")) return false;
  out.algorithm = named(r.word(), kAlgorithms);
  if (!r.skip("proto ")) return false;
  out.protocol = named(r.word(), kProtocols);
  if (r.skip("channel{Lo..Hi}={")) {
    const auto low = r.number<int>();
    const bool dots = r.skip("..");
    const auto high = r.number<int>();
    if (low && dots && high && *high >= *low) out.channels = *high - *low + 1;
  } else if (r.skip("time ")) {
    // NCCL prints microseconds.
    if (const auto time = r.number<double>()) out.seconds = *time * 1e-6;
  }
  return !out.algorithm.empty() && !out.protocol.empty();
}

// Reads "AllReduce: 1024" or "1024", the text before " Bytes -> ".
bool read_call(std::string_view before, TuningChoice& out) {
  const size_t space = before.rfind(' ');
  Reader digits(before.substr(space == std::string_view::npos ? 0 : space + 1));
  const auto bytes = digits.number<uint64_t>();
  if (!bytes || !digits.word().empty()) return false;
  out.bytes = *bytes;
  if (space == std::string_view::npos) return true;
  before = before.substr(0, space);
  if (!before.ends_with(':')) return true;
  before.remove_suffix(1);
  constexpr std::string_view kSymmetric = " [Symmetric]";
  if (before.ends_with(kSymmetric)) before.remove_suffix(kSymmetric.size());
  const size_t begin = before.rfind(' ');
  out.function = before.substr(begin == std::string_view::npos ? 0 : begin + 1);
  return true;
}

auto key(const TuningChoice& c) {
  return std::tie(c.function, c.bytes, c.algorithm, c.protocol, c.channels);
}

}  // namespace

std::optional<TuningChoice> parse_tuning_line(std::string_view line) {
  constexpr std::string_view kArrow = " Bytes -> ";
  const size_t arrow = line.find(kArrow);
  if (arrow == std::string_view::npos) return std::nullopt;
  TuningChoice out;
  if (!read_call(line.substr(0, arrow), out)) return std::nullopt;
  if (!read_choice(Reader(line.substr(arrow + kArrow.size())), out)) return std::nullopt;
  return out;
}

std::vector<TuningChoice> parse_tuning_log(std::string_view log) {
  std::vector<TuningChoice> out;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    const auto choice = parse_tuning_line(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
    if (!choice) continue;
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const TuningChoice& c) { return key(c) == key(*choice); });
    if (!known) out.push_back(*choice);
  }
  return out;
}

std::string to_text(const TuningChoice& c) {
  std::string out = c.algorithm;
  if (!c.protocol.empty()) out += " " + c.protocol;
  if (c.channels) out += fmt::format(", {} channel{}", *c.channels, *c.channels == 1 ? "" : "s");
  return out;
}

}  // namespace cb
