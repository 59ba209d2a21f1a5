#include "bench/network/subnet/scan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "bench/network/subnet/walk.h"

namespace cb::net {
namespace {

constexpr int kPortUp = 5;

class SubnetScan {
 public:
  SubnetScan(MadExchange& exchange, const ScanWish& wish, const std::function<void(double)>& wait)
      : exchange_(exchange), wish_(wish), wait_(wait) {}

  ScanResult run() {
    walk_ = walk_subnet(exchange_, wish_.key);
    ScanResult out{.discovery_seconds = exchange_.tally().seconds};
    ask_managers();
    ask_pkeys();
    if (wish_.tables) ask_tables();
    ask_firmware();
    exchange_.run();
    if (wish_.counters) read_counters();
    if (net().window_seconds) ask_managers_again();
    tell_unread(out);
    out.net = std::move(walk_.net);
    return out;
  }

 private:
  Net& net() { return walk_.net; }
  bool is_switch(size_t node) const {
    return walk_.net.nodes[node].kind == NetNodeKind::network_switch;
  }
  int lid_of(const NetEnd& end) const {
    const auto at = walk_.net.lids.find(is_switch(end.node) ? NetEnd{end.node, 0} : end);
    return at == walk_.net.lids.end() ? 0 : at->second;
  }

  void note_unanswered(const NetEnd& of, MadAttribute attribute, const MadAnswer& answer) {
    net().unanswered.push_back({of, attribute_name(attribute), answer.why, answer.refused});
  }

  void ask_manager(const NetEnd& at, int lid, OnMadAnswer then) {
    MadQuestion question{.attribute = MadAttribute::manager_info, .key = wish_.key};
    question.of = lid > 0 ? MadClass::by_lid : MadClass::directed;
    question.lid = static_cast<uint16_t>(lid);
    question.path = lid > 0 ? MadPath{} : walk_.nodes[at.node].path;
    exchange_.ask(question, std::move(then));
  }

  // Every port that says that it runs a manager.
  void ask_managers() {
    std::vector<NetEnd> at;
    for (const auto& [end, port] : net().ports) {
      if (port.runs_manager && (end.port == 0 || !is_switch(end.node))) at.push_back(end);
    }
    for (const NetEnd& end : at) {
      const int lid = lid_of(end);
      ask_manager(end, lid, [this, end, lid](const MadAnswer& answer) {
        if (!answer.mad) {
          note_unanswered(end, MadAttribute::manager_info, answer);
          return;
        }
        SubnetManager manager = decode_manager(*answer.mad);
        manager.at = end;
        manager.lid = lid;
        net().managers.push_back(manager);
      });
    }
  }

  void ask_managers_again() {
    for (size_t i = 0; i < net().managers.size(); ++i) {
      const SubnetManager& manager = net().managers[i];
      ask_manager(manager.at, manager.lid, [this, i](const MadAnswer& answer) {
        if (answer.mad) net().managers[i].activity_later = decode_manager(*answer.mad).activity;
      });
    }
    exchange_.run();
  }

  // Adapters' keys: the next block only where the last was full.
  void ask_pkeys() {
    net().knows.pkeys = true;
    std::vector<NetEnd> ends;
    for (const auto& [end, port] : net().ports) {
      if (!is_switch(end.node) && port.physical == kPortUp) ends.push_back(end);
    }
    for (const NetEnd& end : ends) ask_pkey_block(end, 0);
  }

  void ask_pkey_block(const NetEnd& end, uint32_t block) {
    exchange_.ask({.attribute = MadAttribute::pkey_table,
                   .modifier = block,
                   .path = path_to(end),
                   .key = wish_.key},
                  [this, end, block](const MadAnswer& answer) {
                    if (!answer.mad) {
                      if (block == 0) note_unanswered(end, MadAttribute::pkey_table, answer);
                      return;
                    }
                    NetPort& port = net().ports[end];
                    port.has_pkeys = true;
                    const std::vector<uint16_t> keys = decode_pkeys(*answer.mad);
                    port.pkeys.insert(port.pkeys.end(), keys.begin(), keys.end());
                    if (keys.size() == kPkeysPerBlock && block < 0x7ff)
                      ask_pkey_block(end, block + 1);
                  });
  }

  // An adapter with several ports is asked at that port: the path to it ends there.
  MadPath path_to(const NetEnd& end) {
    if (walk_.nodes[end.node].info.local_port == end.port || is_switch(end.node))
      return walk_.nodes[end.node].path;
    for (const NetLink& link : net().links) {
      if (link.a != end && link.b != end) continue;
      const NetEnd& far = link.a == end ? link.b : link.a;
      MadPath out = walk_.nodes[far.node].path;
      out.push_back(static_cast<uint8_t>(far.port));
      return out;
    }
    return walk_.nodes[end.node].path;
  }

  void ask_tables() {
    net().knows.tables = true;
    for (size_t node = 0; node < walk_.nodes.size(); ++node) {
      const int top = walk_.nodes[node].table_top;
      if (!is_switch(node) || top < 0) continue;
      std::vector<uint8_t>& table = net().nodes[node].forwards;
      const size_t blocks = static_cast<size_t>(top) / kLidsPerBlock + 1;
      table.assign(blocks * kLidsPerBlock, 255);
      for (size_t block = 0; block < blocks; ++block) ask_table_block(node, block);
    }
  }

