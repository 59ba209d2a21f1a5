#include "bench/network/optics/read_modules.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/json/json_text.h"
#include "core/units.h"
#include "sys/net/module_eeprom.h"

namespace cb::net {
namespace {

using nlohmann::json;

constexpr size_t kHalf = 128;  // bytes of a page

std::string hex_of(const std::string& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

// Bytes of hexadecimal digits; what is none ends them.
std::string bytes_of(const std::string& hex) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    const size_t high = kDigits.find(hex[i]), low = kDigits.find(hex[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) break;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

ModuleMemory memory_of_text(const std::string& text) {
  ModuleMemory out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first, second, third;
    words >> first >> second >> third;
    const auto bank = parse_integer(first), page = parse_integer(second);
    if (first == "lower")
      out.lower = bytes_of(second);
    else if (bank && page)
      out.pages[{static_cast<int>(*bank), static_cast<int>(*page)}] = bytes_of(third);
  }
  return out;
}

ModuleMemory memory_of_machine(const std::string& port) {
  ModuleMemory out;
  out.lower = read_module_bytes(port, 0, 0, 0, kHalf);
  for (const auto& [bank, page] : pages_to_read(out.lower)) {
    try {
      out.pages[{bank, page}] = read_module_bytes(port, bank, page, kHalf, kHalf);
    } catch (const Error&) {
      if (page == 0) throw;  // other pages are optional: what they would tell is absent
    }
  }
  return out;
}

// ---- counters ----

struct ModuleCounts {
  FecCounts fec = {};
  std::optional<double> downs = {};
};

ModuleCounts counts_of(const FsRoot& fs, const std::string& port) {
  ModuleCounts out;
  const auto downs = fs.integer("/sys/class/net/" + port + "/carrier_down_count");
  if (downs) out.downs = static_cast<double>(*downs);
  if (!fs.is_machine()) return out;
  try {
    out.fec = read_fec_counts(port);
  } catch (const Error&) {
    // The driver does not count: error_rate and uncorrectable are not judged for this port.
  }
  return out;
}

std::optional<double> grown(const std::optional<uint64_t>& before,
                            const std::optional<uint64_t>& after) {
  if (!before || !after || *after < *before) return std::nullopt;
  return static_cast<double>(*after - *before);
}

std::vector<std::string> physical_ports(const FsRoot& fs) {
  std::vector<std::string> out;
  const std::string net = "/sys/class/net/";
  for (const std::string& name : fs.entries(net)) {
    constexpr int kEthernet = 1;  // ARPHRD_ETHER
    if (fs.exists(net + name + "/device") && fs.integer(net + name + "/type") == kEthernet)
      out.push_back(name);
  }
  return out;
}

void read_memory(const FsRoot& fs, ReadModule& module) {
  try {
    if (fs.is_machine()) {
      module.memory = memory_of_machine(module.fitted.port);
    } else if (const auto text = fs.text("/netlink/" + module.fitted.port + ".module")) {
      module.memory = memory_of_text(*text);
    }
  } catch (const Error& e) {
    module.fitted.why_not = said("optics.no_answer", e.said());
  }
}

void wait_window(Context& context, double seconds) {
  const double until = monotonic_seconds() + seconds;
  const Watchdog::Bounded step(context.watchdog, seconds + 30);
  while (monotonic_seconds() < until && !context.cancel.cancelled())
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

void count_window(Context& context, double window_seconds, std::vector<ReadModule>& modules) {
  if (window_seconds <= 0) return;
  std::vector<ModuleCounts> before;
  for (const ReadModule& m : modules) before.push_back(counts_of(context.fs, m.fitted.port));
  const double begin = monotonic_seconds();
  wait_window(context, window_seconds);
  for (size_t i = 0; i < modules.size(); ++i) {
    FittedModule& f = modules[i].fitted;
    const ModuleCounts after = counts_of(context.fs, f.port);
    f.window_seconds = monotonic_seconds() - begin;
    f.corrected_bits = grown(before[i].fec.corrected_bits, after.fec.corrected_bits);
    f.uncorrectable_blocks =
        grown(before[i].fec.uncorrectable_blocks, after.fec.uncorrectable_blocks);
    if (before[i].downs && after.downs && *after.downs >= *before[i].downs)
      f.link_downs = *after.downs - *before[i].downs;
    const auto speed = context.fs.integer("/sys/class/net/" + f.port + "/speed");
    if (speed && *speed > 0) f.bits_per_second = static_cast<double>(*speed) * 1e6;
  }
}

json optional_json(const std::optional<double>& value) { return value ? json(*value) : json(); }
std::optional<double> optional_number(const json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

}  // namespace

std::vector<ReadModule> read_modules(Context& context, const std::vector<std::string>& ports,
                                     double window_seconds) {
  const std::vector<std::string> there = physical_ports(context.fs);
  std::vector<ReadModule> out;
  const bool all = ports.size() == 1 && ports.front() == "auto";
  for (const std::string& port : all ? there : ports) {
    ReadModule module;
    module.fitted.host = context.place.host;
    module.fitted.port = port;
    module.fitted.why_not = said("optics.foreign");
    if (std::ranges::find(there, port) == there.end())
      module.fitted.why_not = said("optics.unknown_port", port, context.place.host);
    else
      read_memory(context.fs, module);
    out.push_back(std::move(module));
  }
  count_window(context, window_seconds, out);
  return out;
}

std::string modules_text(const std::vector<ReadModule>& modules) {
  json out = json::array();
  for (const ReadModule& m : modules) {
    const FittedModule& f = m.fitted;
    json pages = json::array();
    for (const auto& [at, bytes] : m.memory.pages)
      pages.push_back({at.first, at.second, hex_of(bytes)});
    out.push_back({{"host", f.host},
                   {"port", f.port},
                   {"why", pack_said(f.why_not)},
                   {"window", f.window_seconds},
                   {"rate", optional_json(f.bits_per_second)},
                   {"bits", optional_json(f.corrected_bits)},
                   {"blocks", optional_json(f.uncorrectable_blocks)},
                   {"downs", optional_json(f.link_downs)},
                   {"lower", hex_of(m.memory.lower)},
                   {"pages", std::move(pages)}});
  }
  return dump_json(out);
}

std::vector<FittedModule> modules_from_text(const std::string& text) {
  std::vector<FittedModule> out;
  for (const json& from : parse_json(text, "optics")) {
    FittedModule f{.host = from.at("host"),
                   .port = from.at("port"),
                   .why_not = unpack_said(from.at("why").get<std::string>()),
                   .window_seconds = from.at("window"),
                   .bits_per_second = optional_number(from.at("rate")),
                   .corrected_bits = optional_number(from.at("bits")),
                   .uncorrectable_blocks = optional_number(from.at("blocks")),
                   .link_downs = optional_number(from.at("downs"))};
    ModuleMemory memory{.lower = bytes_of(from.at("lower").get<std::string>())};
    for (const json& page : from.at("pages"))
      memory.pages[{page.at(0).get<int>(), page.at(1).get<int>()}] =
          bytes_of(page.at(2).get<std::string>());
    f.module = decode_module(memory);
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace cb::net
