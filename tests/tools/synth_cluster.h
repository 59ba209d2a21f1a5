// The made-up cluster: what its hosts consist of, how fast each part is, and what is wrong with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/profile.h"
#include "core/result.h"

namespace cb::synth {

constexpr int kGpus = 8;

// Seconds after the first of November 2026 as the documents write a time.
inline std::string time_at(int seconds) {
  return fmt::format("2026-11-{:02}T{:02}:{:02}:{:02}Z", 1 + seconds / 86400, seconds / 3600 % 24,
                     seconds / 60 % 60, seconds % 60);
}

// What one job brought.
struct Result {
  bool lost = false;  // it never began
  Said failure;       // it ended with an error
  std::vector<std::string> hosts;
  std::vector<HostInventory> inventories;
  std::vector<Record> records;
};

class Cluster {
 public:
  Cluster(int hosts, uint64_t seed, bool healthy) : random_(seed), healthy_(healthy) {
    for (int i = 0; i < hosts; ++i) hosts_.push_back(fmt::format("node{:04}", i + 1));
  }

  int size() const { return static_cast<int>(hosts_.size()); }
  const std::vector<std::string>& hosts() const { return hosts_; }

  // "criterion entity" of every planted defect.
  std::vector<std::string> planted() const {
    if (healthy_) return {};
    std::vector<std::string> out{"gemm.bf16 " + slow_host() + ":3",
                                 "gemm.bf16 " + slower_host() + ":6",
                                 "gemm.correct " + wrong_host() + ":5",
                                 "h2d " + narrow_host() + ":1",
                                 "uniform " + driver_host(),
                                 "write.rail " + nic_host() + ":mlx5_3",
                                 "checkpoint " + failed_host(),
                                 "links " + link_host() + ":mlx5_2 → " + link_peer() + ":mlx5_2",
                                 "uniform " + missing_host()};
    for (int g = 0; g < kGpus; ++g) out.push_back(fmt::format("burn.rate {}:{}", hot_host(), g));
    return out;
  }

  Result run(const Step& step, const std::string& host, int begin) {
    Result out;
    if (!host.empty() && host == missing_host()) {
      out.lost = step.id != "info";
      out.failure = "ssh: connect to host " + host + " port 22: No route to host";
      return out;
    }
    if (host == failed_host() && step.id == "checkpoint") {
      out.failure =
          said("end.of_log", said("end.code", 4),
               said("io.request_failed", "write", 1048576, 0, "/mnt/share/rank0.dat",
                    said("io.failure", "Stale file handle", "ESTALE", said("next.server_forgot"))));
      return out;
    }
    const auto present = [&](const std::string& h) { return h != missing_host(); };
    if (host.empty())
      std::copy_if(hosts_.begin(), hosts_.end(), std::back_inserter(out.hosts), present);
    else
      out.hosts = {host};
    if (!host.empty()) out.inventories = {inventory(host)};
    started_ = time_at(begin);
    ended_ = time_at(begin + 300);
    out.records = records(step, host, out.hosts);
    return out;
  }

 private:
  // ---- who has a defect; an empty name is nobody ----
  std::string at(int part, int of) const {
    return healthy_ ? "" : hosts_[static_cast<size_t>(size() * part / of)];
  }
  std::string slow_host() const { return at(1, 7); }
  std::string slower_host() const { return at(2, 7); }
  std::string wrong_host() const { return at(2, 7); }
  std::string narrow_host() const { return at(3, 7); }
  std::string hot_host() const { return at(4, 7); }
  std::string driver_host() const { return at(5, 7); }
  std::string nic_host() const { return at(6, 7); }
  std::string failed_host() const { return at(1, 3); }
  std::string link_host() const { return at(1, 2); }
  std::string link_peer() const {
    return healthy_ ? "" : hosts_[static_cast<size_t>(size() / 2 + 1)];
  }
  std::string missing_host() const { return healthy_ ? "" : hosts_.back(); }

