#include "judge/uniformity.h"

#include <chrono>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace cb;

namespace {

Part nic(const std::string& id, int64_t rate) {
  return {.kind = "nic", .id = id, .attributes = {{"rate_bits_per_second", rate}}};
}

HostInventory host(const std::string& name, std::vector<Part> parts) {
  return {.host = name, .parts = std::move(parts)};
}

HostInventory with_kernel(const std::string& name, const std::string& kernel) {
  return host(name, {{.kind = "system", .id = "0", .attributes = {{"kernel", kernel}}}});
}

constexpr int64_t k400 = 400'000'000'000, k200 = 200'000'000'000;

}  // namespace

TEST_CASE("equal hosts are uniform") {
  const std::vector hosts{with_kernel("a", "6.1"), with_kernel("b", "6.1")};
  const Uniformity u = compare_hosts(hosts);
  CHECK(u.uniform());
  CHECK(u.hosts == 2);
  CHECK(u.compared == 2);  // system.count and system.kernel
  CHECK(compare_hosts({}).uniform());
}

TEST_CASE("the host that differs from the majority is odd") {
  const std::vector hosts{with_kernel("a", "6.1"), with_kernel("b", "6.8"),
                          with_kernel("c", "6.1")};
  const Uniformity u = compare_hosts(hosts);
  REQUIRE(u.differences.size() == 1);
  const AttributeValues& d = u.differences[0];
  CHECK(d.attribute == "system.kernel");
  CHECK(d.majority == "6.1");
  CHECK(d.odd_hosts == std::vector<std::string>{"b"});
  REQUIRE(d.groups.size() == 2);
  CHECK(d.groups[0].hosts == std::vector<std::string>{"a", "c"});
  CHECK(d.groups[1].text == "6.8");
}

TEST_CASE("without a majority nobody is odd") {
  const std::vector two{with_kernel("a", "6.1"), with_kernel("b", "6.8")};
  const Uniformity u = compare_hosts(two);
  REQUIRE(u.differences.size() == 1);
  CHECK_FALSE(u.differences[0].majority);
  CHECK(u.differences[0].odd_hosts.empty());
  CHECK(u.differences[0].groups.size() == 2);
  // Exactly half is no majority, one more is.
  const std::vector four{with_kernel("a", "1"), with_kernel("b", "1"), with_kernel("c", "2"),
                         with_kernel("d", "3")};
  CHECK_FALSE(compare_hosts(four).differences[0].majority);
  CHECK(compare_hosts(std::span(four).first(3)).differences[0].majority == "1");
}

TEST_CASE("an attribute absent on some hosts is a difference, with the reason") {
  std::vector hosts{with_kernel("a", "6.1"), with_kernel("b", "6.1"), with_kernel("c", "6.1")};
  hosts[1].parts[0].attributes.clear();
  hosts[1].parts[0].unavailable["kernel"] = "needs root";
  const AttributeValues v = attribute_values(hosts, "system.kernel");
  REQUIRE(v.groups.size() == 2);
  CHECK(v.groups[1].absent);
  CHECK(v.groups[1].text == "absent: needs root");
  CHECK(v.odd_hosts == std::vector<std::string>{"b"});
  CHECK(v.measured());
  hosts[2].parts[0].attributes.clear();  // most lack it: the one that has it is not odd
  const AttributeValues most = attribute_values(hosts, "system.kernel");
  CHECK_FALSE(most.majority);
  CHECK(most.odd_hosts.empty());
  const AttributeValues none = attribute_values(hosts, "system.colour");
  CHECK(none.equal());
  CHECK_FALSE(none.measured());  // absent everywhere is not the same as equal
}

TEST_CASE("several parts: values in order, runs counted") {
  const std::vector hosts{host("a", {nic("0", k400), nic("1", k400), nic("2", k200)}),
                          host("b", {nic("0", k400), nic("1", k400), nic("2", k400)}),
                          host("c", {nic("0", k400), nic("1", k400), nic("2", k400)})};
  const AttributeValues v = attribute_values(hosts, "nic.rate_bits_per_second");
  CHECK(v.majority == "400 Gb/s ×3");
  CHECK(v.groups[1].text == "400 Gb/s ×2, 200 Gb/s");
  CHECK(v.odd_hosts == std::vector<std::string>{"a"});
  CHECK(attribute_values(hosts, "nic.count").majority == "3");
}

