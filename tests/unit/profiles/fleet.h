// Made-up fleets for the shipped profiles: hosts of eight GPUs and eight NICs whose figures lie
// where published ones do (docs/guide/limits.md; where nothing is published, a little above the
// limit), and one planted defect. What is made up here was not measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/profile.h"
#include "core/units.h"
#include "judge/campaign_data.h"
#include "model/gpu_sku.h"
#include "model/pcie.h"

namespace cb::test {

enum class Defect {
  none,
  slow_gpu,           // 10 % slower than its fellows
  half_gpu_slot,      // 8 of 16 lanes
  one_nvlink_less,    //
  throttling,         // too hot under load: 80 % at the end
  slow_memory_clock,  // under load, 7 % below the highest
  corrected_errors,   // run up during the load, on a total that is large already
  nvlink_errors,      // the counter runs up during the load
  hang,               // the GPU stops answering under load
  odd_vbios,          //
  half_port_rate,     //
  all_ports_half,     // every port of every host: the fleet has no odd one
  port_down,          // its cable is out: it stands in no list of active ports
  small_mtu,          //
  half_nic_slot,      //
  link_flaps,         // a link goes down during the load
  odd_nic_firmware,   //
  slow_host_network,  // 15 % behind the other hosts, above the absolute limits of nothing
};

// Healthy figures of a product in bytes or operations per second.
struct ProductFigures {
  const char* name;    // of its profiles
  const char* driver;  // what the driver calls it
  double memory_bytes;
  std::map<std::string, double> products;  // dtype → rate
  double triad, to_device, to_host, peer;
  int nvlinks;
  double node, node_ring, pair, cluster, all_ring;  // collectives
  bool fast_ports;                                  // 400 Gb/s, else 200
};

inline const std::vector<ProductFigures>& products() {
  static const std::vector<ProductFigures> all{
      {"a100-sxm-80g",
       "NVIDIA A100-SXM4-80GB",
       85e9,
       {{"bf16", 253.7e12}, {"tf32", 127.4e12}, {"fp64", 18.95e12}, {"int8", 466.6e12}},
       1.70e12,
       26.0e9,
       26.0e9,
       275e9,
       12,
       231.6e9,
       228e9,
       192e9,
       192e9,
       186e9,
       false},
      {"a800-sxm",
       "NVIDIA A800-SXM4-80GB",
       85e9,
       {{"bf16", 253.7e12}, {"tf32", 127.4e12}, {"fp64", 18.95e12}},
       1.70e12,
       26.0e9,
       26.0e9,
       184e9,
       8,
       154e9,
       152e9,
       150e9,
       150e9,
       148e9,
       false},
      {"h100-sxm",
       "NVIDIA H100 80GB HBM3",
       85e9,
       {{"bf16", 730e12}, {"tf32", 373e12}, {"fp64", 60e12}, {"fp8_e4m3", 1290e12}},
       2.97e12,
       51e9,
       52e9,
       380e9,
       18,
       476e9,
       361e9,
       460e9,
       365e9,
       360e9,
       true},
      {"h200-sxm",
       "NVIDIA H200",
       150e9,
       {{"bf16", 730e12}, {"tf32", 373e12}, {"fp64", 60e12}, {"fp8_e4m3", 1301e12}},
       4.15e12,
       52e9,
       52e9,
       396e9,
       18,
       473e9,
       361e9,
       460e9,
       365e9,
       360e9,
       true},
      {"h20",
       "NVIDIA H20",
       102e9,
       {{"bf16", 139e12}, {"tf32", 69e12}, {"fp8_e4m3", 270e12}, {"int8", 270e12}},
       3.4e12,
       52e9,
       52e9,
       380e9,
       18,
       480e9,
       361e9,
       460e9,
       365e9,
       360e9,
       true},
      {"h800-sxm",
       "NVIDIA H800",
       85e9,
       {{"bf16", 730e12}, {"tf32", 373e12}, {"fp8_e4m3", 1290e12}},
       2.97e12,
       51e9,
       52e9,
       160e9,
       8,
       215e9,
       160e9,
       160e9,
       160e9,
       158e9,
       true},
      {"b200",
       "NVIDIA B200",
       191e9,
       {{"bf16", 1500e12}, {"tf32", 720e12}, {"fp8_e4m3", 3400e12}, {"fp4", 6000e12}},
       7.0e12,
       55e9,
       55e9,
       770e9,
       18,
       839e9,
       671e9,
       460e9,
       380e9,
       375e9,
       true}};
  return all;
}

class Fleet {
 public:
  // `product` null: hosts without GPUs, for the profiles of networks.
  Fleet(const Profile& profile, const ProductFigures* product, bool fast_ports, bool ethernet,
        Defect defect, int hosts)
      : profile_(profile),
        product_(product),
        sku_(product == nullptr ? nullptr : find_gpu_sku(product->driver, product->memory_bytes)),
        port_bits_(fast_ports ? 400e9 : 200e9),
        payload_(ethernet ? 4096.0 / 4178 : 4096.0 / 4122),
        defect_(defect) {
    for (int i = 1; i <= hosts; ++i) hosts_.push_back("n" + std::to_string(i));
  }

