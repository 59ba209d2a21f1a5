// Modules of an InfiniBand subnet's switches, asked in band: which local port is which (PLIB), then
// each port's page of its module (PDDR), once in microwatts and once in decibels, since only the
// difference shows which of them the firmware knows.
#include "bench/network/optics/subnet_modules.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/network/subnet/walk.h"
#include "model/fabric/register_mad.h"
#include "model/optics/cage.h"

namespace cb::net {
namespace {

constexpr int kSwitchLinkUp = 5;
constexpr int kBusyPasses = 3;
constexpr double kBusySeconds = 0.2;

// What a port of a switch has answered.
struct PortPages {
  int local_port = 0;
  std::optional<ModulePage> exact, coarse;
  Said why_not = {};
  bool failed = false;
};

class SubnetModuleReader {
 public:
  SubnetModuleReader(MadExchange& exchange, const SubnetModulesWish& wish,
                     const std::function<void(double)>& wait)
      : exchange_(exchange), wish_(wish), wait_(wait) {}

  SubnetModules run() {
    walk_ = walk_subnet(exchange_, wish_.management_key);
    for (size_t node = 0; node < walk_.nodes.size(); ++node) {
      if (net().nodes[node].kind != NetNodeKind::network_switch) continue;
      ++out_.switches;
      ask_abilities(node);
    }
    settle();
    for (auto& [node, ports] : ports_) {
      if (ports.empty())
        fail(node, unmapped_.contains(node) ? unmapped_.at(node) : said("optics.switch_no_map"));
      for (auto& [port, pages] : ports) ask_pages(node, pages);
    }
    settle();
    for (auto& [node, ports] : ports_) add_ports(node, ports);
    for (const auto& [node, why] : failed_) add_failed(node, why);
    if (net().nodes.size() < 2) out_.notes.push_back(said("fabric.alone"));
    tell_failed();
    tell_unanswered();
    return std::move(out_);
  }

 private:
  using Ports = std::map<int, PortPages>;  // by InfiniBand port
  struct Busy {
    MadQuestion question;
    OnMadAnswer then;
  };

  Net& net() { return walk_.net; }

  // Its description, where no other switch has the same.
  std::string name_of(size_t node) {
    const NetNode& n = net().nodes[node];
    const auto same = std::ranges::count(net().nodes, n.name, &NetNode::name);
    return n.name.empty() || same > 1 ? n.id : n.name;
  }

  void fail(size_t node, const Said& why) { failed_.try_emplace(node, why); }

  void ask(const MadQuestion& question, const OnMadAnswer& then) {
    exchange_.ask(question, [this, question, then](const MadAnswer& answer) {
      if (answer.refused && is_register_busy(answer.status) && pass_ < kBusyPasses)
        busy_.push_back({question, then});
      else
        then(answer);
    });
  }

  // Until all have answered; who is busy is asked again after a while.
  void settle() {
    for (pass_ = 0;; ++pass_) {
      exchange_.run();
      if (busy_.empty()) break;
      wait_(kBusySeconds * (pass_ + 1));
      for (const Busy& again : std::exchange(busy_, {})) ask(again.question, again.then);
    }
    pass_ = 0;
  }

  uint16_t lid_of(size_t node) {
    const auto at = net().lids.find({node, 0});
    return static_cast<uint16_t>(at == net().lids.end() ? 0 : at->second);
  }

  void ask_abilities(size_t node) {
    const uint32_t vendor = walk_.nodes[node].info.vendor;
    if (vendor != kMellanoxVendor) {
      fail(node, said("optics.switch_foreign", fmt::format("{:06x}", vendor)));
    } else if (lid_of(node) == 0) {
      fail(node, said("optics.switch_no_lid"));
    } else {
      ports_[node];
      ask({.of = MadClass::vendor,
           .attribute = MadAttribute::general_info,
           .lid = lid_of(node),
           .key = wish_.vendor_key},
          [this, node](const MadAnswer& answer) {
            if (!answer.mad)
              fail(node, answer.refused ? said("optics.switch_refuses", answer.why)
                                        : said("optics.switch_silent", answer.why));
            else if (!offers_registers(*answer.mad))
              fail(node, said("optics.switch_old"));
            else
              ask_map(node);
          });
    }
  }

  // Numbers that the switch does not have are refused: that is no failure.
  void ask_map(size_t node) {
    const int ports = walk_.nodes[node].info.ports;
    for (int local = 1; local <= local_ports_of(ports); ++local) {
      ask(ask_port_map(lid_of(node), local, wish_.vendor_key),
          [this, node, ports, local](const MadAnswer& answer) {
            if (!answer.mad && !answer.refused)
              unmapped_.try_emplace(node, said("optics.switch_silent", answer.why));
            const auto port = answer.mad ? decode_port_map(*answer.mad, local) : std::nullopt;
            if (port && *port >= 1 && *port <= ports)
              ports_[node].try_emplace(*port, PortPages{.local_port = local});
          });
    }
  }