  void ask_table_block(size_t node, size_t block) {
    exchange_.ask({.attribute = MadAttribute::forwarding_table,
                   .modifier = static_cast<uint32_t>(block),
                   .path = walk_.nodes[node].path,
                   .key = wish_.key},
                  [this, node, block](const MadAnswer& answer) {
                    std::vector<uint8_t>& table = net().nodes[node].forwards;
                    if (!answer.mad) {
                      // A table with a gap would show holes that are none.
                      if (!table.empty())
                        note_unanswered({node, 0}, MadAttribute::forwarding_table, answer);
                      table.clear();
                    } else if (!table.empty()) {
                      const auto lids = decode_forwarding(*answer.mad);
                      std::ranges::copy(
                          lids, table.begin() + static_cast<std::ptrdiff_t>(block * kLidsPerBlock));
                    }
                  });
  }

  void ask_firmware() {
    for (size_t node = 0; node < walk_.nodes.size(); ++node) {
      const NodeInfo& info = walk_.nodes[node].info;
      const int lid = lid_of({node, is_switch(node) ? 0 : info.local_port});
      if (lid == 0 || info.vendor != kMellanoxVendor) continue;
      exchange_.ask({.of = MadClass::vendor,
                     .attribute = MadAttribute::general_info,
                     .lid = static_cast<uint16_t>(lid)},
                    [this, node](const MadAnswer& answer) {
                      const auto firmware =
                          answer.mad ? decode_firmware(*answer.mad) : std::nullopt;
                      if (firmware) net().nodes[node].firmware = *firmware;
                      (firmware ? firmware_read_ : firmware_unread_) += 1;
                    });
    }
  }

  void read_counters() {
    std::map<size_t, std::vector<NetEnd>> ports;
    for (const NetLink& link : net().links) {
      for (const NetEnd& end : {link.a, link.b}) {
        if (lid_of(end) > 0) ports[end.node].push_back(end);
      }
    }
    net().knows.counters = !ports.empty();
    for (const auto& [node, ends] : ports) ask_abilities(ends);
    exchange_.run();
    if (wish_.window_seconds <= 0 || ports.empty()) return;
    std::map<NetEnd, PortCounts> before;
    for (auto& [end, port] : net().ports) before[end] = std::exchange(port.counts, {});
    const auto begin = std::chrono::steady_clock::now();
    wait_(wish_.window_seconds);
    for (const auto& [node, ends] : ports) {
      for (const NetEnd& end : ends) {
        if (abilities_.contains(node)) ask_counters(end, abilities_.at(node));
      }
    }
    exchange_.run();
    net().window_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (auto& [end, port] : net().ports) differ(before[end], port);
  }

  static void differ(const PortCounts& before, NetPort& port) {
    for (const auto& [name, after] : port.counts) {
      const auto was = before.find(name);
      if (was == before.end()) continue;
      if (after >= was->second)
        port.moved[name] = after - was->second;
      else
        port.cleared.push_back(name);
    }
  }

  // What the device's agent offers decides what is asked of its ports.
  void ask_abilities(const std::vector<NetEnd>& ends) {
    exchange_.ask({.of = MadClass::performance,
                   .attribute = MadAttribute::class_info,
                   .lid = static_cast<uint16_t>(lid_of(ends.front()))},
                  [this, ends](const MadAnswer& answer) {
                    if (!answer.mad) {
                      note_unanswered(ends.front(), MadAttribute::class_info, answer);
                      return;
                    }
                    const CounterAbilities abilities = decode_counter_abilities(*answer.mad);
                    abilities_[ends.front().node] = abilities;
                    for (const NetEnd& end : ends) ask_counters(end, abilities);
                  });
  }

  void ask_counters(const NetEnd& end, const CounterAbilities& abilities) {
    const auto ask = [&](MadAttribute attribute, auto decode) {
      exchange_.ask({.of = MadClass::performance,
                     .attribute = attribute,
                     .lid = static_cast<uint16_t>(lid_of(end)),
                     .port = static_cast<uint8_t>(end.port)},
                    [this, end, attribute, decode](const MadAnswer& answer) {
                      if (!answer.mad) {
                        note_unanswered(end, attribute, answer);
                        return;
                      }
                      for (const auto& [name, value] : decode(*answer.mad))
                        put(end, name, value, attribute);
                    });
    };
    ask(MadAttribute::port_counters,
        [abilities](const Mad& mad) { return decode_counters(mad, abilities); });
    if (abilities.extended)
      ask(MadAttribute::port_counters_extended,
          [abilities](const Mad& mad) { return decode_extended_counters(mad, abilities); });
  }

  // The counter of 64 bits replaces the small one, whichever came first.
  void put(const NetEnd& end, const std::string& name, uint64_t value, MadAttribute attribute) {
    PortCounts& counts = net().ports[end].counts;
    if (attribute == MadAttribute::port_counters_extended)
      counts[name] = value;
    else
      counts.try_emplace(name, value);
  }

  void tell_unread(ScanResult& out) {
    net().knows.firmware = firmware_read_ > 0;
    if (firmware_unread_ > 0) out.notes.push_back(said("fabric.firmware_unread", firmware_unread_));
    if (net().nodes.size() < 2) out.notes.push_back(said("fabric.alone"));
    if (wish_.counters && !net().knows.counters) out.notes.push_back(said("fabric.no_lids"));
  }

  MadExchange& exchange_;
  const ScanWish& wish_;
  const std::function<void(double)>& wait_;
  Walk walk_;
  std::map<size_t, CounterAbilities> abilities_;
  size_t firmware_read_ = 0, firmware_unread_ = 0;
};

}  // namespace

ScanResult scan_subnet(MadExchange& exchange, const ScanWish& wish,
                       const std::function<void(double seconds)>& wait) {
  return SubnetScan(exchange, wish, wait).run();
}

}  // namespace cb::net