  Campaign campaign() const {
    Campaign out;
    out.hosts = hosts_;
    for (const std::string& host : hosts_) out.inventories.push_back(inventory(host));
    for (const Step& step : profile_.steps) {
      if (step.scope == Scope::cluster)
        add_job(out, step, "", hosts_);
      else
        for (const std::string& host : hosts_) add_job(out, step, host, {host});
    }
    return out;
  }

  // The part that has the defect, as the report names it.
  static constexpr const char* kHost = "n2";
  static constexpr const char* kGpu = "3";
  static constexpr const char* kNic = "mlx5_3";

 private:
  static constexpr int kParts = 8;

  bool is(Defect defect, const std::string& host) const {
    return defect_ == defect && host == kHost;
  }
  bool gpu_has(Defect defect, const std::string& host, const std::string& gpu) const {
    return is(defect, host) && gpu == kGpu;
  }
  bool nic_has(Defect defect, const std::string& host, int nic) const {
    return is(defect, host) && fmt::format("mlx5_{}", nic) == kNic;
  }

  HostInventory inventory(const std::string& host) const {
    HostInventory out{.host = host, .parts = {}};
    const auto add = [&](const char* kind, const std::string& id,
                         std::map<std::string, Attribute> attributes) {
      out.parts.push_back({kind, id, std::move(attributes), {}});
    };
    add("system", "0", {{"kernel", "5.15.0"}, {"product", "HGX-8"}, {"bios_version", "2.1"}});
    add("cpu", "0", {{"model", "Xeon"}, {"microcode", "0x1"}});
    add("memory", "0", {{"total_bytes", int64_t{1} << 41}});
    add("numa", "0", {});
    add("numa", "1", {});
    for (const char* library : {"nccl", "cublaslt"})
      add("library", library, {{"file", std::string("lib") + library + ".so.2"}});
    for (int i = 0; i < kParts; ++i) {
      const std::string gpu = std::to_string(i);
      if (product_ != nullptr)
        add("gpu", gpu,
            {{"model", std::string(product_->driver)},
             {"driver_version", "570.124.06"},
             {"vbios", gpu_has(Defect::odd_vbios, host, gpu) ? "96.00" : "97.00"},
             {"ecc", true},
             {"mig", false},
             {"power_limit_watts", int64_t{700}},
             {"topology", "X NV18"}});
      const bool odd = nic_has(Defect::odd_nic_firmware, host, i);
      add("rdma", fmt::format("mlx5_{}", i),
          {{"firmware", odd ? "28.38.1900" : "28.39.1002"},
           {"board_id", "MT_838"},
           {"rate_bits_per_second", static_cast<int64_t>(port_rate(host, i))},
           {"link", "4X"}});
    }
    return out;
  }

  double port_rate(const std::string& host, int nic) const {
    const bool half =
        defect_ == Defect::all_ports_half || nic_has(Defect::half_port_rate, host, nic);
    return half ? port_bits_ / 2 : port_bits_;
  }

  // Bytes per second one way: the port's payload, or half a slot's.
  double nic_rate(const std::string& host, int nic) const {
    const double lanes = nic_has(Defect::half_nic_slot, host, nic) ? 8 : 16;
    const int generation = port_bits_ > 300e9 ? 5 : 4;
    const double port = port_rate(host, nic) / 8 * payload_ * 0.98;
    const double slot = *pcie_bytes_per_second(generation, static_cast<int>(lanes)) * 0.95;
    return std::min(port, slot);
  }

