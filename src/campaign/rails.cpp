#include "campaign/rails.h"

#include <algorithm>
#include <functional>

#include "core/text.h"

namespace cb {
namespace {

constexpr std::string_view kNumber = "{rail}", kPort = "{rdma}", kInterface = "{nic}";

std::string replaced(std::string text, std::string_view word, const std::string& by) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
  return text;
}

void replace_in(Step& step, std::string_view word, const std::string& by) {
  for (auto& [name, values] : step.params) {
    for (std::string& value : values) value = replaced(value, word, by);
  }
  for (auto& [name, value] : step.env) value = replaced(value, word, by);
}

// The name that every host has at this place, or the two hosts that differ.
std::optional<Said> find_name(const RailHosts& hosts, size_t at,
                              const std::function<std::string(const Part&)>& name_of,
                              std::string& name) {
  std::string first;
  for (const auto& [host, inventory] : hosts) {
    const std::string own = name_of(*rails_of_host(*inventory)[at]);
    if (own.empty()) return said("rail.nameless", terminal_safe(host), at);
    if (first.empty()) {
      first = host;
      name = own;
    } else if (own != name) {
      return said("rail.other_name", at, terminal_safe(own), terminal_safe(host),
                  terminal_safe(name), terminal_safe(first));
    }
  }
  return std::nullopt;
}

// Why the hosts do not have as many rails as the profile says.
std::optional<Said> count_problem(const Step& step, const RailHosts& hosts) {
  for (const auto& [host, inventory] : hosts) {
    if (inventory == nullptr) return said("rail.unknown", terminal_safe(host));
    const size_t has = rails_of_host(*inventory).size();
    if (has != static_cast<size_t>(step.rails))
      return said("rail.count", terminal_safe(host), has, step.rails);
  }
  return std::nullopt;
}

}  // namespace

std::vector<const Part*> rails_of_host(const HostInventory& inventory) {
  std::vector<const Part*> out;
  for (const Part* port : inventory.all("rdma")) {
    if (text_of(port, "state") == "ACTIVE") out.push_back(port);
  }
  return out;
}

RailHosts rail_hosts(const std::vector<HostSlots>& hosts,
                     const std::map<std::string, HostInventory>& inventories) {
  RailHosts out;
  for (const HostSlots& h : hosts) {
    const auto found = inventories.find(h.name);
    out.emplace_back(h.name, found == inventories.end() ? nullptr : &found->second);
  }
  return out;
}

bool uses_rail_word(const Step& step, std::string_view word) {
  const auto has = [&](const std::string& text) { return text.find(word) != std::string::npos; };
  return std::ranges::any_of(step.params,
                             [&](const auto& p) { return std::ranges::any_of(p.second, has); }) ||
         std::ranges::any_of(step.env, [&](const auto& v) { return has(v.second); });
}

Rail find_rail(const Step& step, int number, const RailHosts& hosts) {
  Rail out{.number = number};
  const bool port = uses_rail_word(step, kPort), interface = uses_rail_word(step, kInterface);
  if (!port && !interface) return out;  // the number of a rail needs no NIC: of GPUs, for example
  const auto at = static_cast<size_t>(number);
  out.problem = count_problem(step, hosts);
  if (!out.problem && port)
    out.problem = find_name(
        hosts, at, [](const Part& p) { return p.id; }, out.rdma);
  if (!out.problem && interface)
    out.problem = find_name(
        hosts, at, [](const Part& p) { return text_of(&p, "netdev").value_or(""); }, out.nic);
  return out;
}

Step step_on_rail(Step step, const Rail& rail) {
  replace_in(step, kNumber, std::to_string(rail.number));
  if (!rail.rdma.empty()) replace_in(step, kPort, rail.rdma);
  if (!rail.nic.empty()) replace_in(step, kInterface, rail.nic);
  return step;
}

}  // namespace cb
