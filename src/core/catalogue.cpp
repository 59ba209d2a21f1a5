#include "core/catalogue.h"

namespace cb {

const CaseInfo* find_case(const Catalogue& catalogue, std::string_view name,
                          std::string_view device) {
  for (const CaseInfo& info : catalogue) {
    if (info.name == name && (device.empty() || info.device == device)) return &info;
  }
  return nullptr;
}

}  // namespace cb