  void add_job(Campaign& out, const Step& step, const std::string& host,
               const std::vector<std::string>& hosts) const {
    Document document;
    document.run.hosts = hosts;
    for (const Params& point : points(step)) {
      Record record{.case_name = step.case_name, .params = point};
      fill(record, step, hosts);
      document.records.push_back(std::move(record));
    }
    Job job{.step = step.id, .host = host, .state = JobState::done, .file = step.id + ".json"};
    job.document = std::move(document);
    out.jobs.push_back(std::move(job));
  }

  // A record for each combination of the lists of a step's parameters.
  static std::vector<Params> points(const Step& step) {
    std::vector<Params> out(1);
    for (const auto& [name, values] : step.params) {
      std::vector<Params> next;
      for (const Params& before : out) {
        for (const std::string& value : values) {
          Params p = before;
          set(p, name, value);
          next.push_back(std::move(p));
        }
      }
      out = std::move(next);
    }
    return out;
  }

  static void set(Params& params, const std::string& name, const std::string& value) {
    if (name == "size")
      params.set(name, parse_size(value).value_or(0));
    else
      params.set(name, value);
  }

  static std::string text(const Record& record, const char* name) {
    return record.params.has(name) ? record.params.text(name) : "";
  }

  static void number(Record& record, const Entity& entity, const std::string& name, double value,
                     std::optional<double> ceiling = {}) {
    Metric m{.name = name, .unit = name, .entity = record.entity(entity)};
    for (const double noise : {-0.001, 0.0, 0.001}) m.samples.add(value * (1 + noise));
    if (ceiling) m.ceiling = Ceiling{*ceiling, "made up"};
    record.metrics.push_back(std::move(m));
  }

  static void check(Record& record, const Entity& entity, const char* name, bool passed = true) {
    record.checks.push_back(
        {.name = name, .passed = passed, .entity = record.entity(entity), .finding = true});
  }

  void fill(Record& record, const Step& step, const std::vector<std::string>& hosts) const {
    for (const std::string& host : hosts) {
      if (step.case_name == "info") record.entity({host, "host", ""});
      if (step.case_name == "preflight") preflight(record, host);
      if (step.case_name == "health") health(record, step, host);
      if (step.case_name == "nics") nics(record, step, host);
      if (step.case_name == "bandwidth") copies(record, host);
      if (step.case_name == "gemm") gemm(record, host);
      if (step.case_name == "burn") burn(record, host);
    }
    if (step.case_name == "nccl") collectives(record, step, hosts);
    if (step.case_name == "verbs") transfers(record, hosts);
    if (step.case_name == "tcp") tcp(record, hosts);
    if (step.case_name == "locate") check(record, {"", "cluster", ""}, "no_suspect");
  }

  static void preflight(Record& record, const std::string& host) {
    const Entity self{host, "host", ""};
    for (const char* name : {"same_program", "rank_map", "idle_gpus"}) check(record, self, name);
    number(record, self, "clock_offset_seconds", 1e-4);
    number(record, self, "open_files", 1024 * 1024);
  }

  void health(Record& record, const Step& step, const std::string& host) const {
    const bool after = step.id == "health-after";
    for (const char* count : {"gpus", "gpus_on_pci"}) number(record, {host, "host", ""}, count, 8);
    for (int i = 0; i < kParts; ++i) {
      const Entity gpu{host, "gpu", std::to_string(i)};
      const auto put = [&](const char* name, double value) {
        record.metrics.push_back(
            {.name = name, .unit = "count", .entity = record.entity(gpu), .samples = {value}});
      };
      for (const char* on : {"reachable", "ecc_enabled", "power_limit_share", "persistence_mode",
                             "inforom_valid", "pcie_generation_share", "fabric_ready"})
        put(on, 1);
      for (const char* off :
           {"ecc_uncorrected_volatile", "sram_uncorrected_aggregate", "sram_threshold_exceeded",
            "rows_remapped_uncorrectable", "row_remap_pending", "row_remap_failed",
            "recovery_action", "hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown",
            "power_brake", "mig_mode", "compute_mode", "processes", "fabric_faults", "fatal_xids",
            "memory_used_bytes"})
        put(off, 0);
      put("pcie_lanes_share", gpu_has(Defect::half_gpu_slot, host, gpu.id) ? 0.5 : 1);
      // A running total that is not 0 from the start: only its growth counts.
      put("pcie_replays", 7);
      put("ecc_corrected_volatile",
          after && gpu_has(Defect::corrected_errors, host, gpu.id) ? 60001 : 50000);
      put("nvlink_errors", after && gpu_has(Defect::nvlink_errors, host, gpu.id) ? 12 : 0);
      put("temperature_celsius", 35);
      put("memory_temperature_celsius", 40);
      put("nvlinks_active",
          product_->nvlinks - (gpu_has(Defect::one_nvlink_less, host, gpu.id) ? 1 : 0));
    }
  }

