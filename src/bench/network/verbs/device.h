#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "bench/network/verbs/spec.h"
#include "sys/net/rdma_port.h"
#include "sys/net/verbs.h"

namespace cb::verbs {

// An opened port of a device.
struct Device {
  RdmaPort info;
  ContextPtr context;
  PdPtr pd;
  ibv_device_attr limits = {};
  ibv_port_attr port = {};

  const std::string& name() const { return name_; }
  bool soft() const { return info.driver == "rxe"; }  // the kernel does the transport's work
  std::string name_;                                  // "node03 mlx5_0", for messages
};

// Opens the port. If it is not active, throws Error that says what to look at.
std::shared_ptr<const Device> open_port(const RdmaPort& info, const std::string& host);

// What users know the parts of a spec by: the options of the case.
struct OptionNames {
  std::string subject = "clusterbench verbs";
  std::string depth = "--tx-depth";
  std::string entries = "--tx-depth × --qps";
  std::string bytes = "--size";
};

// Demands of the spec that this device cannot meet: "--inline 4096 is more than …". One line each.
std::vector<std::string> unsupported(const Device& device, const Spec& spec,
                                     const OptionNames& names = {});

// The GID to use; null for InfiniBand without one. Throws UsageError if the device lacks
// --gid-index, Error if an Ethernet port has no GID.
const RdmaGid* choose_gid(const Device& device, const Spec& spec);

// Opens each port once, whatever number of rounds it serves. Thread-safe.
class DevicePool {
 public:
  explicit DevicePool(std::string host) : host_(std::move(host)) {}
  std::shared_ptr<const Device> get(const RdmaPort& info);

 private:
  std::string host_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Device>> open_;
};

}  // namespace cb::verbs
