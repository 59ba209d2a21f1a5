#include "model/fabric/net_builder.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/error.h"

namespace cb {

std::optional<size_t> NetBuilder::find(uint64_t guid) const {
  const auto at = by_guid_.find(guid);
  return at == by_guid_.end() ? std::nullopt : std::optional(at->second);
}

size_t NetBuilder::node(uint64_t guid, NetNodeKind kind, const std::string& name, int ports) {
  const auto [at, fresh] = by_guid_.try_emplace(guid, net.nodes.size());
  if (fresh) {
    const char letter = kind == NetNodeKind::network_switch ? 'S'
                        : kind == NetNodeKind::adapter      ? 'H'
                                                            : 'R';
    const std::string id = fmt::format("{}-{:016x}", letter, guid);
    net.nodes.push_back({.id = id, .kind = kind, .name = id, .guid = guid});
  }
  NetNode& out = net.nodes[at->second];
  if (!name.empty()) out.name = name;
  if (ports > 0) out.ports = ports;
  return at->second;
}

void NetBuilder::tell(const NetEnd& from, const NetEnd& to, const std::optional<LinkRate>& rate,
                      const std::optional<LinkRate>& could) {
  NetLink& link = told_.try_emplace(from, NetLink{from, to, {}, {}}).first->second;
  if (!link.rate) link.rate = rate;
  if (!link.could) link.could = could;
}

Net NetBuilder::finish() {
  for (auto& [from, link] : told_) {
    const auto back = told_.find(link.b);
    if (back == told_.end() || back->second.b != from) continue;
    if (!link.rate) link.rate = back->second.rate;
    if (!link.could) link.could = back->second.could;
  }
  join_ends(net, told_);
  derive_possible_rates(net);
  return std::move(net);
}

void each_line(std::string_view text,
               const std::function<void(std::string_view line, size_t number)>& take) {
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    take(line, ++number);
  }
}

std::vector<std::string> words_of_line(std::string_view line) {
  std::vector<std::string> out;
  for (size_t at = 0; at < line.size();) {
    const size_t begin = line.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) break;
    const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    out.emplace_back(line.substr(begin, end - begin));
    at = end;
  }
  return out;
}

std::optional<uint64_t> parse_hex(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  uint64_t out = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  if (code != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return out;
}

void refuse_line(const std::string& file, size_t line, const Said& why) {
  throw UsageError(file, fmt::format("line {}", line), why);
}

}  // namespace cb
