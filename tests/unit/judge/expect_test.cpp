// What was delivered against what was ordered.
#include "judge/expect.h"

#include <doctest/doctest.h>

#include "judge/lock.h"
#include "judge/pieces.h"
#include "judge/version_order.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

using Text = std::string;

Part gpu(int slot, const std::string& serial, const std::string& model = "NVIDIA H20") {
  Part out{"gpu", "0000:0" + std::to_string(slot) + ":00.0"};
  out.attributes = {{"model", model},
                    {"pci_address", out.id},
                    {"vbios", Text("96.00.9F")},
                    {"driver_version", Text("535.129.03")},
                    {"memory_bytes", int64_t{96} << 30}};
  if (!serial.empty()) out.attributes["serial"] = serial;
  return out;
}

// Two hosts with two GPUs each: A1 A2, B1 B2.
std::vector<HostInventory> fleet() {
  return {{"n1", {gpu(1, "A1"), gpu(2, "A2")}}, {"n2", {gpu(1, "B1"), gpu(2, "B2")}}};
}

std::vector<Asset> list() {
  return {{"n1", "gpu", "0000:01:00.0", "A1", "H20"},
          {"N1.example", "gpu", "0000:02:00.0", "A2", ""},
          {"n2", "gpu", "", "B1", "NVIDIA H20"},
          {"n2", "gpu", "", "b2", ""}};
}

Part& part_of(std::vector<HostInventory>& hosts, size_t host, size_t part) {
  return hosts[host].parts[part];
}

// The findings as "host kind id: sentence id", joined.
std::string failures(const Evidence& evidence) {
  std::string out;
  for (const Finding& f : evidence.findings) {
    if (f.failing) out += f.entity.host + " " + f.entity.id + " " + f.detail.front().id + "\n";
  }
  return out;
}
std::string gap_ids(const Evidence& evidence) {
  std::string out;
  for (const Gap& g : evidence.gaps) out += g.host + " " + g.what.id + "\n";
  return out;
}

Evidence compared(const std::vector<HostInventory>& hosts, std::vector<Asset> assets = list()) {
  return expect_evidence(hosts, ExpectRule{{}, std::move(assets)});
}

Evidence expected(const std::vector<HostInventory>& hosts, const std::string& attribute,
                  std::vector<std::string> wanted) {
  return expect_evidence(hosts, ExpectRule{{{attribute, std::move(wanted)}}, {}});
}

}  // namespace

