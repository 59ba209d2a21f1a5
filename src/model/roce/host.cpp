#include "model/roce/host.h"

#include <nlohmann/json.hpp>

#include "core/json/json_text.h"

namespace cb {
namespace {

using nlohmann::json;

template <typename T>
void put_if(json& to, const char* key, const std::optional<T>& value) {
  if (value) to[key] = *value;
}
template <typename T>
void get_if_there(const json& from, const char* key, std::optional<T>& value) {
  if (from.contains(key)) value = from.at(key).get<T>();
}

json dcb_json(const Dcb& dcb) {
  json out = {{"algorithm", dcb.algorithm},
              {"bandwidth", dcb.bandwidth},
              {"trusted", dcb.trusted},
              {"rules", json::array()}};
  put_if(out, "pfc", dcb.pfc);
  put_if(out, "class", dcb.class_of_priority);
  for (const DcbRule& rule : dcb.rules)
    out["rules"].push_back({rule.selector, rule.priority, rule.value});
  return out;
}

Dcb dcb_from(const json& from) {
  Dcb out;
  get_if_there(from, "pfc", out.pfc);
  get_if_there(from, "class", out.class_of_priority);
  out.algorithm = from.at("algorithm");
  out.bandwidth = from.at("bandwidth");
  out.trusted = from.at("trusted").get<std::vector<int>>();
  for (const json& rule : from.at("rules"))
    out.rules.push_back({rule.at(0), rule.at(1), rule.at(2)});
  return out;
}

json neighbour_json(const LldpNeighbour& n) {
  json out = {{"chassis", n.chassis},
              {"port", n.port},
              {"description", n.description},
              {"name", n.name},
              {"dcb", dcb_json(n.dcb)}};
  put_if(out, "frame_bytes", n.frame_bytes);
  return out;
}

LldpNeighbour neighbour_from(const json& from) {
  LldpNeighbour out{.chassis = from.at("chassis"),
                    .port = from.at("port"),
                    .description = from.at("description"),
                    .name = from.at("name"),
                    .dcb = dcb_from(from.at("dcb"))};
  get_if_there(from, "frame_bytes", out.frame_bytes);
  return out;
}

json nic_json(const RoceNic& nic) {
  json out = {{"host", nic.host},        {"device", nic.device},  {"port", nic.port_name},
              {"driver", nic.driver},    {"trust", nic.trust},    {"address", nic.address},
              {"bits", nic.prefix_bits}, {"gids", json::array()}, {"unread", json::object()}};
  for (const RoceGid& gid : nic.gids)
    out["gids"].push_back({gid.index, gid.version_2 ? 1 : 0, gid.ipv4 ? 1 : 0});
  for (const auto& [what, why] : nic.unread) out["unread"][what] = pack_said(why);
  if (nic.dcb) out["dcb"] = dcb_json(*nic.dcb);
  if (nic.pause) out["pause"] = {nic.pause->receive, nic.pause->send};
  if (nic.ecn) out["ecn"] = {nic.ecn->notifies, nic.ecn->reacts};
  if (nic.neighbour) out["neighbour"] = neighbour_json(*nic.neighbour);
  put_if(out, "cnp_dscp", nic.cnp_dscp);
  put_if(out, "cnp_priority", nic.cnp_priority);
  put_if(out, "mtu", nic.mtu_bytes);
  put_if(out, "rdma_mtu", nic.rdma_mtu_bytes);
  put_if(out, "forced", nic.forced_class);
  put_if(out, "tos", nic.connection_tos);
  put_if(out, "arp_ignore", nic.arp_ignore);
  put_if(out, "arp_announce", nic.arp_announce);
  put_if(out, "filter", nic.reverse_filter);
  return out;
}

RoceNic nic_from(const json& from) {
  RoceNic out{.host = from.at("host"),
              .device = from.at("device"),
              .port_name = from.at("port"),
              .driver = from.at("driver"),
              .trust = from.at("trust"),
              .address = from.at("address"),
              .prefix_bits = from.at("bits")};
  for (const json& gid : from.at("gids"))
    out.gids.push_back({gid.at(0), gid.at(1) == 1, gid.at(2) == 1});
  for (const auto& [what, why] : from.at("unread").items())
    out.unread[what] = unpack_said(why.get<std::string>());
  if (from.contains("dcb")) out.dcb = dcb_from(from.at("dcb"));
  if (from.contains("pause")) out.pause = {from.at("pause").at(0), from.at("pause").at(1)};
  if (from.contains("ecn")) out.ecn = {from.at("ecn").at(0), from.at("ecn").at(1)};
  if (from.contains("neighbour")) out.neighbour = neighbour_from(from.at("neighbour"));
  get_if_there(from, "cnp_dscp", out.cnp_dscp);
  get_if_there(from, "cnp_priority", out.cnp_priority);
  get_if_there(from, "mtu", out.mtu_bytes);
  get_if_there(from, "rdma_mtu", out.rdma_mtu_bytes);
  get_if_there(from, "forced", out.forced_class);
  get_if_there(from, "tos", out.connection_tos);
  get_if_there(from, "arp_ignore", out.arp_ignore);
  get_if_there(from, "arp_announce", out.arp_announce);
  get_if_there(from, "filter", out.reverse_filter);
  return out;
}

}  // namespace

std::string roce_host_text(const RoceHost& host) {
  json out = {{"host", host.host}, {"nics", json::array()}, {"listened", host.listened}};
  for (const RoceNic& nic : host.nics) out["nics"].push_back(nic_json(nic));
  put_if(out, "nccl_class", host.nccl_class);
  put_if(out, "nccl_gid", host.nccl_gid);
  if (host.rules) {
    out["rules"] = json::array();
    for (const SourceRule& rule : *host.rules)
      out["rules"].push_back({rule.address, rule.bits, rule.table});
  }
  return dump_json(out);
}

RoceHost roce_host_from_text(const std::string& text) {
  const json from = parse_json(text, "roce");
  RoceHost out{.host = from.at("host"), .listened = from.at("listened")};
  for (const json& nic : from.at("nics")) out.nics.push_back(nic_from(nic));
  get_if_there(from, "nccl_class", out.nccl_class);
  get_if_there(from, "nccl_gid", out.nccl_gid);
  if (from.contains("rules")) {
    out.rules.emplace();
    for (const json& rule : from.at("rules"))
      out.rules->push_back({rule.at(0), rule.at(1), rule.at(2)});
  }
  return out;
}

}  // namespace cb
