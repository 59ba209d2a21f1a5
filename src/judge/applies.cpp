#include "judge/applies.h"

#include <algorithm>

namespace cb {
namespace {

NeedsFit check_hosts(size_t wanted, size_t hosts) {
  if (hosts >= wanted) return {};
  return {Fit::unmet, Message{"need.hosts", {std::to_string(wanted), std::to_string(hosts)}}};
}

NeedsFit check_hosts_at_most(size_t most, size_t hosts) {
  if (hosts <= most) return {};
  return {Fit::unmet, Message{"need.hosts_at_most", {std::to_string(most), std::to_string(hosts)}}};
}

NeedsFit check_kind(const std::string& kind, size_t wanted, size_t hosts,
                    const std::vector<HostInventory>& inventories) {
  const HostInventory* lacking = nullptr;
  size_t meeting = 0;
  for (const HostInventory& inventory : inventories) {
    if (inventory.all(kind).size() >= wanted)
      ++meeting;
    else if (lacking == nullptr)
      lacking = &inventory;
  }
  const std::string needed = std::to_string(wanted);
  if (inventories.size() < hosts) {
    return {Fit::unknown, Message{"need.unknown",
                                  {needed, kind, std::to_string(hosts - inventories.size()),
                                   std::to_string(hosts)}}};
  }
  if (lacking == nullptr) return {};
  const size_t found = lacking->all(kind).size();
  return {meeting == 0 ? Fit::unmet : Fit::mixed,
          found == 0 ? Message{"need.none", {needed, kind, lacking->host}}
                     : Message{"need.lacks", {needed, kind, lacking->host, std::to_string(found)}}};
}

int rank(Fit fit) {
  switch (fit) {
    case Fit::met:
      return 0;
    case Fit::unknown:
      return 1;
    case Fit::mixed:
      return 2;
    case Fit::unmet:
      return 3;
  }
  return 0;
}

}  // namespace

NeedsFit check_needs(const Requirements& needs, size_t hosts,
                     const std::vector<HostInventory>& inventories) {
  NeedsFit out;
  for (const auto& [kind, count] : needs) {
    const auto wanted = static_cast<size_t>(count);
    const NeedsFit fit = kind == "hosts"           ? check_hosts(wanted, hosts)
                         : kind == "hosts_at_most" ? check_hosts_at_most(wanted, hosts)
                                                   : check_kind(kind, wanted, hosts, inventories);
    if (rank(fit.fit) > rank(out.fit)) out = fit;
  }
  return out;
}

}  // namespace cb