TEST_CASE("values, patterns, versions and sizes as ordered, from both sides") {
  const auto fits = [](const Attribute& value, const char* attribute, const char* wanted) {
    return fits_wanted(value, attribute, wanted);
  };
  CHECK(fits(Text("NVIDIA H20"), "model", "NVIDIA H20") == WantedFit::yes);
  CHECK(fits(Text("NVIDIA H200"), "model", "NVIDIA H20") == WantedFit::no);
  CHECK(fits(Text("28.39.1002"), "firmware", "28.39.*") == WantedFit::yes);
  CHECK(fits(Text("28.40.1000"), "firmware", "28.39.*") == WantedFit::no);
  CHECK(fits(Text("535.129.03"), "driver_version", ">=535.129.03") == WantedFit::yes);
  CHECK(fits(Text("535.98"), "driver_version", ">=535.129.03") == WantedFit::no);
  CHECK(fits(Text("550.54"), "driver_version", "<550.54") == WantedFit::no);
  CHECK(fits(Text("550.54"), "driver_version", "<= 550.54") == WantedFit::yes);
  CHECK(fits(int64_t{8}, "count", "8") == WantedFit::yes);
  CHECK(fits(int64_t{7}, "count", "8") == WantedFit::no);
  CHECK(fits(int64_t{2} << 40, "total_bytes", ">=1.9T") == WantedFit::yes);
  CHECK(fits(int64_t{1} << 40, "total_bytes", ">=1.9 TiB") == WantedFit::no);
  CHECK(fits(int64_t{400'000'000'000}, "rate_bits_per_second", "400 Gb/s") == WantedFit::yes);
  CHECK(fits(int64_t{400'000'000'000}, "rate_bits_per_second", "400e9") == WantedFit::yes);
  CHECK(fits(int64_t{8}, "count", "eight") == WantedFit::unclear);
  CHECK(fits(int64_t{8}, "count", ">=eight") == WantedFit::unclear);
  CHECK(fits(true, "ecc", "yes") == WantedFit::yes);
  CHECK(fits(true, "ecc", ">=1") == WantedFit::unclear);
}

TEST_CASE("a word is no version: it is neither older nor newer") {
  for (const char* word : {"N/A", "unknown", "v", "Not Specified"}) {
    CHECK(fits_wanted(Text(word), "firmware", ">=28.39") == WantedFit::unclear);
    CHECK(fits_wanted(Text(word), "firmware", "<28.39") == WantedFit::unclear);
  }
  CHECK(version_order("28.39.1002", "28.4.1") == 1);
  CHECK(version_order("28.39.beta", "28.39.1002") == std::nullopt);
  CHECK(version_order("1.0rc1", "1.0") == 1);
  CHECK(version_order("5.15.0-100-generic", "5.15.0-91-generic") == 1);
  CHECK(version_order("", "1") == std::nullopt);
  // Two hexadecimal digits a field: 1F is newer than 19, and A5 than 74.
  CHECK(version_order("96.00.1F.00.01", "96.00.19.00.01") == 1);
  CHECK(version_order("96.00.74.00.01", "96.00.a5.00.01") == -1);
  auto hosts = fleet();
  part_of(hosts, 0, 0).attributes["driver_version"] = Text("");
  const Evidence empty = expected(hosts, "gpu.driver_version", {">=535"});
  CHECK(failures(empty).empty());
  CHECK(gap_ids(empty) == "n1 gap.expect_unread\n");
}

TEST_CASE("a PCI address is one in each way in which tools write it") {
  for (const char* slot : {"00000000:01:00.0", "01:00.0", "0000:01:00.0", "0:1:0.0"}) {
    auto assets = list();
    assets[0].slot = slot;
    CHECK_MESSAGE(failures(compared(fleet(), assets)).empty(), slot);
  }
  auto assets = list();
  assets[0].slot = "00000000:03:00.0";
  CHECK(failures(compared(fleet(), assets)) == "n1 0000:01:00.0 why.asset_slot\n");
  assets[0].slot = "Riser:2";  // a maker's word
  CHECK(failures(compared(fleet(), assets)).empty());
}

TEST_CASE("zeros that a spreadsheet took away are said, and are no exchange") {
  auto hosts = fleet();
  part_of(hosts, 0, 0).attributes["serial"] = Text("0012");
  auto assets = list();
  assets[0].serial = "12";
  CHECK(failures(compared(hosts, assets)) == "n1 0000:01:00.0 why.asset_zeros\n");
}

TEST_CASE("a first label that two hosts have names none of them, and addresses have no label") {
  std::vector<HostInventory> hosts{{"n1.a", {gpu(1, "A1")}}, {"n1.b", {gpu(1, "B1")}}};
  const std::vector<Asset> one{{"n1", "gpu", "", "A1", ""}, {"n1.b", "gpu", "", "B1", ""}};
  CHECK(gap_ids(compared(hosts, one)).find("n1 gap.asset_two_hosts\n") != std::string::npos);
  hosts = {{"10.0.0.1", {gpu(1, "A1")}}};
  CHECK(gap_ids(compared(hosts, {{"10.0.0.2", "gpu", "", "A1", ""}})).find("gap.asset_host") !=
        std::string::npos);
}

TEST_CASE("each part is compared; what is absent is a gap and never equal") {
  auto hosts = fleet();
  CHECK(failures(expected(hosts, "gpu.model", {"NVIDIA H20"})).empty());
  part_of(hosts, 1, 0).attributes["model"] = Text("NVIDIA H20-3e");
  const Evidence odd = expected(hosts, "gpu.model", {"NVIDIA H20"});
  CHECK(failures(odd) == "n2 0000:01:00.0 why.expected\n");
  CHECK(odd.findings.size() == 2);  // and n1, of which nothing is wrong
  CHECK(failures(expected(hosts, "gpu.model", {"NVIDIA H20", "NVIDIA H20-3e"})).empty());

  part_of(hosts, 0, 1).attributes.erase("driver_version");
  const Evidence unread = expected(hosts, "gpu.driver_version", {">=535"});
  CHECK(failures(unread).empty());
  CHECK(gap_ids(unread) == "n1 gap.expect_unread\n");
  CHECK(gap_ids(expected(hosts, "nvme.model", {"x"})) ==
        "n1 gap.expect_none\nn2 gap.expect_none\n");
  CHECK(gap_ids(expected(hosts, "gpu.memory_bytes", {"much"})).find("gap.expect_unlike") !=
        std::string::npos);
}

TEST_CASE("counts of parts, also of none") {
  auto hosts = fleet();
  CHECK(failures(expected(hosts, "gpu.count", {"2"})).empty());
  hosts[0].parts.pop_back();
  CHECK(failures(expected(hosts, "gpu.count", {"2"})) == "n1  why.expected\n");
  CHECK(failures(expected(hosts, "nvme.count", {">=1"})) == "n1  why.expected\nn2  why.expected\n");
}

TEST_CASE("a delivery as on the list, whatever the case of names and numbers") {
  const Evidence good = compared(fleet());
  CHECK(failures(good).empty());
  CHECK(gap_ids(good).empty());
  CHECK(good.findings.size() == 2);
}

TEST_CASE("each planted difference is one finding of its kind") {
  auto hosts = fleet();
  SUBCASE("swapped between hosts") {
    std::swap(part_of(hosts, 0, 0).attributes["serial"], part_of(hosts, 1, 1).attributes["serial"]);
    CHECK(failures(compared(hosts)).find("why.asset_swapped\n") != std::string::npos);
    CHECK(compared(hosts).findings.size() == 2);
  }
  SUBCASE("swapped within a host") {
    std::swap(part_of(hosts, 0, 0).attributes["serial"], part_of(hosts, 0, 1).attributes["serial"]);
    CHECK(failures(compared(hosts)) == "n1 0000:02:00.0 why.asset_slots\n");
  }
  SUBCASE("moved to the other host") {
    hosts[1].parts.push_back(gpu(3, "A2"));
    hosts[0].parts.pop_back();
    CHECK(failures(compared(hosts)) == "n2 0000:03:00.0 why.asset_moved\n");
  }
  SUBCASE("missing") {
    hosts[0].parts.pop_back();
    CHECK(failures(compared(hosts)) == "n1 0000:02:00.0 why.asset_missing\n");
  }
  SUBCASE("surplus") {
    hosts[0].parts.push_back(gpu(3, "X"));
    CHECK(failures(compared(hosts)) == "n1 0000:03:00.0 why.asset_surplus\n");
  }
  SUBCASE("exchanged") {
    part_of(hosts, 0, 1).attributes["serial"] = Text("X");
    CHECK(failures(compared(hosts)) == "n1 0000:02:00.0 why.asset_exchanged\n");
  }
  SUBCASE("another model, of which the ordered one is only the beginning") {
    part_of(hosts, 0, 0).attributes["model"] = Text("NVIDIA H200");
    CHECK(failures(compared(hosts)) == "n1 0000:01:00.0 why.asset_model\n");
  }
  SUBCASE("the same serial number twice") {
    part_of(hosts, 0, 1).attributes["serial"] = Text("A1");
    const std::string all = failures(compared(hosts));
    CHECK(all.find("why.asset_double") != std::string::npos);
    CHECK(all.find("why.asset_missing") != std::string::npos);
  }
  SUBCASE("a host that is on no list") {
    hosts.push_back({"n3", {gpu(1, "C1"), gpu(2, "C2")}});
    CHECK(failures(compared(hosts)) == "n3  why.asset_host\n");
  }
}

TEST_CASE("what the list or the hosts do not tell is incomplete") {
  auto hosts = fleet();
  auto assets = list();
  SUBCASE("a serial number that nobody may read") {
    part_of(hosts, 0, 1).attributes.erase("serial");
    CHECK(failures(compared(hosts)).empty());
    CHECK(gap_ids(compared(hosts)) == "n1 gap.asset_unread\nn1 gap.asset_stranger\n");
  }
  SUBCASE("a placeholder counts as none") {
    part_of(hosts, 0, 1).attributes["serial"] = Text("0");
    CHECK(gap_ids(compared(hosts)) == "n1 gap.asset_unread\nn1 gap.asset_stranger\n");
  }
  SUBCASE("a host without inventory") {
    hosts.pop_back();
    CHECK(failures(compared(hosts)).empty());
    CHECK(gap_ids(compared(hosts)) == "n2 gap.asset_host\n");
  }
  SUBCASE("a row without serial number") {
    assets[3].serial.clear();
    const Evidence evidence = compared(hosts, assets);
    CHECK(gap_ids(evidence) == "n2 gap.asset_no_serial\n");
    CHECK(failures(evidence).empty());  // the piece may be that of the row
  }
  SUBCASE("a piece that does not tell its model") {
    part_of(hosts, 0, 0).attributes.erase("model");
    CHECK(gap_ids(compared(hosts)) == "n1 gap.asset_model\n");
  }
}

TEST_CASE(
    "modules of switches and of hosts without inventory are compared, and nothing else of them") {
  const auto module = [](const std::string& port, const std::string& serial) {
    return Part{"module", port, {{"serial", serial}}};
  };
  const std::vector<HostInventory> owners{{"leaf-0", {module("port 1", "M1")}},
                                          {"h1", {module("eth0", "M2")}}};
  std::vector<Asset> assets{{"leaf-0", "module", "port 1", "M1", ""},
                            {"h1", "module", "eth0", "M2", ""}};
  const auto compare = [&](const std::vector<HostInventory>& hosts) {
    return expect_evidence(hosts, ExpectRule{{}, assets}, owners);
  };
  SUBCASE("as listed") {
    CHECK(failures(compare({})).empty());
    CHECK(gap_ids(compare({})).empty());
  }
  SUBCASE("a wrong serial number") {
    assets[0].serial = "M9";
    CHECK(failures(compare({})) == "leaf-0 port 1 why.asset_exchanged\n");
  }
  SUBCASE("of a host without inventory another part is not known to be missing") {
    assets.push_back({"h1", "gpu", "", "A1", ""});
    CHECK(failures(compare({})).empty());
    CHECK(gap_ids(compare({})) == "h1 gap.asset_host\n");
    assets.erase(assets.begin() + 1);  // the host is listed for its GPU alone
    CHECK(failures(compare({})) == "h1 eth0 why.asset_surplus\n");
  }
  SUBCASE("a host whose modules nobody has read misses none") {
    assets.push_back({"n1", "module", "eth0", "M3", ""});
    CHECK(failures(compare(fleet())).empty());
    CHECK(gap_ids(compare(fleet())) == "n1 gap.asset_modules\n");
  }
}

TEST_CASE("the ports of one adapter are one piece") {
  HostInventory host{"n1"};
  for (const char* id : {"mlx5_0", "mlx5_1"}) {
    Part port{"rdma", id};
    port.attributes = {{"serial", Text("MT1")}, {"pci_address", Text("0000:1b:00.0")}};
    host.parts.push_back(port);
  }
  Part bare{"nic", "eno1"};  // on the mainboard
  bare.attributes["virtual"] = false;
  host.parts.push_back(bare);
  const std::vector<HostInventory> hosts{host};
  REQUIRE(pieces_of(hosts).size() == 1);
  CHECK(pieces_of(hosts)[0].kind == "nic");
}

TEST_CASE("as a criterion: pass, fail and incomplete, and a host without inventory") {
  Criterion c{.id = "c", .step = "s", .domain = "host"};
  c.rule = ExpectRule{{{"gpu.count", {"2"}}}, {}};
  Campaign measured = campaign({{"n1", 1}, {"n2", 1}});
  measured.inventories = fleet();
  const Profile p = profile({c});
  CHECK(verdict(measured, p).state == State::pass);
  CHECK(verdict(measured, p).reason == "2 hosts, as ordered");
  measured.inventories[1].parts.pop_back();
  const CriterionVerdict fails = verdict(measured, p);
  CHECK(fails.state == State::fail);
  CHECK(fails.reason == "n2: gpu.count is 1, ordered is 2");
  measured.inventories.pop_back();
  CHECK(verdict(measured, p).state == State::incomplete);
}

TEST_CASE("a locked profile passes its own hosts and no others") {
  auto hosts = fleet();
  part_of(hosts, 1, 0).attributes["driver_version"] = Text("535.98");
  std::vector<std::string> left_out;
  const std::string text = locked_profile(hosts, "mine", true, "2026-11-25", left_out);
  CHECK(left_out.empty());
  const Profile locked = parse_resolved_profile(text, "locked");
  REQUIRE(locked.criteria.size() == 2);
  const auto judged = [&](size_t i) {
    return expect_evidence(hosts, std::get<ExpectRule>(locked.criteria[i].rule));
  };
  CHECK(failures(judged(0)).empty());
  CHECK(gap_ids(judged(0)).empty());
  CHECK(failures(judged(1)).empty());
  part_of(hosts, 0, 0).attributes["driver_version"] = Text("535.97");  // the floor is 535.98
  CHECK(failures(judged(0)) == "n1 0000:01:00.0 why.expected\n");
  part_of(hosts, 0, 0).attributes["driver_version"] = Text("550.1");
  CHECK(failures(judged(0)).empty());
  part_of(hosts, 0, 0).attributes["serial"] = Text("X");
  CHECK(failures(judged(1)) == "n1 0000:01:00.0 why.asset_exchanged\n");
}

TEST_CASE("what a host could not tell is not locked, and said") {
  auto hosts = fleet();
  part_of(hosts, 1, 1).attributes.erase("driver_version");
  part_of(hosts, 0, 0).attributes.erase("serial");
  std::vector<std::string> left_out;
  const std::string text = locked_profile(hosts, "mine", true, "2026-11-25", left_out);
  REQUIRE(left_out.size() == 2);
  CHECK(left_out[0] == "gpu.driver_version (n2)");
  CHECK(text.find("driver_version") == std::string::npos);
}

TEST_CASE("a lock has no floor that every value passes, and lists a kind whole or not at all") {
  auto hosts = fleet();
  for (size_t i = 0; i < 4; ++i) {
    Part& part = part_of(hosts, i / 2, i % 2);
    part.attributes["driver_version"] = Text("N/A");
    part.attributes["memory_bytes"] = int64_t{0};
  }
  part_of(hosts, 1, 1).attributes["serial"] = Text("a1");  // A1 is on n1
  std::vector<std::string> left_out;
  const std::string text = locked_profile(hosts, "mine", true, "2026-11-25", left_out);
  CHECK(text.find(">=N/A") == std::string::npos);
  CHECK(text.find(">=0") == std::string::npos);
  CHECK(text.find("\"gpu.driver_version\": \"N/A\"") != std::string::npos);
  CHECK(text.find("\"assets\"") == std::string::npos);
  REQUIRE(left_out.size() == 1);
  CHECK(left_out[0].find("a1 is there twice") != std::string::npos);
  const Profile locked = parse_resolved_profile(text, "locked");
  part_of(hosts, 0, 0).attributes["driver_version"] = Text("550.1");
  const auto judged = expect_evidence(hosts, std::get<ExpectRule>(locked.criteria[0].rule));
  CHECK(failures(judged) == "n1 0000:01:00.0 why.expected\n");
}
