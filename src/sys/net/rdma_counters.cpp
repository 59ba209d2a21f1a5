// Sources of the names: linux/Documentation/ABI/stable/sysfs-class-infiniband for counters/, the
// drivers' own tables (hw/mlx5/counters.c, hw/bnxt_re/hw_counters.c, hw/irdma/verbs.c,
// sw/rxe/rxe_hw_counters.c) for hw_counters/.
#include "sys/net/rdma_counters.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "sys/net/ethtool.h"

namespace cb {
namespace {

using Names = std::map<std::string_view, std::string_view>;

const Names kMlx5{{"local_ack_timeout_err", "ack_timeouts"},
                  {"packet_seq_err", "sequence_naks_received"},
                  {"duplicate_request", "duplicate_requests"},
                  {"rnr_nak_retry_err", "receiver_not_ready_naks"},
                  {"req_transport_retries_exceeded", "retries_exceeded"},
                  {"np_cnp_sent", "cnp_sent"},
                  {"rp_cnp_handled", "cnp_handled"},
                  {"rp_cnp_ignored", "cnp_ignored"},
                  {"np_ecn_marked_roce_packets", "ecn_marked"},
                  {"rx_icrc_encapsulated", "icrc_errors"}};
const Names kRxe{{"out_of_seq_request", "out_of_sequence"},
                 {"duplicate_request", "duplicate_requests"},
                 {"rcvd_seq_err", "sequence_naks_received"},
                 {"rcvd_rnr_err", "receiver_not_ready_naks"},
                 {"completer_retry_err", "ack_timeouts"},
                 {"retry_exceeded_err", "retries_exceeded"},
                 {"sent_pkts", "packets_sent"},
                 {"rcvd_pkts", "packets_received"}};
const Names kBnxt{{"oos_drop_count", "out_of_sequence"},
                  {"seq_err_naks_rcvd", "sequence_naks_received"},
                  {"to_retransmits", "ack_timeouts"},
                  {"max_retry_exceeded", "retries_exceeded"},
                  {"rnr_naks_rcvd", "receiver_not_ready_naks"},
                  {"dup_req", "duplicate_requests"},
                  {"rx_out_of_buffer", "out_of_buffer"},
                  {"rx_roce_discards", "receive_discards"},
                  {"rx_roce_errors", "receive_errors"},
                  {"tx_pkts", "packets_sent"},
                  {"rx_pkts", "packets_received"}};
const Names kIrdma{{"cnpSent", "cnp_sent"},
                   {"cnpHandled", "cnp_handled"},
                   {"cnpIgnored", "cnp_ignored"},
                   {"RxECNMrkd", "ecn_marked"},
                   {"RetransSegs", "retransmissions"},
                   {"tcpRetransSegs", "retransmissions"},
                   {"ip4InDiscards", "receive_discards"},
                   {"Nak Sequence Error", "sequence_naks_received"},
                   {"RTO", "ack_timeouts"},
                   {"Rcvd Out of order packets", "out_of_sequence"},
                   {"CRC errors", "icrc_errors"}};

const Names* names_of(const std::string& driver) {
  if (driver == "mlx5_core") return &kMlx5;
  if (driver == "rxe") return &kRxe;
  if (driver == "bnxt_en" || driver == "bnxt_re") return &kBnxt;
  // The PCI function of irdma belongs to the Ethernet driver.
  if (driver == "irdma" || driver == "ice" || driver == "i40e" || driver == "idpf") return &kIrdma;
  return nullptr;
}

constexpr std::array<std::string_view, 26> kFaults{"symbol_error",
                                                   "link_downed",
                                                   "link_error_recovery",
                                                   "local_link_integrity_errors",
                                                   "excessive_buffer_overrun_errors",
                                                   "port_rcv_errors",
                                                   "port_rcv_remote_physical_errors",
                                                   "port_xmit_discards",
                                                   "VL15_dropped",
                                                   "out_of_sequence",
                                                   "out_of_buffer",
                                                   "ack_timeouts",
                                                   "sequence_naks_received",
                                                   "retries_exceeded",
                                                   "retransmissions",
                                                   "icrc_errors",
                                                   "receive_discards",
                                                   "receive_errors",
                                                   "implied_nak_seq_err",
                                                   "roce_adp_retrans",
                                                   "eth_rx_discards_phy",
                                                   "eth_tx_discards_phy",
                                                   "eth_rx_crc_errors_phy",
                                                   "eth_link_down_events_phy",
                                                   "eth_rx_symbol_err_phy",
                                                   "eth_rx_pcs_symbol_err_phy"};
constexpr std::array<std::string_view, 5> kCongestion{"cnp_sent", "cnp_handled", "cnp_ignored",
                                                      "ecn_marked", "port_xmit_wait"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool any_of(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [name](std::string_view p) { return name.find(p) != std::string_view::npos; });
}

// Selects those counters of `ethtool -S`, which lists hundreds, that show the state of the link or
// congestion.
bool is_telling(std::string_view name) {
  return any_of(name, {"pause", "discard", "drop", "crc", "symbol_err", "link_down", "pfc", "ecn",
                       "cnp", "out_of_buffer", "marked", "pci_signal", "outbound_pci"});
}

void add_directory(const FsRoot& fs, const std::string& directory, const std::string& driver,
                   RdmaCounters& out) {
  for (const std::string& name : fs.entries(directory)) {
    if (name == "lifespan") continue;  // refresh interval of the driver, not a counter
    if (const auto value = fs.integer(directory + "/" + name); value && *value >= 0)
      out[common_counter_name(driver, name)] = static_cast<double>(*value);
  }
}

}  // namespace

std::string common_counter_name(const std::string& driver, const std::string& name) {
  const Names* names = names_of(driver);
  if (names == nullptr) return name;
  const auto found = names->find(name);
  return found == names->end() ? name : std::string(found->second);
}

std::chrono::milliseconds rdma_counters_age(const FsRoot& fs, const RdmaPort& port) {
  constexpr long long kLongest = 10000;
  constexpr std::chrono::milliseconds kTick{10};  // of a kernel with 100 Hz, the longest
  const auto lifespan = fs.integer(port.directory() + "hw_counters/lifespan");
  if (!lifespan || *lifespan < 0) return std::chrono::milliseconds::zero();
  return std::chrono::milliseconds{std::min(*lifespan, kLongest)} + kTick;
}

RdmaCounters read_rdma_counters(const FsRoot& fs, const RdmaPort& port) {
  RdmaCounters out;
  add_directory(fs, port.directory() + "counters", port.driver, out);
  add_directory(fs, port.directory() + "hw_counters", port.driver, out);
  if (!fs.is_machine() || port.netdev.empty()) return out;
  for (const auto& [name, value] : interface_statistics(port.netdev)) {
    if (is_telling(name)) out["eth_" + name] = value;
  }
  return out;
}

bool is_fault_counter(const std::string& name) {
  return contains(kFaults, name) ||
         (name.starts_with("eth_") && any_of(name, {"discard", "buf_discard", "cong_discard"}));
}

bool is_congestion_counter(const std::string& name) {
  return contains(kCongestion, name) ||
         (name.starts_with("eth_") && any_of(name, {"pause", "pfc", "marked"}));
}

// Widths of the legacy counters: IBTA, PortCounters. 64-bit counters never reach these values.
bool is_saturated(const std::string& name, double value) {
  if (name == "symbol_error" || name == "port_rcv_errors" ||
      name == "port_rcv_remote_physical_errors" || name == "port_xmit_discards")
    return value == 65535;
  if (name == "link_downed" || name == "link_error_recovery") return value == 255;
  if (name == "local_link_integrity_errors" || name == "excessive_buffer_overrun_errors")
    return value == 15;
  return false;
}

}  // namespace cb