  void nics(Record& record, const Step& step, const std::string& host) const {
    const bool down = is(Defect::port_down, host);
    number(record, {host, "host", ""}, "ports_active", down ? kParts - 1 : kParts);
    for (int i = 0; i < kParts; ++i) {
      if (nic_has(Defect::port_down, host, i)) continue;
      const Entity nic{host, "nic", fmt::format("mlx5_{}", i)};
      const auto put = [&](const char* name, double value) {
        record.metrics.push_back(
            {.name = name, .unit = "count", .entity = record.entity(nic), .samples = {value}});
      };
      put("rate_bits_per_second", port_rate(host, i));
      put("mtu_bytes", nic_has(Defect::small_mtu, host, i) ? 1024 : 4096);
      put("pcie_lanes_share", nic_has(Defect::half_nic_slot, host, i) ? 0.5 : 1);
      put("pcie_generation_share", 1);
      const bool flapped = step.id == "nics-after" && nic_has(Defect::link_flaps, host, i);
      put("link_downed", flapped ? 4 : 3);  // three when it was cabled
      for (const char* zero : {"receive_errors", "link_recoveries", "symbol_errors"}) put(zero, 0);
    }
  }

  // What a GPU gets of a rate that depends on itself alone.
  double of_gpu(const std::string& host, const std::string& gpu, double rate) const {
    return gpu_has(Defect::slow_gpu, host, gpu) ? 0.9 * rate : rate;
  }

  void copies(Record& record, const std::string& host) const {
    const std::string op = text(record, "op");
    for (int i = 0; i < kParts; ++i) {
      const Entity gpu{host, "gpu", std::to_string(i)};
      check(record, gpu, "pattern");
      if (op.starts_with("peer")) {
        peers(record, gpu);
        continue;
      }
      const double slot = gpu_has(Defect::half_gpu_slot, host, gpu.id) ? 0.5 : 1;
      const double rate = op == "host_to_device"   ? slot * product_->to_device
                          : op == "device_to_host" ? slot * product_->to_host
                          : op == "two_way"        ? slot * 1.6 * product_->to_device
                                                   : of_gpu(host, gpu.id, product_->triad);
      const bool memory = op == "copy" || op == "triad" || op == "read";
      number(record, gpu, "bytes_per_second", rate,
             memory ? sku_->memory_bytes_per_second
                    : *pcie_bytes_per_second(sku_->pcie_generation, 16));
    }
  }

  void peers(Record& record, const Entity& gpu) const {
    for (int j = 0; j < kParts; ++j) {
      const std::string peer = std::to_string(j);
      if (peer == gpu.id) continue;
      const bool less = gpu_has(Defect::one_nvlink_less, gpu.host, gpu.id) ||
                        gpu_has(Defect::one_nvlink_less, gpu.host, peer);
      const double share = less ? (product_->nvlinks - 1.0) / product_->nvlinks : 1;
      number(record, {gpu.host, "pair", gpu.id, gpu.host + ":" + peer}, "bytes_per_second",
             share * product_->peer, *sku_->nvlink_bytes_per_second);
    }
  }

  void gemm(Record& record, const std::string& host) const {
    const std::string dtype = text(record, "dtype");
    for (int i = 0; i < kParts; ++i) {
      const Entity gpu{host, "gpu", std::to_string(i)};
      check(record, gpu, "product");
      number(record, gpu, dtype == "int8" ? "operations_per_second" : "flops_per_second",
             of_gpu(host, gpu.id, product_->products.at(dtype)), *peak_of(sku_, dtype));
    }
  }

