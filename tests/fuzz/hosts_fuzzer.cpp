// Any bytes as --hosts, as a hostfile and as Slurm's variables: refused as bad input, or hosts with
// names that a launcher can take and at least one slot each.
#include <cstddef>
#include <cstdint>
#include <map>

#include "campaign/hosts.h"
#include "core/error.h"
#include "tests/fuzz/memory_directory.h"

namespace {

template <typename Parse>
void hosts_of(Parse parse, const std::string& input) {
  try {
    for (const cb::HostSlots& h : parse()) {
      if (h.name.empty() || h.slots < 1) fuzz::finding("a host without name or slot", input);
      if (h.name.front() == '-' || h.name.find_first_of(" ,;$`'\"\\\n") != std::string::npos)
        fuzz::finding("a name that a launcher would take for something else", input);
    }
  } catch (const cb::UsageError&) {  // refused in words
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  hosts_of([&] { return cb::parse_hosts(text); }, text);
  hosts_of([&] { return cb::parse_hostfile(text, "fuzz"); }, text);
  const size_t line = std::min(text.find('\n'), text.size());
  const std::map<std::string, std::string> slurm{{"SLURM_JOB_ID", "1"},
                                                 {"SLURM_JOB_NODELIST", text.substr(0, line)},
                                                 {"SLURM_TASKS_PER_NODE", text.substr(line)}};
  const cb::Environment environment = [&](const std::string& name) {
    const auto found = slurm.find(name);
    return found == slurm.end() ? std::nullopt : std::optional(found->second);
  };
  hosts_of([&] { return cb::slurm_hosts(environment).value_or(std::vector<cb::HostSlots>{}); },
           text);
  return 0;
}
