#include "bench/network/verbs/address.h"

#include <sstream>

#include <fmt/format.h>

#include "core/error.h"

namespace cb::verbs {

std::string Address::text() const {
  std::string gid_text;
  for (const uint8_t b : gid) gid_text += fmt::format("{:02x}", b);
  std::string out_text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", lid, global ? 1 : 0, gid_text, mtu,
                  sequence, key, out, in, reads, control, ethernet ? 1 : 0, pairs.size());
  for (const uint32_t number : pairs) out_text += fmt::format(" {}", number);
  return out_text + " " + name;
}

Address Address::parse(const std::string& text) {
  std::istringstream in(text);
  Address a;
  std::string gid_text;
  size_t count = 0;
  in >> a.lid >> a.global >> gid_text >> a.mtu >> a.sequence >> a.key >> a.out >> a.in >> a.reads >>
      a.control >> a.ethernet >> count;
  if (in && gid_text.size() == 32 && count <= 65536) {
    for (size_t i = 0; i < 16; ++i)
      a.gid[i] = static_cast<uint8_t>(std::stoul(gid_text.substr(2 * i, 2), nullptr, 16));
    a.pairs.resize(count);
    for (uint32_t& number : a.pairs) in >> number;
    if (in) {
      std::getline(in >> std::ws, a.name);
      return a;
    }
  }
  throw Error("malformed connection data from the other end: '" + text + "'");
}

}  // namespace cb::verbs
