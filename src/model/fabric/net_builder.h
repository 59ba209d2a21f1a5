// What the readers of files and join_nets() share.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/fabric/net.h"

namespace cb {

class NetBuilder {
 public:
  Net net;

  // The node with that GUID, which is added if it is new. A name or model that is not empty, and
  // ports, stand.
  size_t node(uint64_t guid, NetNodeKind kind, const std::string& name = "", int ports = 0);
  std::optional<size_t> find(uint64_t guid) const;
  // One end says that its link leads there. A rate that is known stays.
  void tell(const NetEnd& from, const NetEnd& to, const std::optional<LinkRate>& rate = {},
            const std::optional<LinkRate>& could = {});
  // Makes links of what was told, with what both ends can do.
  Net finish();

 private:
  std::map<uint64_t, size_t> by_guid_;
  std::map<NetEnd, NetLink> told_;
};

// Calls `take` with each line and its number from 1, without its end.
void each_line(std::string_view text,
               const std::function<void(std::string_view line, size_t number)>& take);
std::vector<std::string> words_of_line(std::string_view line);
// "0x001f", "1f" as hexadecimal; nothing for another text.
std::optional<uint64_t> parse_hex(std::string_view text);
[[noreturn]] void refuse_line(const std::string& file, size_t line, const Said& why);

}  // namespace cb
