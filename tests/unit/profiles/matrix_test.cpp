// The acceptance matrix of NCCL against made-up fleets of four hosts with eight GPUs, and of two
// NVL72 of 18 hosts with four: the healthy one is accepted, and each planted defect fails by the
// criterion that names the part. What is made up here was not measured.
#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "core/units.h"
#include "judge/verdict.h"
#include "shipped.h"

using namespace cb;

namespace {

constexpr int kMatrixHosts = 4, kMatrixGpus = 8;
constexpr int kRackHosts = 18, kRackGpus = 4;
constexpr double kPort = 50e9;

enum class Plant {
  none,
  sockets_on_a_node,   // it fell back to TCP
  no_gpu_direct,       // one rank's NIC does not reach its GPU's memory
  host_memory,         // one node's GPUs go through host memory
  nvls_lost,           // one node's NVLink switch does not reduce
  sharp_lost,          // NCCL went on without it
  slow_rail,           //
  all_rails_slow,      // equal, and below what the ports carry
  slow_node_network,   // seen without any partner
  slow_tensor_groups,  // of one node
  wrong_data,          // of one rank in the grid
  no_log,              // one node's library says nothing: unproved
  domain_short,        // a GPU of one host is not in its NVLink domain
  no_imex,             // NCCL goes over the network between the hosts of a domain
};

class MatrixFleet {
 public:
  MatrixFleet(const Profile& profile, Plant plant, bool racks = false)
      : profile_(profile), plant_(plant), racks_(racks), gpus_(racks ? kRackGpus : kMatrixGpus) {
    for (int h = 1; h <= (racks ? 2 * kRackHosts : kMatrixHosts); ++h)
      hosts_.push_back("n" + std::to_string(h));
  }

  Campaign campaign() const {
    Campaign out;
    out.hosts = hosts_;
    for (const std::string& host : hosts_) out.inventories.push_back(inventory(host));
    for (const Step& step : profile_.steps) {
      if (step.scope == Scope::cluster)
        out.jobs.push_back(job(step, "", hosts_));
      else
        for (const std::string& host : hosts_) out.jobs.push_back(job(step, host, {host}));
    }
    return out;
  }

  static constexpr const char* kOdd = "n2";

 private:
  static std::string domain_of(int host) { return host < kRackHosts ? "ab.1" : "ab.2"; }

  HostInventory inventory(const std::string& host) const {
    HostInventory out{.host = host, .parts = {}};
    const bool less = is(Plant::domain_short, host);
    for (int i = 0; i < gpus_; ++i) {
      const std::string state = less && i == 3 ? "in progress" : "completed";
      out.parts.push_back({"gpu", std::to_string(i), {{"fabric_state", state}}, {}});
      out.parts.push_back(
          {"rdma", fmt::format("mlx5_{}", i), {{"firmware", std::string("28.39.1002")}}, {}});
    }
    out.parts.push_back({"library", "nccl", {{"file", std::string("libnccl.so.2.28.9")}}, {}});
    if (!racks_) return out;
    const int64_t channels = is(Plant::no_imex, host) ? 0 : 1;
    out.parts.push_back({"nvlink_domain",
                         domain_of(host == kOdd ? 1 : 0),
                         {{"gpus", int64_t{gpus_ - (less ? 1 : 0)}},
                          {"imex_channels", channels},
                          {"imex_nodes", int64_t{kRackHosts}}},
                         {}});
    return out;
  }

  bool is(Plant plant, const std::string& host) const { return plant_ == plant && host == kOdd; }

  Job job(const Step& step, const std::string& host, const std::vector<std::string>& hosts) const {
    Document document;
    document.run.hosts = hosts;
    if (step.case_name == "info") {
      Record info{.case_name = "info"};
      info.entity({host, "host", ""});
      document.records.push_back(std::move(info));
    } else {
      for (const std::string& op : step.params.at("op")) {
        for (const std::string& size : step.params.at("size"))
          document.records.push_back(record(step, op, size, hosts));
      }
    }
    Job out{.step = step.id, .host = host, .state = JobState::done, .file = step.id + ".json"};
    out.document = std::move(document);
    return out;
  }

  static void add(Record& r, const Entity& entity, const char* name, double value,
                  std::optional<double> ceiling = {}) {
    Metric m{.name = name, .unit = "count", .entity = r.entity(entity)};
    const bool rate = value > 1e6;
    for (const double noise : {-0.001, 0.0, 0.001}) m.samples.add(value * (rate ? 1 + noise : 1));
    if (std::string_view(name) == "socket_connections" ||
        std::string_view(name) == "host_memory_connections")
      m.better = Better::lower;
    if (ceiling) m.ceiling = Ceiling{*ceiling, "made up"};
    r.metrics.push_back(std::move(m));
  }

