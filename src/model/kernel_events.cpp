#include "model/kernel_events.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/units.h"
#include "model/xid.h"

namespace cb {
namespace {

// A line is of this kind if it has both texts.
struct Phrase {
  std::string_view one, other;
  std::string_view kind;
};

// As the kernel's sources (6.1) and the drivers of NVIDIA, Mellanox and Intel print them; the first
// that fits decides.
constexpr std::array kPhrases{
    Phrase{"EDAC ", " UE ", "memory_uncorrected"},
    Phrase{"EDAC ", " CE ", "memory_corrected"},
    Phrase{"Memory failure: ", "", "memory_uncorrected"},
    Phrase{"mce: ", "Hardware Error", "machine_check"},
    Phrase{"[Hardware Error]", "event severity: fatal", "machine_check"},
    Phrase{"[Hardware Error]", "event severity: recoverable", "machine_check"},
    Phrase{"Machine check events logged", "", "machine_check"},
    Phrase{"PCIe Bus Error: severity=Corrected", "", "pcie_error"},
    Phrase{"PCIe Bus Error: severity=Uncorrected", "", "pcie_fatal"},
    Phrase{"AER: Uncorrected", "error received", "pcie_fatal"},
    Phrase{"NVRM: ", "has fallen off the bus", "xid"},
    Phrase{"BUG: unable to handle ", "", "kernel_fault"},
    Phrase{"kernel BUG at ", "", "kernel_fault"},
    Phrase{"Kernel panic", "", "kernel_fault"},
    Phrase{"Oops: ", "", "kernel_fault"},
    Phrase{"mlx5_core ", "Fatal error", "device_error"},
    Phrase{"mlx5_core ", "health compromised", "device_error"},
    Phrase{"pciehp: ", "Link Down", "link_down"},
    Phrase{"nvme", "timeout, aborting", "drive_reset"},
    Phrase{"nvme", "controller is down", "drive_reset"},
    Phrase{"nvme", "resetting controller", "drive_reset"},
    Phrase{"nvme", ", reset controller", "drive_reset"},
    Phrase{"nvme", "Device not ready", "drive_reset"},
    Phrase{"I/O error, dev ", "", "drive_error"},
    Phrase{"critical medium error, dev ", "", "drive_error"},
    Phrase{"critical target error, dev ", "", "drive_error"},
    Phrase{"Buffer I/O error on dev", "", "drive_error"},
    Phrase{"md/raid", "Disk failure", "drive_error"},
    Phrase{"ata", ": failed command: ", "drive_error"},
    Phrase{"BTRFS error", "", "file_system_error"},
    Phrase{"BTRFS critical", "", "file_system_error"},
    Phrase{"nfs: server ", "not responding", "server_unreachable"},
    Phrase{"EXT4-fs error", "", "file_system_error"},
    Phrase{"XFS (", "orruption", "file_system_error"},
    Phrase{"XFS (", "metadata I/O error", "file_system_error"},
    Phrase{"LustreError:", "", "file_system_error"},
    Phrase{"Remounting filesystem read-only", "", "file_system_error"},
    Phrase{"Link is Down", "", "link_down"},
    Phrase{"mlx", "Link down", "link_down"},
    Phrase{"clock throttled", "temperature", "throttling"},
    Phrase{"temperature above threshold", "", "throttling"},
    Phrase{"Out of memory: Killed process", "", "out_of_memory"},
    Phrase{"Memory cgroup out of memory", "", "out_of_memory"},
    Phrase{"soft lockup", "", "lockup"},
    Phrase{"hard LOCKUP", "", "lockup"},
    Phrase{"rcu: INFO: ", "detected stall", "lockup"},
    Phrase{"INFO: task ", "blocked for more than", "lockup"},
    Phrase{"segfault at ", "", "program_fault"},
    Phrase{"general protection fault", "", "program_fault"},
    Phrase{"traps: ", "", "program_fault"},
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The number in front of the comma, which is taken away with it; nothing if there is none.
std::optional<uint64_t> take_number(std::string_view& rest) {
  const size_t comma = rest.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto number = parse_integer(rest.substr(0, comma));
  rest.remove_prefix(comma + 1);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

void add_line(KernelEvents& out, std::string_view line) {
  const size_t semicolon = line.find(';');
  if (line.empty() || line.front() == ' ' || semicolon == std::string_view::npos) return;
  std::string_view head = line.substr(0, semicolon);
  const auto priority = take_number(head), sequence = take_number(head), time = take_number(head);
  if (!priority || !sequence || !time) return;
  const double seconds = static_cast<double>(*time) * 1e-6;
  if (out.messages++ == 0) {
    out.first = *sequence;
    out.first_seconds = seconds;
  }
  out.last = *sequence;
  const std::string_view text = line.substr(semicolon + 1);
  const std::string_view kind = kernel_event_kind(text);
  if (!kind.empty())
    out.lines.push_back({std::string(kind), *sequence, seconds, std::string(text)});
}

}  // namespace

std::string_view kernel_event_kind(std::string_view text) {
  if (const auto xids = parse_xids(text); !xids.empty())
    return classify_xid(xids.front().xid) == XidKind::application ? "xid_of_program" : "xid";
  const auto found = std::ranges::find_if(
      kPhrases, [&](const Phrase& p) { return has(text, p.one) && has(text, p.other); });
  return found == kPhrases.end() ? std::string_view() : found->kind;
}

KernelEvents kernel_events(std::string_view log) {
  KernelEvents out;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    add_line(out, log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return out;
}

}  // namespace cb