TEST_CASE("a lost part is told once in the view, but strictly on request") {
  const std::vector hosts{host("a", {nic("0", k400), nic("1", k400)}),
                          host("b", {nic("0", k400), nic("1", k400)}), host("c", {nic("0", k400)}),
                          host("d", {})};
  const Uniformity u = compare_hosts(hosts);
  REQUIRE(u.differences.size() == 1);
  CHECK(u.differences[0].attribute == "nic.count");
  CHECK(u.differences[0].groups.size() == 3);
  CHECK(attribute_values(hosts, "nic.rate_bits_per_second").groups.size() == 3);
}

TEST_CASE("a lost part does not hide a slow one") {
  const std::vector hosts{host("a", {nic("0", k400), nic("1", k400)}),
                          host("b", {nic("0", k400), nic("1", k400)}), host("c", {nic("0", k200)})};
  const Uniformity u = compare_hosts(hosts);
  REQUIRE(u.differences.size() == 2);
  CHECK(u.differences[1].attribute == "nic.rate_bits_per_second");
  CHECK(u.differences[1].groups[1].text == "200 Gb/s");
}

TEST_CASE("kinds whose id is a name are compared by name") {
  const auto library = [](const char* id, const char* version) {
    return Part{.kind = "library", .id = id, .attributes = {{"version", version}}};
  };
  const std::vector hosts{host("a", {library("glibc", "2.36"), library("nccl", "2.28.9")}),
                          host("b", {library("glibc", "2.36"), library("nccl", "2.21.5")}),
                          host("c", {library("glibc", "2.36"), library("nccl", "2.28.9")}),
                          host("d", {library("glibc", "2.36")})};
  const Uniformity u = compare_hosts(hosts);
  REQUIRE(u.differences.size() == 2);
  CHECK(u.differences[0].attribute == "library[nccl].count");
  CHECK(u.differences[0].odd_hosts == std::vector<std::string>{"d"});
  CHECK(u.differences[1].attribute == "library[nccl].version");
  CHECK(u.differences[1].odd_hosts == std::vector<std::string>{"b"});
  CHECK(attribute_values(hosts, "library[nccl].version").groups.size() == 3);
}

TEST_CASE("excluded attributes are not compared, but answered") {
  const auto make = [](const char* name, const char* serial) {
    return host(name, {{.kind = "nvme",
                        .id = "nvme0",
                        .attributes = {{"serial", serial}, {"pci_address", serial}}}});
  };
  const std::vector hosts{make("a", "1"), make("b", "2")};
  CHECK(compare_hosts(hosts).uniform());
  CHECK_FALSE(attribute_values(hosts, "nvme.serial").equal());
  for (const ExcludedAttribute& e : excluded_attributes()) CHECK_FALSE(e.reason.empty());
}

TEST_CASE("virtual interfaces come and go") {
  Part veth = nic("veth1", k400);
  veth.attributes["virtual"] = true;
  const std::vector hosts{host("a", {nic("0", k400), veth}), host("b", {nic("0", k400)})};
  CHECK(compare_hosts(hosts).uniform());
  CHECK(attribute_values(hosts, "nic.count").equal());
}