  void ask_pages(size_t node, PortPages& pages) {
    if (failed_.contains(node)) return;
    for (const LightUnit unit : {LightUnit::microwatts, LightUnit::decibels}) {
      ask(ask_module_page(lid_of(node), pages.local_port, unit, wish_.vendor_key),
          [&pages, unit](const MadAnswer& answer) {
            auto& page = unit == LightUnit::microwatts ? pages.exact : pages.coarse;
            if (answer.mad) page = decode_module_page_of(*answer.mad, pages.local_port);
            if (page) return;
            pages.failed = true;
            pages.why_not = answer.mad ? said("optics.page_other")
                            : answer.refused
                                ? said("optics.page_unread", register_status_text(answer.status))
                                : said("optics.page_unread", answer.why);
          });
    }
  }

  bool is_up(const NetEnd& end) {
    const auto at = net().ports.find(end);
    return at != net().ports.end() && at->second.physical == kSwitchLinkUp;
  }

  void add_ports(size_t node, const Ports& ports) {
    if (failed_.contains(node)) return;
    std::vector<std::pair<int, FittedModule>> all;
    for (const auto& [port, pages] : ports) {
      if (pages.exact && !is_plugged(*pages.exact)) continue;
      FittedModule fitted{.host = name_of(node)};
      if (!pages.failed) fitted.module = decode_module_page(*pages.exact, *pages.coarse);
      if (!fitted.module) fitted.why_not = pages.failed ? pages.why_not : said("optics.page_kind");
      all.emplace_back(port, std::move(fitted));
    }
    for (int port = 1; port <= walk_.nodes[node].info.ports; ++port) {
      if (ports.contains(port) || !is_up({node, port})) continue;
      all.emplace_back(
          port, FittedModule{.host = name_of(node), .why_not = said("optics.switch_no_map")});
    }
    std::ranges::sort(all, {}, [](const auto& one) { return one.first; });
    join_cages(all);
    if (unmapped_.contains(node))
      out_.modules.push_back(
          {.host = name_of(node), .port = "further ports", .why_not = unmapped_.at(node)});
  }

  // Neighbouring ports of one cage have one module. Where their readings differ they have two, and
  // one number is a copy: both are judged.
  void join_cages(std::vector<std::pair<int, FittedModule>>& all) {
    for (size_t i = 0; i < all.size(); ++i) {
      FittedModule& fitted = all[i].second;
      fitted.port = fmt::format("port {}", all[i].first);
      while (i + 1 < all.size() && all[i + 1].first == all[i].first + 1 &&
             is_one_module(fitted, all[i + 1]))
        fitted.port += fmt::format("+{}", all[++i].first);
      out_.modules.push_back(std::move(fitted));
    }
  }
  bool is_one_module(const FittedModule& a, const std::pair<int, FittedModule>& next) {
    const FittedModule& b = next.second;
    if (!a.module || !b.module || !is_one_serial(*a.module, *b.module)) return false;
    if (reads_alike(*a.module, *b.module)) return true;
    out_.notes.push_back(said("optics.same_serial", a.host, a.port,
                              fmt::format("port {}", next.first), a.module->serial));
    return false;
  }

  // Each link that is up has a module that was not read.
  void add_failed(size_t node, const Said& why) {
    const std::string host = name_of(node);
    const size_t before = out_.modules.size();
    for (int port = 1; port <= walk_.nodes[node].info.ports; ++port) {
      if (is_up({node, port}))
        out_.modules.push_back(
            {.host = host, .port = fmt::format("port {}", port), .why_not = why});
    }
    if (out_.modules.size() == before)
      out_.modules.push_back({.host = host, .port = "all ports", .why_not = why});
  }

  void tell_failed() {
    std::map<std::string, std::vector<size_t>> by_reason;
    for (const auto& [node, why] : failed_) by_reason[why.text()].push_back(node);
    for (const auto& [reason, nodes] : by_reason)
      out_.notes.push_back(said("optics.switches_unread", nodes.size(), out_.switches,
                                name_of(nodes.front()), failed_.at(nodes.front())));
  }

  // What stands behind them is not known: modules that were read do not stand for all.
  void tell_unanswered() {
    const auto& unanswered = net().unanswered;
    if (unanswered.empty()) return;
    const Unanswered& first = unanswered.front();
    const Said why = said("optics.behind", first.attribute, first.why);
    out_.notes.push_back(
        said("optics.subnet_unanswered", unanswered.size(), net().end_name(first.after), why));
    for (const Unanswered& u : unanswered)
      out_.modules.push_back({.host = name_of(u.after.node),
                              .port = fmt::format("behind port {}", u.after.port),
                              .why_not = said("optics.behind", u.attribute, u.why)});
  }

  MadExchange& exchange_;
  const SubnetModulesWish& wish_;
  const std::function<void(double)>& wait_;
  Walk walk_;
  int pass_ = 0;
  std::vector<Busy> busy_;
  std::map<size_t, Ports> ports_;  // by node: switches that were asked
  std::map<size_t, Said> failed_;
  std::map<size_t, Said> unmapped_;  // some of their local ports did not answer
  SubnetModules out_;
};

}  // namespace

SubnetModules read_subnet_modules(MadExchange& exchange, const SubnetModulesWish& wish,
                                  const std::function<void(double seconds)>& wait) {
  return SubnetModuleReader(exchange, wish, wait).run();
}

}  // namespace cb::net