  // ---- numbers: Box and Muller by hand, as the library's distributions differ between versions
  // ----
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0; }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * 3.14159265358979323846 * uniform());
  }
  // Rounded, as a clock gives it, so that the files are not longer than real ones.
  Samples samples(double value, double spread, int n = 20) {
    Samples out;
    for (int i = 0; i < n; ++i) {
      const double noisy = value * (1 + spread * std::clamp(normal(), -3.0, 3.0));
      const double unit = std::pow(10.0, std::floor(std::log10(noisy)) - 5);
      out.add(std::round(noisy / unit) * unit);
    }
    return out;
  }

  static void add_part(HostInventory& out, std::string kind, std::string id,
                       std::map<std::string, Attribute> attributes) {
    out.parts.push_back({std::move(kind), std::move(id), std::move(attributes), {}});
  }

  HostInventory inventory(const std::string& host) const {
    HostInventory out{.host = host, .parts = {}};
    add_part(out, "system", "0",
             {{"product", "HGX-8"},
              {"vendor", "Example Systems"},
              {"kernel", "5.15.0-105-generic"},
              {"distribution", "Ubuntu 22.04.4 LTS"},
              {"serial", "SN" + host},
              {"bios_version", "2.1.6"}});
    add_part(out, "cpu", "0",
             {{"model", "Intel(R) Xeon(R) Platinum 8480+"},
              {"sockets", int64_t{2}},
              {"cores", int64_t{112}},
              {"threads", int64_t{224}},
              {"governor", "performance"}});
    add_part(out, "memory", "0", {{"total_bytes", int64_t{2164663517184}}});
    const std::string driver = host == driver_host() ? "570.86.15" : "570.124.06";
    add_part(out, "driver", "nvidia", {{"version", driver}});
    for (int g = 0; g < kGpus; ++g)
      add_part(out, "gpu", std::to_string(g),
               {{"model", "NVIDIA H20"},
                {"memory_bytes", int64_t{102625181696}},
                {"vbios", "96.00.99.00.01"},
                {"power_limit_watts", int64_t{500}},
                {"uuid", fmt::format("GPU-{}-{}", host, g)},
                {"nvlink_links", int64_t{18}},
                {"pci_address", fmt::format("0000:{:02x}:00.0", 0x18 + 0x11 * g)},
                {"numa_node", int64_t{g / 4}},
                {"ecc", true}});
    for (int n = 0; n < kGpus; ++n)
      add_part(out, "rdma", fmt::format("mlx5_{}", n),
               {{"firmware", "28.39.1002"},
                {"rate_bits_per_second", int64_t{400000000000}},
                {"link_layer", "InfiniBand"},
                {"state", "active"},
                {"numa_node", int64_t{n / 4}},
                {"serial", fmt::format("MT{}{}", host, n)}});
    for (int d = 0; d < 4; ++d)
      add_part(out, "nvme", fmt::format("nvme{}", d),
               {{"model", "Example NVMe 7.68T"},
                {"firmware", "1.2.0"},
                {"size_bytes", int64_t{7681501126656}}});
    for (const char* library : {"nccl", "cublas", "cudart", "openmpi", "ucx"})
      add_part(out, "library", library, {{"version", "as delivered"}});
    return out;
  }

  // ---- records ----
  Record record(const Step& step, std::map<std::string, Said> facts = {}) const {
    Record out{.case_name = step.case_name,
               .facts = std::move(facts),
               .started = started_,
               .ended = ended_};
    for (const auto& [name, values] : step.params) {
      if (values.size() == 1) set_param(out.params, name, values[0]);
    }
    return out;
  }

  static void set_param(Params& params, const std::string& name, const std::string& value) {
    if (name == "size" || name == "block-size")
      params.set(name, parse_size(value).value_or(0));
    else if (name == "duration")
      params.set(name, parse_duration(value).value_or(0));
    else
      params.set(name, value);
  }

  std::vector<Record> records(const Step& step, const std::string& host,
                              const std::vector<std::string>& all) {
    if (step.id == "info") return {host_record(step, host)};
    if (step.id == "gemm-bf16") return {gemm(step, host)};
    if (step.id == "hbm") return {copies(step, host, 3.42e12, "")};
    if (step.id == "h2d") return {copies(step, host, 54.5e9, narrow_host())};
    if (step.id == "burn") return {burn(step, host)};
    if (step.id == "nccl-node") return sweep(step, {host, "host", ""}, 360e9);
    if (step.id == "checkpoint") return {checkpoint(step, host)};
    if (step.id == "nccl-all") return sweep(step, {"", "cluster", ""}, 343e9);
    if (step.id == "write-bw") return {rails(step, all)};
    if (step.id == "locate") return {locate(step, all)};
    throw Error("the made-up cluster cannot run step " + step.id);
  }

  Record host_record(const Step& step, const std::string& host) const {
    Record out = record(step);
    out.entity({host, "host", ""});
    return out;
  }

  Record gemm(const Step& step, const std::string& host) {
    Record out = record(step, {{"library", "cuBLASLt 12.8.4"}, {"data", "normal distribution"}});
    for (int g = 0; g < kGpus; ++g) {
      const size_t e = out.entity({host, "gpu", std::to_string(g)});
      const bool wrong = host == wrong_host() && g == 5;
      out.checks.push_back({.name = "product",
                            .passed = !wrong,
                            .value = wrong ? 0.31 : 2.1e-3,
                            .limit = 7.8e-3,
                            .entity = e,
                            .detail = wrong ? said("gpu.elements_wrong_of", g, "GPU-" + host + "-5",
                                                   1, 67108864, 0, 17, 4001)
                                            : Said()});
      if (wrong) continue;  // wrong data yields no number
      const double factor = host == slow_host() && g == 3     ? 0.72
                            : host == slower_host() && g == 6 ? 0.93
                                                              : 1.0;
      out.metrics.push_back(
          {.name = "flops_per_second",
           .unit = "flops_per_second",
           .entity = e,
           .samples = samples(141e12 * factor, 0.003),
           .ceiling = Ceiling{148e12, said("gpu.dense", "H20", "NVIDIA H20 data sheet")}});
    }
    return out;
  }

  Record copies(const Step& step, const std::string& host, double rate, const std::string& narrow) {
    Record out = record(step);
    const bool memory = rate > 1e12;
    for (int g = 0; g < kGpus; ++g) {
      const size_t e = out.entity({host, "gpu", std::to_string(g)});
      const double factor = !narrow.empty() && host == narrow && g == 1 ? 0.48 : 1.0;
      out.checks.push_back({.name = "data", .passed = true, .entity = e});
      out.metrics.push_back({.name = "bytes_per_second",
                             .unit = "bytes_per_second",
                             .entity = e,
                             .samples = samples(rate * factor, 0.002),
                             .ceiling = memory ? Ceiling{4.0e12, "H20, NVIDIA H20 data sheet"}
                                               : Ceiling{63.0e9, said("gpu.pcie_built", 5, 16)}});
    }
    return out;
  }

  Record burn(const Step& step, const std::string& host) {
    Record out = record(step);
    const bool hot = host == hot_host() && !hot_host().empty();
    for (int g = 0; g < kGpus; ++g) {
      const size_t e = out.entity({host, "gpu", std::to_string(g)});
      out.checks.push_back({.name = "pattern", .passed = true, .entity = e});
      out.metrics.push_back({.name = "flops_per_second",
                             .unit = "flops_per_second",
                             .entity = e,
                             .samples = samples(hot ? 104e12 : 136e12, 0.004, 30)});
      out.metrics.push_back({.name = "temperature_celsius",
                             .unit = "celsius",
                             .better = Better::lower,
                             .entity = e,
                             .samples = samples(hot ? 89 : 68, 0.02, 30)});
      add_series(out, e, hot);
    }
    return out;
  }

  void add_series(Record& out, size_t e, bool hot) {
    Series temperature{.name = "temperature_celsius", .unit = "celsius", .entity = e};
    Series clock{.name = "clock_hertz", .unit = "hertz", .entity = e};
    for (int minute = 0; minute < 30; ++minute) {
      const double warm = 1 - std::exp(-minute / 4.0);
      temperature.at.push_back(60.0 * minute);
      temperature.values.push_back(std::round(40 + warm * (hot ? 50 : 28)));
      clock.at.push_back(60.0 * minute);
      clock.values.push_back(hot && minute > 6 ? 1.41e9 : 1.98e9);
    }
    out.telemetry.series.push_back(std::move(temperature));
    out.telemetry.series.push_back(std::move(clock));
    out.telemetry.deltas.push_back({.name = "thermal_seconds",
                                    .unit = "seconds",
                                    .entity = e,
                                    .before = 0,
                                    .after = hot ? 1420.0 : 0.0});
  }

  std::vector<Record> sweep(const Step& step, const Entity& entity, double plateau) {
    std::vector<Record> out;
    for (const std::string& text : step.params.at("size")) {
      Record r = record(step, {{"algorithm", "NVLS"}});
      const auto size = static_cast<double>(parse_size(text).value_or(0));
      set_param(r.params, "size", text);
      const size_t e = r.entity(entity);
      r.checks.push_back({.name = "sum", .passed = true, .entity = e});
      r.metrics.push_back({.name = "bus_bytes_per_second",
                           .unit = "bytes_per_second",
                           .entity = e,
                           .samples = samples(plateau * size / (size + 48e6), 0.002)});
      out.push_back(std::move(r));
    }
    return out;
  }

  Record checkpoint(const Step& step, const std::string& host) {
    Record out = record(step);
    const size_t e = out.entity({host, "filesystem", "/mnt/share"});
    out.checks.push_back({.name = "data", .passed = true, .entity = e});
    out.metrics.push_back({.name = "bytes_per_second",
                           .unit = "bytes_per_second",
                           .entity = e,
                           .samples = samples(2.6e9, 0.03)});
    return out;
  }

  Record rails(const Step& step, const std::vector<std::string>& all) {
    Record out = record(step);
    for (const std::string& host : all) {
      for (int n = 0; n < kGpus; ++n) {
        out.entities.push_back({host, "nic", fmt::format("mlx5_{}", n)});
        const bool weak = host == nic_host() && n == 3;
        out.metrics.push_back({.name = "bits_per_second",
                               .unit = "bits_per_second",
                               .entity = out.entities.size() - 1,
                               .samples = samples(weak ? 211e9 : 392e9, 0.001, 6),
                               .ceiling = Ceiling{396.9e9, said("verbs.wire", 400, 98.9, 4096)}});
      }
    }
    return out;
  }

  // Small clusters measure every pair of hosts, large ones seven rounds of pairs.
  Record locate(const Step& step, const std::vector<std::string>& all) {
    Record out = record(step);
    const size_t n = all.size();
    const size_t furthest = n <= 64 ? n - 1 : 7;
    for (size_t i = 0; i < n; ++i) {
      for (size_t d = 1; d <= furthest; ++d) {
        const std::string& peer = all[(i + d) % n];
        const bool bad = all[i] == link_host() && peer == link_peer();
        const bool weak = all[i] == nic_host() || peer == nic_host();
        const bool behind = !healthy_ && weak && d % 2 == 1;
        out.entities.push_back({all[i], "pair", "", peer});
        out.metrics.push_back({.name = "bits_per_second",
                               .unit = "bits_per_second",
                               .entity = out.entities.size() - 1,
                               .samples = samples(bad      ? 196e9
                                                  : behind ? 352e9
                                                           : 391e9,
                                                  0.002, 1)});
      }
    }
    if (healthy_) {
      out.entities.push_back({"", "cluster", ""});
      out.checks.push_back(
          {.name = "no_suspect", .passed = true, .entity = out.entities.size() - 1});
      return out;
    }
    out.entities.push_back({link_host(), "pair", link_host() + ":mlx5_2", link_peer() + ":mlx5_2"});
    out.checks.push_back(
        {.name = "no_suspect",
         .passed = false,
         .entity = out.entities.size() - 1,
         .detail = said("locate.carries",
                        said("locate.link", link_host() + ":mlx5_2", link_peer() + ":mlx5_2"),
                        "50.1", 12, 12, "99.98")});
    return out;
  }

  std::vector<std::string> hosts_;
  std::mt19937_64 random_;
  bool healthy_;
  std::string started_, ended_;
};

}  // namespace cb::synth
