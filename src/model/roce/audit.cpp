#include "model/roce/audit.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cb {
namespace {

constexpr int kRdmaMtu = 4096;
constexpr int kFrameBytes = 18;                     // header and checksum of a frame
constexpr int kUsualDscp = 26, kUsualPriority = 3;  // of RoCE, by the makers' guides
constexpr int kNone = -1;
constexpr int kEct0 = 2;             // marks traffic that ECN may mark
constexpr int kBandwidthShares = 2;  // an algorithm of 802.1Qaz
constexpr int kOwnNetworkBits = 30;  // a network of a link

// What is no priority is not lossless.
bool is_lossless(unsigned pfc, int priority) {
  return priority >= 0 && priority < kPriorities && (pfc >> priority & 1U) != 0;
}

std::string lossless_list(unsigned pfc) {
  std::vector<int> out;
  for (int p = 0; p < kPriorities; ++p) {
    if (is_lossless(pfc, p)) out.push_back(p);
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

// The value that most have; of equals `preferred`, else the largest. Nothing if there is none.
std::optional<int> most_common(const std::vector<int>& values, int preferred) {
  std::map<int, size_t> count;
  for (const int value : values) ++count[value];
  std::optional<int> out;
  for (const auto& [value, n] : count) {
    const size_t best = out ? count[*out] : 0;
    if (n > best || (n == best && *out != preferred)) out = value;
  }
  return out;
}

// The priority in which this port sends traffic of that class.
int priority_of_class(const RoceNic& nic, int traffic_class) {
  if (nic.trust != "dscp") return 0;  // untagged
  const int dscp = traffic_class >> 2;
  return nic.dcb->priority_of(dscp).value_or(dscp >> 3);  // as NICs and switches start
}

// The traffic class to send so that it lands in that priority.
int class_for(const RoceNic& nic, int priority) {
  constexpr int kDscps = 64;
  int dscp = -1;
  for (int d = 0; d < kDscps; ++d) {
    if (nic.dcb->priority_of(d) == priority && (dscp < 0 || d == kUsualDscp)) dscp = d;
  }
  return (dscp < 0 ? priority << 3 : dscp) << 2 | kEct0;
}

bool same_network(const RoceNic& a, const RoceNic& b) {
  if (a.address == 0 || b.address == 0 || a.prefix_bits <= 0 || a.prefix_bits > 32 ||
      a.prefix_bits != b.prefix_bits)
    return false;
  return ((a.address ^ b.address) >> (32 - a.prefix_bits)) == 0;
}

class RoceAuditor {
 public:
  RoceAuditor(const std::vector<RoceHost>& hosts, const RoceWanted& wanted) : wanted_(wanted) {
    for (const RoceHost& host : hosts) {
      for (const RoceNic& nic : host.nics) nics_.push_back({&host, &nic});
    }
    out_.lossless = lossless_priority();
    usual_mtu_ = usual_of_all(&RoceNic::mtu_bytes);
    usual_cnp_ = wanted.cnp_dscp ? wanted.cnp_dscp : usual_of_all(&RoceNic::cnp_dscp);
    std::vector<int> gids;
    for (const One& one : nics_) {
      if (const RoceGid* gid = gid_of(*one.nic)) gids.push_back(gid->index);
    }
    usual_gid_ = most_common(gids, kNone);
  }

  RoceAudit run() {
    each("pfc", [&](const One& o) { return pfc(*o.nic); });
    each("trust", [&](const One& o) { return trust(*o.nic); });
    each("traffic", [&](const One& o) { return traffic(o); });
    each("ets", [&](const One& o) { return ets(*o.nic); });
    each("ecn", [&](const One& o) { return ecn(*o.nic); });
    each("cnp", [&](const One& o) { return cnp(*o.nic); });
    each("pause", [&](const One& o) { return pause(*o.nic); });
    each("mtu", [&](const One& o) { return mtu(*o.nic); });
    each("switch_mtu", [&](const One& o) { return switch_mtu(*o.nic); });
    each("switch_pfc", [&](const One& o) { return switch_pfc(*o.nic); });
    each("gid", [&](const One& o) { return gid(o); });
    each("arp", [&](const One& o) { return arp(o); });
    each("rp_filter", [&](const One& o) { return rp_filter(o); });
    each("source_rule", [&](const One& o) { return source_rule(o); });
    return std::move(out_);
  }

 private:
  struct One {
    const RoceHost* host;
    const RoceNic* nic;
  };
  // What one port says to one kind: it could not be read, it is right, or what is wrong.
  struct Answer {
    bool read = true;
    Said wrong = {};
  };
  static Answer unread() { return {.read = false, .wrong = {}}; }
  static Answer good() { return {}; }
  static Answer bad(Said what) { return {.read = true, .wrong = std::move(what)}; }

  void each(const std::string& kind, const std::function<Answer(const One&)>& ask) {
    size_t silent = 0;
    const RoceNic* first = nullptr;
    for (const One& one : nics_) {
      Answer answer = ask(one);
      if (!answer.read && silent++ == 0) first = one.nic;
      if (!answer.wrong.empty())
        out_.findings.push_back({kind, one.nic->host, one.nic->device, std::move(answer.wrong)});
    }
    if (first == nullptr) {
      if (!nics_.empty()) out_.judged.insert(kind);
      return;
    }
    const auto why = first->unread.find(kind);
    out_.notes.push_back(said("roce.unread", kind, silent, nics_.size(), first->name(),
                              why == first->unread.end() ? said("roce.untold") : why->second));
  }

  std::optional<int> lossless_priority() const {
    if (wanted_.priority) return wanted_.priority;
    std::vector<int> single;
    for (const One& one : nics_) {
      const auto& dcb = one.nic->dcb;
      if (dcb && dcb->pfc && std::popcount(*dcb->pfc) == 1)
        single.push_back(std::countr_zero(*dcb->pfc));
    }
    return most_common(single, kUsualPriority);
  }

  static std::string pfc_command(const RoceNic& nic, int priority) {
    return fmt::format("dcb pfc set dev {} prio-pfc all:off {}:on", nic.port_name, priority);
  }
  static std::string trust_command(const RoceNic& nic) {
    return nic.driver == "mlx5_core"
               ? fmt::format("mlnx_qos -i {} --trust dscp", nic.port_name)
               : fmt::format("dcb apptrust set dev {} order dscp", nic.port_name);
  }
  static std::string mtu_command(const RoceNic& nic, int bytes) {
    return fmt::format("ip link set dev {} mtu {}", nic.port_name, bytes);
  }

  static bool knows_pfc(const RoceNic& nic) { return nic.dcb && nic.dcb->pfc; }

  Answer pfc(const RoceNic& nic) const {
    if (!knows_pfc(nic)) return unread();
    const unsigned pfc = *nic.dcb->pfc;
    const int wanted = out_.lossless.value_or(kUsualPriority);
    if (pfc == 0) return bad(said("roce.pfc_none", nic.port_name, pfc_command(nic, wanted)));
    if (std::popcount(pfc) > 1)
      return bad(
          said("roce.pfc_many", nic.port_name, lossless_list(pfc), pfc_command(nic, wanted)));
    if (!is_lossless(pfc, wanted))
      return bad(said("roce.pfc_other", nic.port_name, lossless_list(pfc), wanted,
                      pfc_command(nic, wanted)));
    return good();
  }

  static Answer trust(const RoceNic& nic) {
    if (nic.trust.empty()) return unread();
    return nic.trust == "dscp"
               ? good()
               : bad(said("roce.trust", nic.port_name, nic.trust, trust_command(nic)));
  }

  Answer traffic(const One& one) const {
    const RoceNic& nic = *one.nic;
    if (!knows_pfc(nic) || nic.trust.empty()) return unread();
    const unsigned pfc = *nic.dcb->pfc;
    if (pfc == 0) return good();  // `pfc` says it
    const int lossless = std::countr_zero(pfc);
    const int sent = nic.forced_class
                         ? *nic.forced_class
                         : wanted_.traffic_class.value_or(one.host->nccl_class.value_or(0));
    const int priority = priority_of_class(nic, sent);
    if (!is_lossless(pfc, priority)) {
      const int better = class_for(nic, lossless);
      if (nic.forced_class)
        return bad(
            said("roce.traffic_forced", nic.device, sent, sent >> 2, priority, lossless, better));
      if (wanted_.traffic_class)
        return bad(
            said("roce.traffic_given", nic.device, sent, sent >> 2, priority, lossless, better));
      return bad(
          said("roce.traffic_nccl", nic.device, sent, sent >> 2, priority, lossless, better));
    }
    if (nic.connection_tos && *nic.connection_tos != 0) {
      const int of_connections = priority_of_class(nic, *nic.connection_tos);
      if (!is_lossless(pfc, of_connections))
        return bad(said("roce.traffic_cm", nic.device, *nic.connection_tos, of_connections,
                        lossless, class_for(nic, lossless)));
    }
    return good();
  }

  Answer ets(const RoceNic& nic) const {
    if (!nic.dcb || !nic.dcb->class_of_priority || !knows_pfc(nic)) return unread();
    if (*nic.dcb->pfc == 0) return good();
    const auto& classes = *nic.dcb->class_of_priority;
    const int lossless = std::countr_zero(*nic.dcb->pfc);
    const auto of_lossless = static_cast<size_t>(classes[static_cast<size_t>(lossless)]);
    for (int p = 0; p < kPriorities; ++p) {
      if (!is_lossless(*nic.dcb->pfc, p) &&
          classes[static_cast<size_t>(p)] == static_cast<int>(of_lossless))
        return bad(said(
            "roce.ets_shared", nic.port_name, lossless, p, of_lossless,
            fmt::format("dcb ets set dev {} prio-tc {}:{}", nic.port_name, lossless, lossless)));
    }
    const int share = nic.dcb->bandwidth[of_lossless];
    if (nic.dcb->algorithm[of_lossless] == kBandwidthShares && share < wanted_.least_share)
      return bad(said("roce.ets_share", nic.port_name, of_lossless, share, wanted_.least_share,
                      fmt::format("dcb ets set dev {} tc-bw {}:{}", nic.port_name, of_lossless,
                                  wanted_.least_share)));
    return good();
  }

  Answer ecn(const RoceNic& nic) const {
    if (!nic.ecn || !out_.lossless) return unread();
    const bool notifies = is_lossless(nic.ecn->notifies, *out_.lossless);
    const bool reacts = is_lossless(nic.ecn->reacts, *out_.lossless);
    if (notifies && reacts) return good();
    return bad(said("roce.ecn", nic.port_name, *out_.lossless, notifies ? "roce_rp" : "roce_np"));
  }

  static std::optional<int> cnp_priority(const RoceNic& nic) {
    if (nic.cnp_dscp && nic.dcb && nic.trust == "dscp")
      return priority_of_class(nic, *nic.cnp_dscp << 2);
    return nic.cnp_priority;
  }

  Answer cnp(const RoceNic& nic) const {
    const auto priority = cnp_priority(nic);
    if (!priority || !out_.lossless) return unread();
    if (*priority == *out_.lossless) return bad(said("roce.cnp", nic.port_name, *priority));
    if (nic.cnp_dscp && usual_cnp_ && *nic.cnp_dscp != *usual_cnp_)
      return bad(said("roce.cnp_other", nic.port_name, *nic.cnp_dscp, *usual_cnp_));
    return good();
  }

  std::optional<int> usual_of_all(std::optional<int> RoceNic::*member) const {
    std::vector<int> values;
    for (const One& one : nics_) {
      if (one.nic->*member) values.push_back(*(one.nic->*member));
    }
    return most_common(values, kNone);
  }

  static Answer pause(const RoceNic& nic) {
    if (!nic.pause || !knows_pfc(nic)) return unread();
    const bool on = nic.pause->receive || nic.pause->send;
    return on && *nic.dcb->pfc != 0 ? bad(said("roce.pause", nic.port_name)) : good();
  }

  Answer mtu(const RoceNic& nic) const {
    if (!nic.mtu_bytes) return unread();
    if (*nic.mtu_bytes < kRoceMtu)
      return bad(said("roce.mtu", nic.port_name, *nic.mtu_bytes, kRoceMtu, mtu_command(nic, 9000)));
    if (nic.rdma_mtu_bytes && *nic.rdma_mtu_bytes < kRdmaMtu)
      return bad(said("roce.rdma_mtu", nic.device, *nic.rdma_mtu_bytes, *nic.mtu_bytes));
    if (*nic.mtu_bytes != usual_mtu_.value_or(*nic.mtu_bytes))
      return bad(said("roce.mtu_other", nic.port_name, *nic.mtu_bytes, *usual_mtu_,
                      mtu_command(nic, *usual_mtu_)));
    return good();
  }

  static Answer switch_mtu(const RoceNic& nic) {
    if (!nic.neighbour || !nic.neighbour->frame_bytes || !nic.mtu_bytes) return unread();
    const int frame = *nic.neighbour->frame_bytes;
    if (*nic.mtu_bytes + kFrameBytes <= frame) return good();
    return bad(said("roce.switch_mtu", nic.neighbour->system(), nic.neighbour->port, frame,
                    *nic.mtu_bytes + kFrameBytes));
  }

  static Answer switch_pfc(const RoceNic& nic) {
    if (!nic.neighbour || !nic.neighbour->dcb.pfc || !knows_pfc(nic)) return unread();
    const unsigned theirs = *nic.neighbour->dcb.pfc, ours = *nic.dcb->pfc;
    if (theirs == ours) return good();
    return bad(said("roce.switch_pfc", nic.neighbour->system(), nic.neighbour->port,
                    theirs == 0 ? "–" : lossless_list(theirs),
                    ours == 0 ? "–" : lossless_list(ours)));
  }

  static const RoceGid* gid_of(const RoceNic& nic) {
    const RoceGid* out = nullptr;
    for (const RoceGid& gid : nic.gids) {
      if (gid.version_2 && (out == nullptr || (gid.ipv4 && !out->ipv4))) out = &gid;
    }
    return out;
  }

  Answer gid(const One& one) const {
    const RoceGid* own = gid_of(*one.nic);
    if (own == nullptr) return bad(said("roce.gid_none", one.nic->device, one.nic->port_name));
    if (one.host->nccl_gid && *one.host->nccl_gid >= 0) {
      const auto named = std::ranges::find(one.nic->gids, *one.host->nccl_gid, &RoceGid::index);
      if (named == one.nic->gids.end() || !named->version_2)
        return bad(said("roce.gid_index", *one.host->nccl_gid, one.nic->device, own->index));
      return good();
    }
    if (own->index != usual_gid_.value_or(own->index))
      return bad(said("roce.gid_other", one.nic->device, own->index, *usual_gid_));
    return good();
  }

  static bool shares_network(const One& one) {
    return std::ranges::any_of(one.host->nics, [&](const RoceNic& other) {
      return &other != one.nic && same_network(other, *one.nic);
    });
  }

  static Answer arp(const One& one) {
    if (!shares_network(one)) return good();
    const RoceNic& nic = *one.nic;
    if (!nic.arp_ignore || !nic.arp_announce) return unread();
    if (*nic.arp_ignore >= 1 && *nic.arp_announce >= 2) return good();
    return bad(said("roce.arp", nic.port_name, *nic.arp_ignore, *nic.arp_announce));
  }

  static Answer rp_filter(const One& one) {
    const auto addressed =
        std::ranges::count_if(one.host->nics, [](const RoceNic& nic) { return nic.address != 0; });
    if (addressed < 2 || one.nic->address == 0) return good();
    if (!one.nic->reverse_filter) return unread();
    return *one.nic->reverse_filter == 1 ? bad(said("roce.rp_filter", one.nic->port_name)) : good();
  }

  static Answer source_rule(const One& one) {
    constexpr uint32_t kDefault = 253, kMain = 254, kLocal = 255;
    const RoceNic& nic = *one.nic;
    const bool several = one.host->nics.size() > 1;
    const bool needed =
        several && nic.address != 0 && (shares_network(one) || nic.prefix_bits >= kOwnNetworkBits);
    if (!needed) return good();
    if (!one.host->rules) return unread();
    const bool found = std::ranges::any_of(*one.host->rules, [&](const SourceRule& rule) {
      return rule.bits == 32 && rule.address == nic.address && rule.table != kDefault &&
             rule.table != kMain && rule.table != kLocal;
    });
    return found ? good()
                 : bad(said("roce.source_rule", nic.port_name, address_text(nic.address),
                            fmt::format("ip rule add from {} table N", address_text(nic.address))));
  }

  static std::string address_text(uint32_t a) {
    return fmt::format("{}.{}.{}.{}", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255);
  }

  const RoceWanted& wanted_;
  std::vector<One> nics_;
  std::optional<int> usual_mtu_ = {}, usual_cnp_ = {}, usual_gid_ = {};
  RoceAudit out_;
};

}  // namespace

RoceAudit audit_roce(const std::vector<RoceHost>& hosts, const RoceWanted& wanted) {
  RoceAudit out = RoceAuditor(hosts, wanted).run();
  size_t silent = 0;
  std::string first;
  for (const RoceHost& host : hosts) {
    if (host.nics.empty() && silent++ == 0) first = host.host;
  }
  // The ports of others do not stand for a host that has lost its own.
  if (silent > 0) {
    out.judged.clear();
    out.notes.push_back(said("roce.host_without", silent, hosts.size(), first));
  }
  return out;
}

std::vector<std::string> roce_kinds() {
  return {"pfc", "trust",      "traffic",    "ets", "ecn", "cnp",       "pause",
          "mtu", "switch_mtu", "switch_pfc", "gid", "arp", "rp_filter", "source_rule"};
}

}  // namespace cb
