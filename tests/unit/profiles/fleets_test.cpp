// Every shipped profile of GPUs and networks against made-up fleets: the healthy one is accepted,
// and each typical defect is not, by the criterion that names the part.
#include "fleet.h"
#include "shipped.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "judge/verdict.h"

using namespace cb;
using test::Defect;
using test::Fleet;

#ifdef CB_SANITIZED
constexpr size_t kProductsAtMost = 2;  // all of them take minutes there
#else
constexpr size_t kProductsAtMost = 100;
#endif

namespace {

std::vector<test::ProductFigures> products_to_try() {
  std::vector<test::ProductFigures> out = test::products();
  out.resize(std::min(out.size(), kProductsAtMost));
  return out;
}

// A defect, the criterion that must fail and what it must name.
struct Expected {
  Defect defect;
  std::string criterion, named;
};

const std::string kGpuName = "n2:3", kNicName = "n2:mlx5_3";

std::vector<Expected> gpu_defects() {
  return {{Defect::slow_gpu, "gemm.bf16.fleet", kGpuName},
          {Defect::slow_gpu, "memory.triad.fleet", kGpuName},
          {Defect::slow_gpu, "burn.rate.fleet", kGpuName},
          {Defect::half_gpu_slot, "health.pcie_lanes_share", kGpuName},
          {Defect::half_gpu_slot, "copy.host_to_device", kGpuName},
          {Defect::one_nvlink_less, "health.nvlinks_active", kGpuName},
          {Defect::throttling, "burn.throttled", kGpuName},
          {Defect::throttling, "burn.sustained", kGpuName},
          {Defect::throttling, "burn.rate.fleet", kGpuName},
          {Defect::slow_memory_clock, "burn.memory_clock", kGpuName},
          {Defect::corrected_errors, "health.ecc_corrected.after", kGpuName},
          {Defect::nvlink_errors, "health.nvlink_errors.after", kGpuName},
          {Defect::hang, "burn.hang", kGpuName},
          {Defect::odd_vbios, "uniform", "n2"}};
}

std::vector<Expected> network_defects() {
  return {{Defect::half_port_rate, "nics.rate", kNicName},
          {Defect::half_port_rate, "network.nominal.one-way", "mlx5_3"},
          {Defect::half_port_rate, "network.uniform", "n2"},
          {Defect::all_ports_half, "nics.rate", kNicName},
          {Defect::all_ports_half, "network.nominal.one-way", "mlx5_3"},
          {Defect::port_down, "nics.ports", "n2"},
          {Defect::small_mtu, "nics.mtu", kNicName},
          {Defect::half_nic_slot, "nics.lanes", kNicName},
          {Defect::half_nic_slot, "network.nominal.two-way", "mlx5_3"},
          {Defect::link_flaps, "nics.link_downed.new", kNicName},
          {Defect::odd_nic_firmware, "network.uniform", "n2"},
          {Defect::slow_host_network, "network.write.fleet", "n2"}};
}

const CriterionVerdict& fleet_verdict_on(const Judgement& j, const std::string& id) {
  for (const CriterionVerdict& v : j.criteria) {
    if (v.criterion->id == id) return v;
  }
  FAIL("no criterion " << id);
  return j.criteria.front();
}

bool finding_names(const Finding& f, const std::string& part) {
  const std::string name = entity_name(f.entity);
  return name == part || (f.entity.peer && name.find(part) != std::string::npos);
}

void check_healthy(const Profile& profile, const Fleet& fleet) {
  const Campaign campaign = fleet.campaign();
  const Judgement j = judge(campaign, profile, {}, "2026-11-21");
  for (const CriterionVerdict& v : j.criteria) {
    CAPTURE(v.criterion->id);
    CAPTURE(v.reason);
    const bool fine = v.state == State::pass || v.state == State::not_applicable;
    CHECK(fine);
  }
  CHECK(exit_code(j) == ExitCode::ok);
}

void check_defect(const Profile& profile, const Fleet& fleet, const Expected& expected) {
  CAPTURE(expected.criterion);
  const Campaign campaign = fleet.campaign();
  const Judgement j = judge(campaign, profile, {}, "2026-11-21");
  CHECK(exit_code(j) == ExitCode::not_accepted);
  const CriterionVerdict& v = fleet_verdict_on(j, expected.criterion);
  CAPTURE(v.reason);
  CHECK(v.state == State::fail);
  const bool named = std::ranges::any_of(
      v.failing, [&](const Finding& f) { return finding_names(f, expected.named); });
  CHECK(named);
  if (expected.defect == Defect::all_ports_half) return;
  // Nobody else is accused: a pair has two ends, and one of them is the odd host.
  for (const CriterionVerdict& one : j.criteria) {
    if (one.state != State::fail) continue;
    for (const Finding& f : one.failing) {
      const bool of_odd_host =
          f.entity.host == Fleet::kHost || (f.entity.peer && f.entity.peer->starts_with("n2:"));
      CHECK_MESSAGE(of_odd_host, one.criterion->id << " accuses " << entity_name(f.entity));
    }
  }
}

}  // namespace

TEST_CASE("nodes of every product: the healthy one is accepted, each defect is named") {
  for (const test::ProductFigures& product : products_to_try()) {
    CAPTURE(product.name);
    const Profile profile = test::shipped(product.name);
    const auto fleet = [&](Defect defect) {
      return Fleet(profile, &product, product.fast_ports, false, defect, 3);
    };
    check_healthy(profile, fleet(Defect::none));
    for (const Expected& e : gpu_defects()) check_defect(profile, fleet(e.defect), e);
  }
}

TEST_CASE("every network: the healthy one is accepted, each defect is named") {
  struct Network {
    const char* name;
    bool fast, ethernet;
  };
  for (const Network& n : {Network{"ib-ndr400", true, false}, Network{"ib-hdr200", false, false},
                           Network{"roce-400g", true, true}, Network{"roce-200g", false, true}}) {
    CAPTURE(n.name);
    const Profile profile = test::shipped(n.name);
    const auto fleet = [&](Defect defect) {
      return Fleet(profile, nullptr, n.fast, n.ethernet, defect, 6);
    };
    check_healthy(profile, fleet(Defect::none));
    for (const Expected& e : network_defects()) check_defect(profile, fleet(e.defect), e);
  }
}

TEST_CASE("pairs and clusters of every product over every network") {
  for (const test::ProductFigures& product : products_to_try()) {
    for (const bool pair : {true, false}) {
      for (const bool ethernet : {false, true}) {
        const std::string name = std::string(product.name) + (pair ? "-pair+" : "-cluster+") +
                                 test::network_profile(ethernet, product.fast_ports);
        CAPTURE(name);
        const Profile profile = test::shipped(name);
        const auto fleet = [&](Defect defect) {
          return Fleet(profile, &product, product.fast_ports, ethernet, defect, pair ? 2 : 6);
        };
        check_healthy(profile, fleet(Defect::none));
        check_defect(profile, fleet(Defect::all_ports_half),
                     {Defect::all_ports_half, "network.nominal.one-way", "mlx5_3"});
        check_defect(profile, fleet(Defect::all_ports_half),
                     {Defect::all_ports_half, "nccl.all.alltoall", "cluster"});
        check_defect(profile, fleet(Defect::slow_gpu),
                     {Defect::slow_gpu, "gemm.bf16.fleet", kGpuName});
      }
    }
  }
}