TEST_CASE("memory counts as equal within one per cent of the median") {
  const auto make = [](const char* name, int64_t bytes) {
    return host(name, {{.kind = "memory", .id = "0", .attributes = {{"total_bytes", bytes}}}});
  };
  const std::vector near{make("a", 1'000'000), make("b", 1'010'000), make("c", 990'000)};
  CHECK(compare_hosts(near).uniform());
  const std::vector far{make("a", 1'000'000), make("b", 1'000'000), make("c", 989'999)};
  const Uniformity u = compare_hosts(far);
  REQUIRE(u.differences.size() == 1);
  CHECK(u.differences[0].odd_hosts == std::vector<std::string>{"c"});
}

TEST_CASE("values that read the same are told apart exactly") {
  const auto make = [](const char* name, int64_t bytes) {
    return host(name, {{.kind = "nvme", .id = "0", .attributes = {{"size_bytes", bytes}}}});
  };
  const std::vector hosts{make("a", 4'000'000'000'000), make("b", 4'000'000'000'512)};
  const Uniformity u = compare_hosts(hosts);
  REQUIRE(u.differences.size() == 1);
  CHECK(u.differences[0].groups[0].text == "4000000000000");
  CHECK(u.differences[0].groups[1].text == "4000000000512");
}

TEST_CASE("1,250 hosts with 300 attributes") {
  std::vector<HostInventory> hosts;
  for (int h = 0; h < 1250; ++h) {
    Part part{.kind = "system", .id = "0"};
    for (int a = 0; a < 300; ++a) part.attributes[fmt::format("attribute_{:03}", a)] = int64_t{a};
    hosts.push_back(host(fmt::format("n{:04}", h), {part}));
  }
  hosts[700].parts[0].attributes["attribute_123"] = int64_t{-1};
  hosts[3].parts[0].attributes["attribute_007"] = int64_t{-1};
  hosts[4].parts[0].attributes["attribute_007"] = int64_t{-2};
  const auto start = std::chrono::steady_clock::now();
  const Uniformity u = compare_hosts(hosts);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  MESSAGE("compared in ", seconds.count() * 1000, " ms");
  CHECK(u.compared == 301);
  REQUIRE(u.differences.size() == 2);
  CHECK(u.differences[0].attribute == "system.attribute_123");  // one odd host before two
  CHECK(u.differences[0].odd_hosts == std::vector<std::string>{"n0700"});
  CHECK(u.differences[1].odd_hosts == std::vector<std::string>{"n0003", "n0004"});
  CHECK(u.differences[0].groups[0].hosts.size() == 1249);
}

TEST_CASE("memory that differs is snapped in its own place only") {
  const auto make = [](const char* name, std::vector<int64_t> nodes) {
    HostInventory out{.host = name};
    for (size_t i = 0; i < nodes.size(); ++i)
      out.parts.push_back(
          {.kind = "numa", .id = std::to_string(i), .attributes = {{"memory_bytes", nodes[i]}}});
    return out;
  };
  const std::vector near{make("a", {1000, 2000}), make("b", {1010, 1980}), make("c", {990, 2020})};
  CHECK(compare_hosts(near).uniform());
  const std::vector far{make("a", {1000, 2000}), make("b", {1000, 2000}), make("c", {1000, 1979})};
  REQUIRE(compare_hosts(far).differences.size() == 1);
  CHECK(compare_hosts(far).differences[0].odd_hosts == std::vector<std::string>{"c"});
}

TEST_CASE("an attribute that one host has more, or less, than the first is a difference") {
  const auto make = [](const char* name, std::vector<const char*> attributes) {
    Part part{.kind = "system", .id = "0"};
    for (const char* a : attributes) part.attributes[a] = std::string("x");
    return host(name, {part});
  };
  const auto differing = [](const std::vector<HostInventory>& hosts) {
    std::vector<std::string> out;
    for (const AttributeValues& d : compare_hosts(hosts).differences) out.push_back(d.attribute);
    return out;
  };
  using Attributes = std::vector<std::string>;
  CHECK(differing({make("a", {"b"}), make("b", {"b"}), make("c", {"a", "b"})}) ==
        Attributes{"system.a"});
  CHECK(differing({make("a", {"b"}), make("b", {"b"}), make("c", {"b", "c"})}) ==
        Attributes{"system.c"});
  CHECK(differing({make("a", {"a", "b"}), make("b", {"a", "b"}), make("c", {"b"})}) ==
        Attributes{"system.a"});
  CHECK(differing({make("a", {"b", "c"}), make("b", {"b", "c"}), make("c", {"b"})}) ==
        Attributes{"system.c"});
  CHECK(differing({make("a", {"b"}), make("b", {"b"}), make("c", {})}) == Attributes{"system.b"});
}