  Record record(const Step& step, const std::string& op, const std::string& size,
                const std::vector<std::string>& hosts) const {
    Record r{.case_name = step.case_name};
    for (const auto& [name, values] : step.params) {
      if (values.size() == 1) r.params.set(name, values[0]);
    }
    r.params.set("op", op);
    r.params.set("size", parse_size(size).value());
    for (size_t h = 0; h < hosts.size(); ++h) {
      for (int g = 0; g < gpus_; ++g) rank(r, step.id, hosts[h], static_cast<int>(h) * gpus_ + g);
    }
    if (step.id == "matrix-rail") rails(r);
    if (step.id == "matrix-grid") grid(r, hosts);
    if (step.id == "matrix-grid" && racks_) {
      const double short_by = plant_ == Plant::domain_short ? 1 : 0;
      add(r, {"", "nvlink_domain", "ab.1"}, "domain_gpus", kRackHosts * kRackGpus - short_by);
      add(r, {"", "nvlink_domain", "ab.2"}, "domain_gpus", kRackHosts * kRackGpus);
    }
    const Entity node{hosts.front(), "group", hosts.front()};
    if (step.id == "matrix-p2p") add(r, node, "bus_bytes_per_second", 360e9);
    if (step.id == "matrix-net")
      add(r, node, "bus_bytes_per_second",
          is(Plant::slow_node_network, hosts.front()) ? 300e9 : 340e9);
    if (step.id == "matrix-sharp") {
      add(r, {"", "cluster", ""}, "bus_bytes_per_second", 550e9);
      add(r, {"", "cluster", ""}, "in_network_share", plant_ == Plant::sharp_lost ? 0 : 1);
    }
    return r;
  }

  void rank(Record& r, const std::string& step, const std::string& host, int rank) const {
    const Entity self{host, "rank", std::to_string(rank)};
    const bool wrong = is(Plant::wrong_data, host) && step == "matrix-grid" && rank == 11;
    r.checks.push_back({.name = "data", .passed = !wrong, .entity = r.entity(self)});
    if (is(Plant::no_log, host)) return;
    const bool node = step == "matrix-p2p";
    const bool sockets = is(Plant::sockets_on_a_node, host) && !node;
    const bool direct = !sockets && !(is(Plant::no_gpu_direct, host) && rank % gpus_ == 5);
    if (!node) add(r, self, "gpu_direct_share", direct ? 1 : 0);
    add(r, self, "socket_connections", sockets ? 4 : 0);
    add(r, self, "host_memory_connections", node && is(Plant::host_memory, host) ? 14 : 0);
    if (racks_) add(r, self, "domain_connections", is(Plant::no_imex, host) ? 0 : 4);
    add(r, self, "nvls_channels", node && !is(Plant::nvls_lost, host) ? 16 : 0);
  }

  void rails(Record& r) const {
    for (int i = 0; i < gpus_; ++i) {
      const bool slow = plant_ == Plant::slow_rail && i == 3;
      const double rate = plant_ == Plant::all_rails_slow ? 30e9 : slow ? 40e9 : 47e9;
      add(r, {"", "group", "rail " + std::to_string(i)}, "bus_bytes_per_second", rate, kPort);
    }
  }

  void grid(Record& r, const std::vector<std::string>& hosts) const {
    for (size_t h = 0; h < hosts.size(); ++h)
      add(r, {hosts[h], "group", "tp " + std::to_string(h)}, "tp_bus_bytes_per_second",
          is(Plant::slow_tensor_groups, hosts[h]) ? 250e9 : 330e9);
    for (int i = 0; i < gpus_; ++i)
      add(r, {"", "group", "dp " + std::to_string(i)}, "dp_bus_bytes_per_second", 44e9);
  }

  const Profile& profile_;
  Plant plant_;
  bool racks_;
  int gpus_;
  std::vector<std::string> hosts_;
};

Judgement judged(const Profile& profile, const Campaign& campaign) {
  return judge(campaign, profile, {}, "2026-11-21");
}

std::set<std::string> named_by(const Judgement& j, const std::string& id, State state) {
  for (const CriterionVerdict& v : j.criteria) {
    if (v.criterion->id != id) continue;
    CAPTURE(v.reason);
    CHECK(v.state == state);
    std::set<std::string> out;
    for (const Finding& f : v.failing) out.insert(entity_name(f.entity));
    return out;
  }
  FAIL("no criterion " << id);
  return {};
}

// What the criterion accuses, by name or by host.
std::set<std::string> named_of(const Profile& profile, const Campaign& campaign,
                               const std::string& id) {
  const Judgement j = judged(profile, campaign);
  std::set<std::string> out;
  for (const CriterionVerdict& v : j.criteria) {
    if (v.criterion->id != id) continue;
    CAPTURE(v.reason);
    for (const Finding& f : v.failing)
      out.insert(f.entity.host.empty() ? entity_name(f.entity) : f.entity.host);
  }
  return out;
}

std::set<std::string> ranks_of_odd_host() {
  std::set<std::string> out;
  for (int g = 0; g < kMatrixGpus; ++g) out.insert(fmt::format("n2:{}", kMatrixGpus + g));
  return out;
}

}  // namespace

