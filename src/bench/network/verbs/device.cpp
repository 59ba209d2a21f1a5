#include "bench/network/verbs/device.h"

#include <cerrno>
#include <vector>

#include <fmt/format.h>

namespace cb::verbs {

bool is_atomic(Verb verb) { return verb == Verb::fetch_add || verb == Verb::compare_swap; }
bool is_round_trip(Verb verb) { return verb == Verb::read || is_atomic(verb); }

std::shared_ptr<const Device> open_port(const RdmaPort& info, const std::string& host) {
  auto device = std::make_shared<Device>();
  device->name_ = host + " " + info.name();
  if (!info.active())
    throw Error(said(
        "verbs.port_state", device->name_, info.state.empty() ? "in an unknown state" : info.state,
        info.physical_state.empty() ? "unknown" : info.physical_state,
        info.ethernet() ? said("verbs.cable_ethernet", info.netdev) : said("verbs.cable")));
  device->info = info;
  device->context = open_device(info.device);
  if (const int rc = ibv_query_device(device->context.get(), &device->limits); rc != 0)
    fail("ibv_query_device", device->name_, rc);
  if (const int rc =
          ibv_query_port(device->context.get(), static_cast<uint8_t>(info.port), &device->port);
      rc != 0)
    fail("ibv_query_port", device->name_, rc);
  device->pd.reset(ibv_alloc_pd(device->context.get()));
  if (!device->pd) fail("ibv_alloc_pd", device->name_, errno);
  return device;
}

std::vector<std::string> unsupported(const Device& device, const Spec& spec,
                                     const OptionNames& names) {
  std::vector<std::string> out;
  const ibv_device_attr& limits = device.limits;
  const auto too_much = [&](const std::string& option, int64_t asked, int64_t most,
                            const char* what) {
    if (asked > most)
      out.push_back(fmt::format("{} {} is more than the {} {} that {} has", option, asked, most,
                                what, device.name()));
  };
  too_much("--qps", spec.qps, limits.max_qp - 1, "queue pairs");
  too_much(names.depth, spec.depth, limits.max_qp_wr, "requests per queue pair");
  too_much(names.entries, int64_t{spec.depth} * spec.qps, limits.max_cqe,
           "completion queue entries");
  too_much("--outstanding-reads", spec.outstanding_reads, limits.max_qp_rd_atom,
           "outstanding reads");
  if (is_atomic(spec.verb) && limits.atomic_cap == IBV_ATOMIC_NONE)
    out.push_back(fmt::format("{} has no atomic operations", device.name()));
  const uint32_t mtu = mtu_bytes(device.port.active_mtu);
  too_much("--mtu", spec.mtu, mtu, "bytes of active MTU");
  if (spec.service == Service::ud)
    too_much(names.bytes, static_cast<int64_t>(spec.bytes), mtu, "bytes of MTU, the most of UD,");
  too_much(names.bytes, static_cast<int64_t>(spec.bytes), device.port.max_msg_sz,
           "bytes a message");
  return out;
}

const RdmaGid* choose_gid(const Device& device, const Spec& spec) {
  if (!spec.gid_index) {
    const RdmaGid* gid = best_gid(device.info);
    if (gid == nullptr && device.info.ethernet())
      throw Error(fmt::format("{}: no GID; give {} an address and bring it up", device.name(),
                              device.info.netdev.empty() ? "its interface" : device.info.netdev));
    return gid;
  }
  std::string have;
  for (const RdmaGid& gid : device.info.gids) {
    if (gid.index == *spec.gid_index) return &gid;
    have += fmt::format("{}{}", have.empty() ? "" : " ", gid.index);
  }
  throw UsageError("clusterbench verbs", "--gid-index",
                   fmt::format("{} has no GID {}; it has {}", device.name(), *spec.gid_index,
                               have.empty() ? "none" : have));
}

std::shared_ptr<const Device> DevicePool::get(const RdmaPort& info) {
  const std::lock_guard lock(mutex_);
  auto& slot = open_[info.name()];
  if (!slot) slot = open_port(info, host_);
  return slot;
}

}  // namespace cb::verbs