  void burn(Record& record, const std::string& host) const {
    const std::string phase = text(record, "phase");
    for (int i = 0; i < kParts; ++i) {
      const Entity gpu{host, "gpu", std::to_string(i)};
      const bool hot = gpu_has(Defect::throttling, host, gpu.id);
      const bool hangs = gpu_has(Defect::hang, host, gpu.id);
      const char* result = phase == "sm" ? "sm" : phase == "march" ? "memory" : "result";
      check(record, gpu, result);
      check(record, gpu, "gpu");
      if (phase == "bf16") check(record, gpu, "finite");
      check(record, gpu, "hang", !hangs);
      if (hangs) continue;
      const double rate = phase == "bf16" ? product_->products.at("bf16") : 0.9 * product_->triad;
      number(record, gpu, phase == "bf16" ? "flops_per_second" : "bytes_per_second",
             of_gpu(host, gpu.id, rate) * (hot ? 0.85 : 1));
      number(record, gpu, "sustained_share", hot ? 0.8 : 0.995);
      number(record, gpu, "throttled_share", hot ? 0.6 : 0);
      number(record, gpu, "share_of_power_limit", hot ? 0.80 : 0.96);
      number(record, gpu, "temperature_celsius", hot ? 88 : 68);
      number(record, gpu, "memory_clock_share",
             gpu_has(Defect::slow_memory_clock, host, gpu.id) ? 0.93 : 1);
    }
  }

  void collectives(Record& record, const Step& step, const std::vector<std::string>& hosts) const {
    const Entity all{"", "cluster", ""};
    check(record, all, "data");
    const std::string op = text(record, "op");
    const bool node = step.id == "nccl-node", two = hosts.size() == 2;
    const double ports = port_bits_ / 8 * 0.96 * (defect_ == Defect::all_ports_half ? 0.5 : 1);
    const double across = std::min(two ? product_->pair : product_->cluster, 16 * ports);
    const double nodes = static_cast<double>(hosts.size());
    const double rate = op == "alltoall"     ? nodes / (nodes - 1) * ports
                        : op == "all_reduce" ? (node ? product_->node : across)
                                             : (node ? product_->node_ring : product_->all_ring);
    number(record, all, "bus_bytes_per_second", rate);
  }

  // Every NIC with its namesake of the next host.
  void transfers(Record& record, const std::vector<std::string>& hosts) const {
    const bool two_way = text(record, "direction") == "two-way";
    const std::string op = text(record, "op");
    for (size_t h = 0; h < hosts.size(); ++h) {
      const std::string& peer = hosts[(h + 1) % hosts.size()];
      for (int i = 0; i < kParts; ++i) {
        if (nic_has(Defect::port_down, hosts[h], i) || nic_has(Defect::port_down, peer, i))
          continue;
        const std::string nic = fmt::format("mlx5_{}", i);
        const Entity pair{hosts[h], "pair", nic, peer + ":" + nic};
        check(record, pair, "data");
        check(record, {hosts[h], "nic", nic}, "lossless");
        const double behind = is(Defect::slow_host_network, hosts[h]) ? 0.85 : 1;
        const double rate =
            behind * std::min(nic_rate(hosts[h], i), nic_rate(peer, i)) * (two_way ? 1.96 : 1);
        number(record, pair, "bytes_per_second", rate,
               port_bits_ / 8 * payload_ * (two_way ? 2 : 1));
        number(record, pair, "messages_per_second", behind * 40e6);
        if (record.params.has("schedule") && text(record, "schedule") == "victim")
          number(record, pair, "victim_share", 0.97);
        number(record, pair, op == "read" ? "round_trip_seconds" : "half_round_trip_seconds",
               op == "read" ? 3.6e-6 : 1.9e-6);
      }
      number(record, {hosts[h], "host", ""}, "received_fairness", 0.99);
    }
  }

  static void tcp(Record& record, const std::vector<std::string>& hosts) {
    for (size_t h = 0; h < hosts.size(); ++h) {
      const Entity pair{hosts[h], "pair", "eth0", hosts[(h + 1) % hosts.size()] + ":eth0"};
      check(record, pair, "data");
      number(record, pair, "bytes_per_second", 11e9);
    }
  }

  const Profile& profile_;
  const ProductFigures* product_;
  const GpuSku* sku_;
  double port_bits_, payload_;
  Defect defect_;
  std::vector<std::string> hosts_;
};

}  // namespace cb::test
