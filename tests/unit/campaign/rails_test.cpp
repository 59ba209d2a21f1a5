// The names of a rail, from what the hosts have.
#include "campaign/rails.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

Part port(const std::string& id, const std::string& netdev, const std::string& state = "ACTIVE") {
  return {.kind = "rdma", .id = id, .attributes = {{"state", state}, {"netdev", netdev}}};
}

// Two active ports; a port that is down is no rail.
HostInventory two_rails(const std::string& host, const std::string& second = "mlx5_2") {
  return {.host = host,
          .parts = {port("mlx5_0", "ib0"), port("mlx5_1", "ib1", "DOWN"), port(second, "ib2")}};
}

Step rail_step() {
  return {.id = "s",
          .case_name = "x",
          .params = {{"rails", {"{rdma}"}}, {"tag", {"r{rail}-{rail}"}}},
          .scope = Scope::rails,
          .rails = 2,
          .env = {{"NCCL_SOCKET_IFNAME", "={nic}"}}};
}

}  // namespace

TEST_CASE("a rail has the same name on every host, and the step gets it") {
  const HostInventory a = two_rails("a"), b = two_rails("b");
  const Rail rail = find_rail(rail_step(), 1, {{"a", &a}, {"b", &b}});
  REQUIRE_FALSE(rail.problem);
  CHECK(rail.rdma == "mlx5_2");
  CHECK(rail.nic == "ib2");
  const Step step = step_on_rail(rail_step(), rail);
  CHECK(step.params.at("rails") == std::vector<std::string>{"mlx5_2"});
  CHECK(step.params.at("tag") == std::vector<std::string>{"r1-1"});
  CHECK(step.env.at("NCCL_SOCKET_IFNAME") == "=ib2");
}

TEST_CASE("hosts that do not agree are named") {
  const HostInventory a = two_rails("a"), other = two_rails("b", "mlx5_7");
  HostInventory less = two_rails("b");
  less.parts.pop_back();
  const auto problem = [&](const HostInventory* b, const Step& step = rail_step()) {
    const Rail rail = find_rail(step, 1, {{"a", &a}, {"b", b}});
    return rail.problem ? rail.problem->text() : "";
  };
  CHECK(problem(&other) == "rail 1 is mlx5_7 on b and mlx5_2 on a: give both the same names");
  CHECK(problem(&less).starts_with("b has 1 active RDMA ports, the step has 2 rails"));
  CHECK(problem(nullptr).starts_with("b has no inventory"));
  HostInventory nameless = two_rails("b");
  nameless.parts[2].attributes.erase("netdev");
  CHECK(problem(&nameless) == "b has no name for rail 1");
  // The number alone needs no NIC: rails of GPUs.
  Step number = rail_step();
  number.params = {{"tag", {"{rail}"}}};
  number.env.clear();
  CHECK(problem(nullptr, number).empty());
}

TEST_CASE("an unknown name stays a word, so that no other NIC is taken") {
  const Step step = step_on_rail(rail_step(), {.number = 1});
  CHECK(step.params.at("rails") == std::vector<std::string>{"{rdma}"});
  CHECK(step.params.at("tag") == std::vector<std::string>{"r1-1"});
}
