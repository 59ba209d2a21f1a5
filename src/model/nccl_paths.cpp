#include "model/nccl_paths.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace cb {
namespace {

// Reads from the beginning of the remaining text.
class PathReader {
 public:
  explicit PathReader(std::string_view text) : left_(text) {}

  bool skip(std::string_view expected) {
    if (!left_.starts_with(expected)) return false;
    left_.remove_prefix(expected.size());
    return true;
  }
  // Drops everything up to and with the mark; false if it is not there.
  bool skip_past(std::string_view mark) {
    const size_t at = left_.find(mark);
    if (at == std::string_view::npos) return false;
    left_.remove_prefix(at + mark.size());
    return true;
  }
  std::optional<int> number() {
    int out = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), out);
    if (error != std::errc() || out < 0) return std::nullopt;
    left_.remove_prefix(static_cast<size_t>(end - left_.data()));
    return out;
  }
  std::optional<std::string> up_to(char mark) {
    const size_t at = left_.find(mark);
    if (at == std::string_view::npos || at == 0) return std::nullopt;
    std::string out(left_.substr(0, at));
    left_.remove_prefix(at + 1);
    return out;
  }

 private:
  std::string_view left_;
};

// "8[0]" or "8[1b000]": the rank and its GPU.
std::optional<int> rank_with_gpu(PathReader& r) {
  const auto rank = r.number();
  if (!rank || !r.skip("[") || !r.skip_past("]")) return std::nullopt;
  return rank;
}

// "IB/3(5)/GDRDMA(PCI)/Shared", behind "NET/" or "COLLNET/".
bool read_network(PathReader& r, NcclPath& out) {
  const auto name = r.up_to('/');
  if (!name || !r.number()) return false;
  out.network = *name;
  if (r.skip("(")) {
    out.proxy = r.number();
    if (!out.proxy || !r.skip(")")) return false;
  }
  out.gpu_direct = r.skip("/GDRDMA");
  return true;
}

bool read_way(PathReader& r, NcclPath& out) {
  if (r.skip("P2P/")) {
    out.way = r.skip("MNNVL") ? NcclWay::domain : NcclWay::peer;
    return true;
  }
  if (r.skip("SHM/") || r.skip("direct shared memory")) {
    out.way = NcclWay::host;
    return true;
  }
  out.way = NcclWay::network;
  return r.skip("NET/") && read_network(r, out);
}

// What stands behind "Channel ".
std::optional<NcclPath> read_channel(PathReader r) {
  NcclPath out;
  if (!r.number() || !r.skip_past(": ")) return std::nullopt;
  const auto from = rank_with_gpu(r);
  if (!from || !r.skip(" -> ")) return std::nullopt;
  const auto to = rank_with_gpu(r);
  if (!to) return std::nullopt;
  out.sends = !r.skip(" [receive]");
  if (out.sends) r.skip(" [send]");
  out.rank = out.sends ? *from : *to;
  out.peer = out.sends ? *to : *from;
  if (!r.skip(" via ") || !read_way(r, out)) return std::nullopt;
  return out;
}

// What stands behind "CollNet ".
std::optional<NcclPath> read_collnet(PathReader r) {
  NcclPath out{.way = NcclWay::in_network};
  if (!r.number() || !r.skip_past(": ")) return std::nullopt;
  const auto rank = r.number();
  if (!rank) return std::nullopt;
  out.rank = *rank;
  out.sends = !r.skip(" [receive]");
  if (out.sends && !r.skip(" [send]")) return std::nullopt;
  if (!r.skip(" via COLLNET/") || !read_network(r, out)) return std::nullopt;
  return out;
}

// "… 32 coll channels, 32 collnet channels, 16 nvls channels, 32 p2p channels, …"
std::optional<int> nvls_channels_of(std::string_view line) {
  constexpr std::string_view kMark = " nvls channels";
  const size_t at = line.find(kMark);
  if (at == std::string_view::npos || line.find(" coll channels") == std::string_view::npos)
    return std::nullopt;
  const size_t begin = line.substr(0, at).find_last_not_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  return PathReader(line.substr(begin + 1)).number();
}

}  // namespace

std::optional<NcclPath> parse_path_line(std::string_view line) {
  constexpr std::string_view kChannel = " Channel ", kCollnet = " CollNet ";
  if (const size_t at = line.find(kChannel); at != std::string_view::npos)
    return read_channel(PathReader(line.substr(at + kChannel.size())));
  if (const size_t at = line.find(kCollnet); at != std::string_view::npos)
    return read_collnet(PathReader(line.substr(at + kCollnet.size())));
  return std::nullopt;
}

void NcclPaths::add(const NcclPath& path) {
  switch (path.way) {
    case NcclWay::peer:
      ++peer;
      return;
    case NcclWay::domain:
      ++domain;
      return;
    case NcclWay::host:
      ++host;
      return;
    case NcclWay::in_network:
      ++in_network;
      in_network_gpu_direct += path.gpu_direct ? 1 : 0;
      break;
    case NcclWay::network:
      ++network;
      sockets += path.network == "Socket" ? 1 : 0;
      gpu_direct += path.gpu_direct ? 1 : 0;
      pxn += path.proxy ? 1 : 0;
  }
  ++networks[path.network];
}

std::optional<double> NcclPaths::gpu_direct_share() const {
  if (network == 0) return std::nullopt;
  return static_cast<double>(gpu_direct) / network;
}

void read_paths(std::string_view log, NcclPaths& into) {
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (const auto path = parse_path_line(line)) into.add(*path);
    if (const auto channels = nvls_channels_of(line))
      into.nvls_channels = std::max(*channels, into.nvls_channels.value_or(0));
  }
}

std::string to_text(const NcclPaths& p) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (p.peer > 0) add(fmt::format("P2P {}", p.peer));
  if (p.domain > 0) add(fmt::format("P2P/MNNVL {}", p.domain));
  if (p.host > 0) add(fmt::format("SHM {}", p.host));
  for (const auto& [name, count] : p.networks) add(fmt::format("{} {}", name, count));
  if (p.network > 0) {
    const std::string pxn = p.pxn > 0 ? fmt::format(", PXN {}", p.pxn) : "";
    add(fmt::format("GPUDirect RDMA {} of {}{}", p.gpu_direct, p.network, pxn));
  }
  if (p.nvls_channels.value_or(0) > 0) add(fmt::format("NVLS {} channels", *p.nvls_channels));
  return out;
}

}  // namespace cb
