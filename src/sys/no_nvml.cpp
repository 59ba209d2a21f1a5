#include "sys/nvml.h"

namespace cb::nvml {

struct Table {};

std::variant<Library, Absent> open() {
  return Absent{
      "this clusterbench was built without nvml.h: run ci/nvml-header.sh and build again"};
}
std::string last_call() { return "no NVML"; }

Library::Library(std::shared_ptr<const Table> table) : table_(std::move(table)) {}
std::vector<Gpu> Library::gpus() const { return {}; }
std::string Library::driver_version() const { return ""; }
void Library::describe(const Gpu&, Part&) const {}
Topology Library::topology(const std::vector<Gpu>&) const { return {}; }
Readings Library::health(const Gpu&) const { return {}; }
Readings Library::now(const Gpu&) const { return {}; }
Readings Library::counters(const Gpu&) const { return {}; }
std::optional<double> Library::power_limit_watts(const Gpu&) const { return std::nullopt; }

XidWatch::XidWatch(const Library& library, const std::vector<Gpu>& gpus)
    : table_(library.table_), gpus_(gpus) {}
XidWatch::~XidWatch() = default;
std::vector<XidEvent> XidWatch::take() { return {}; }

}  // namespace cb::nvml
