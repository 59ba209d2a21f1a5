// Counters of the kernel (/proc/net/snmp and /proc/net/netstat: pairs of lines with names and
// values) and of interfaces (/sys/class/net/X/statistics).
#include <array>
#include <sstream>

#include "bench/network/tcp/setup.h"

namespace cb::tcp {
namespace {

constexpr std::array kOfInterface{"rx_bytes",         "tx_bytes",      "rx_dropped",
                                  "tx_dropped",       "rx_errors",     "tx_errors",
                                  "rx_missed_errors", "rx_crc_errors", "tx_carrier_errors"};
constexpr std::array kOfKernel{"RetransSegs",
                               "InErrs",
                               "TCPTimeouts",
                               "TCPLostRetransmit",
                               "TCPFastRetrans",
                               "TCPSynRetrans",
                               "TCPSpuriousRtxHostQueues",
                               "TCPRcvQDrop",
                               "TCPZeroWindowDrop",
                               "TCPBacklogDrop",
                               "ListenOverflows",
                               "PruneCalled",
                               "TCPMemoryPressures"};

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// The value of `name` in the line pair that begins with Tcp: or TcpExt:.
std::optional<double> kernel_counter(const std::string& text, const std::string& name) {
  std::istringstream in(text);
  std::string names, values;
  while (std::getline(in, names) && std::getline(in, values)) {
    if (!names.starts_with("Tcp")) continue;
    const auto keys = words(names), numbers = words(values);
    for (size_t i = 1; i < keys.size() && i < numbers.size(); ++i) {
      if (keys[i] == name) return std::stod(numbers[i]);
    }
  }
  return std::nullopt;
}

}  // namespace

CounterWatch::CounterWatch(const FsRoot& fs, const Setup& setup)
    : fs_(fs), setup_(setup), before_(read()) {}

std::vector<CounterWatch::Reading> CounterWatch::read() const {
  std::vector<Reading> out;
  const std::string kernel =
      fs_.text("/proc/net/snmp").value_or("") + "\n" + fs_.text("/proc/net/netstat").value_or("");
  for (const char* name : kOfKernel) {
    if (const auto value = kernel_counter(kernel, name)) out.push_back({"", name, *value});
  }
  for (const Rail& rail : setup_.mine) {
    const std::string dir = "/sys/class/net/" + rail.interface + "/statistics/";
    for (const char* name : kOfInterface) {
      if (const auto value = fs_.integer(dir + name))
        out.push_back({rail.interface, name, static_cast<double>(*value)});
    }
  }
  return out;
}

void CounterWatch::stop(Record& record, const std::string& host) const {
  const std::vector<Reading> after = read();
  for (const Reading& a : after) {
    for (const Reading& b : before_) {
      if (a.interface != b.interface || a.name != b.name || a.value <= b.value) continue;
      const Entity entity =
          a.interface.empty() ? Entity{host, "host", ""} : Entity{host, "nic", a.interface};
      record.telemetry.deltas.push_back({.name = a.name,
                                         .unit = a.name.ends_with("_bytes") ? "bytes" : "count",
                                         .entity = record.entity(entity),
                                         .before = b.value,
                                         .after = a.value});
    }
  }
}

}  // namespace cb::tcp
