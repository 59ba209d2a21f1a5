#include "sys/inventory.h"

#include <unistd.h>

namespace cb {
namespace {

Part system_part(const FsRoot& fs) {
  Part part{.kind = "system", .id = "0"};
  if (const auto kernel = fs.text("/proc/sys/kernel/osrelease"))
    part.attributes["kernel"] = *kernel;
  return part;
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

HostInventory collect_inventory(const FsRoot& fs, const std::string& host) {
  return {.host = host, .parts = {system_part(fs)}};
}

}  // namespace cb