TEST_CASE("the matrix: a healthy fleet is accepted, with SHARP and without") {
  for (const char* name : {"nccl-matrix", "nccl-matrix-sharp"}) {
    const Profile profile = test::shipped(name);
    const Campaign campaign = MatrixFleet(profile, Plant::none).campaign();
    const Judgement j = judged(profile, campaign);
    for (const CriterionVerdict& v : j.criteria) {
      CAPTURE(v.criterion->id);
      CAPTURE(v.reason);
      CHECK(v.state == State::pass);
    }
    CHECK(exit_code(j) == ExitCode::ok);
  }
}

TEST_CASE("the matrix: every planted defect fails by name, and nobody else is accused") {
  struct Row {
    Plant plant;
    const char* criterion;
    std::set<std::string> named;
  };
  const std::vector<Row> rows{
      {Plant::sockets_on_a_node, "matrix.rail.sockets", ranks_of_odd_host()},
      {Plant::sockets_on_a_node, "matrix.grid.sockets", ranks_of_odd_host()},
      {Plant::no_gpu_direct, "matrix.rail.gpu-direct", {"n2:13"}},
      {Plant::host_memory, "matrix.p2p.host-memory", {"n2:0", "n2:7"}},
      {Plant::nvls_lost, "matrix.p2p.nvls", {"n2:0", "n2:7"}},
      {Plant::sharp_lost, "matrix.sharp.taken", {"cluster"}},
      {Plant::slow_rail, "matrix.rail.fleet", {"rail 3"}},
      {Plant::all_rails_slow, "matrix.rail.ceiling", {"rail 0", "rail 7"}},
      {Plant::slow_node_network, "matrix.net.fleet", {"n2:n2"}},
      {Plant::slow_tensor_groups, "matrix.grid.tp", {"n2:tp 1"}},
      {Plant::wrong_data, "matrix.grid.correct", {"n2:11"}}};
  const Profile profile = test::shipped("nccl-matrix-sharp");
  for (const Row& row : rows) {
    CAPTURE(row.criterion);
    const Campaign campaign = MatrixFleet(profile, row.plant).campaign();
    const Judgement j = judged(profile, campaign);
    CHECK(exit_code(j) == ExitCode::not_accepted);
    const std::set<std::string> found = named_by(j, row.criterion, State::fail);
    for (const std::string& name : row.named) CHECK_MESSAGE(found.contains(name), name);
    if (row.plant == Plant::all_rails_slow || row.plant == Plant::sharp_lost) continue;
    for (const std::string& name : found)
      CHECK_MESSAGE((name.starts_with("n2") || name == "rail 3"), name);
  }
}

TEST_CASE("the matrix: what the log does not prove is incomplete, and never passes") {
  const Profile profile = test::shipped("nccl-matrix");
  const Campaign campaign = MatrixFleet(profile, Plant::no_log).campaign();
  const Judgement j = judged(profile, campaign);
  CHECK(exit_code(j) == ExitCode::incomplete);
  named_by(j, "matrix.net.sockets", State::incomplete);
  named_by(j, "matrix.p2p.host-memory", State::incomplete);
}

TEST_CASE("two NVL72: the healthy ones are accepted, a short domain and a lost IMEX are named") {
  const Profile profile = test::shipped("nccl-matrix-nvl72");
  const auto judge_with = [&](Plant plant) {
    const Campaign campaign = MatrixFleet(profile, plant, true).campaign();
    return std::pair(exit_code(judged(profile, campaign)),
                     std::pair(named_of(profile, campaign, "matrix.domain.gpus"),
                               named_of(profile, campaign, "matrix.domain.uniform")));
  };
  const auto healthy = judge_with(Plant::none);
  CHECK(healthy.first == ExitCode::ok);
  CHECK(healthy.second.first.empty());
  const auto less = judge_with(Plant::domain_short);
  CHECK(less.first == ExitCode::not_accepted);
  CHECK(less.second.first == std::set<std::string>{"ab.1"});
  CHECK(less.second.second == std::set<std::string>{"n2"});
  const auto imex = judge_with(Plant::no_imex);
  CHECK(imex.first == ExitCode::not_accepted);
  CHECK(imex.second.second == std::set<std::string>{"n2"});
}
