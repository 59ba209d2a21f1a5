// Which host and which part of one campaign is which of another one, and in which order changes
// are told.
#include "judge/compare_hosts.h"

#include <doctest/doctest.h>

#include "judge/compare.h"
#include "judge/compare_fingerprint.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

Part part_with(const char* kind, const std::string& id,
               const std::vector<std::pair<std::string, std::string>>& attributes) {
  Part out{.kind = kind, .id = id};
  for (const auto& entry : attributes) out.attributes[entry.first] = entry.second;
  return out;
}

HostMatch match_parts_of(const std::vector<Part>& before, const std::vector<Part>& after) {
  Campaign a = campaign({{"n1", 1}}), b = a;
  a.inventories[0].parts = before;
  b.inventories[0].parts = after;
  return match_hosts(a, b, {});
}

}  // namespace

TEST_CASE("a system is exchanged where both campaigns know its serial number, and not the same") {
  const Part old = part_with("system", "0", {{"serial", "SN1"}});
  const Part other = part_with("system", "0", {{"serial", "SN2"}});
  const Part none = part_with("system", "0", {});
  REQUIRE(match_parts_of({old}, {other}).exchanged.size() == 1);
  CHECK(match_parts_of({old}, {other}).exchanged[0].what == "host n1");
  CHECK(match_parts_of({old}, {other}).exchanged[0].before == "SN1");
  CHECK(match_parts_of({old}, {other}).exchanged[0].after == "SN2");
  CHECK(match_parts_of({old}, {old}).exchanged.empty());
  CHECK(match_parts_of({old}, {none}).exchanged.empty());
  CHECK(match_parts_of({none}, {old}).exchanged.empty());
  CHECK(match_parts_of({old}, {}).exchanged.empty());
}

TEST_CASE("a GPU without UUID is found by its slot, then by its index, and taken once") {
  const auto gpu = [](const char* index, const char* slot, const char* serial) {
    return part_with("gpu", index, {{"index", index}, {"pci_address", slot}, {"serial", serial}});
  };
  const HostMatch slots = match_parts_of({gpu("0", "1:0", "A"), gpu("1", "2:0", "B")},
                                         {gpu("0", "2:0", "B"), gpu("1", "1:0", "C")});
  CHECK(slots.after(Entity{"n1", "gpu", "0"}).id == "1");
  CHECK(slots.after(Entity{"n1", "gpu", "1"}).id == "0");
  const HostMatch indices = match_parts_of({gpu("0", "1:0", "A")}, {gpu("0", "9:0", "A")});
  CHECK(indices.after(Entity{"n1", "gpu", "0"}).id == "0");
  REQUIRE(indices.exchanged.size() == 1);  // no UUID says that it is the same
  // The first takes slot 2; the second's own slot is gone and its index is taken.
  const HostMatch taken = match_parts_of({gpu("0", "2:0", "A"), gpu("1", "8:0", "B")},
                                         {gpu("1", "2:0", "C"), gpu("2", "3:0", "D")});
  CHECK(taken.gpus.size() == 1);
  CHECK(taken.after(Entity{"n1", "gpu", "0"}).id == "1");
}

TEST_CASE(
    "a GPU of which one side has no index keeps its name, and only known pieces are exchanged") {
  const Part named = part_with("gpu", "7", {{"index", "7"}, {"pci_address", "1:0"}, {"uuid", "A"}});
  const Part unnamed = part_with("gpu", "x", {{"pci_address", "1:0"}, {"uuid", "B"}});
  const Part unknown = part_with("gpu", "y", {{"index", "3"}, {"pci_address", "1:0"}});
  CHECK(match_parts_of({named}, {unnamed}).gpus.empty());
  CHECK(match_parts_of({unnamed}, {named}).gpus.empty());
  CHECK(match_parts_of({named}, {unnamed}).exchanged.at(0).what == "gpu n1:x");
  CHECK(match_parts_of({named}, {unknown}).exchanged.empty());
  CHECK(match_parts_of({unknown}, {named}).exchanged.empty());
  CHECK(match_parts_of({named}, {unknown}).after(Entity{"n1", "gpu", "7"}).id == "3");
  CHECK(match_parts_of({named}, {unknown}).after(Entity{"n1", "nic", "7"}).id == "7");
}

TEST_CASE("--map is OLD=NEW, and NEW may be empty") {
  Problems problems;
  const auto map = parse_host_map({"a=b", "c="}, "--map", problems);
  CHECK(problems.empty());
  REQUIRE(map.size() == 2);
  CHECK(map[0].before == "a");
  CHECK(map[0].after == "b");
  CHECK(map[1].before == "c");
  CHECK(map[1].after == "");
}

TEST_CASE("changes: worse first, then undecided, better, same, and the larger one earlier") {
  // Ten samples each and a change in per cent; of the third only three samples, which tell nothing.
  const std::vector<double> per_cent{0, 5, -50, -5, -20, 8};
  Campaign before = campaign({{"n1", 1}}), after = before;
  const auto fill = [&](Campaign& c, bool later) {
    c.profile = profile({});
    Record& r = c.jobs[0].document->records[0];
    const size_t e = r.metrics[0].entity;
    r.metrics.clear();
    for (size_t m = 0; m < per_cent.size(); ++m) {
      Samples samples;
      for (int i = 0; i < (m == 2 ? 3 : 10); ++i)
        samples.add((100 + (later ? per_cent[m] : 0)) * (1 + 0.001 * i));
      r.metrics.push_back({.name = "m" + std::to_string(m), .entity = e, .samples = samples});
    }
  };
  fill(before, false);
  fill(after, true);
  const auto a = gather_metrics(before, {}), b = gather_metrics(after, {});
  const Judgement ja = judge(before, before.profile, {}, kToday),
                  jb = judge(after, after.profile, {}, kToday);
  const Comparison found = compare_campaigns({before, a, ja}, {after, b, jb}, {});
  std::string order;
  for (const Change& c : found.changes) order += c.after->metric.substr(1);
  CHECK(order == "432510");
  CHECK(found.count(ChangeKind::worse) == 2);
  CHECK(found.count(ChangeKind::undecided) == 1);
  CHECK(found.count(ChangeKind::better) == 2);
}

TEST_CASE("what else differs between two campaigns: attributes, numbers of parts, variables") {
  Campaign a = campaign({{"n1", 1}, {"n2", 1}}), b = a;
  a.profile = b.profile = profile({});
  const auto lines = [&] {
    std::vector<std::string> out;
    for (const FingerprintDifference& d : fingerprint_differences(a, b))
      out.push_back(d.what + ": " + d.before + " → " + d.after);
    return out;
  };
  using Lines = std::vector<std::string>;
  CHECK(lines() == Lines{});
  a.inventories[0].parts = {part_with("gpu", "0", {{"model", "A"}}),
                            part_with("library", "nccl", {{"version", "2"}})};
  b.inventories[0].parts = {part_with("gpu", "0", {{"model", "A"}}),
                            part_with("gpu", "1", {{"model", "B"}}),
                            part_with("library", "nccl", {{"version", "3"}}),
                            part_with("library", "mpi", {{"version", "1"}})};
  CHECK(lines() == Lines{"gpu.model: A → A, B", "library.version: nccl 2 → mpi 1, nccl 3",
                         "gpu.count: 0, 1 → 0, 2"});
  b.inventories = a.inventories;
  b.jobs[0].document->run.environment = {{"B", "2"}, {"A", "1"}};
  b.jobs[1].document->run.environment = {{"A", "1"}};
  CHECK(lines() == Lines{"environment:  → A=1 B=2"});
  b.jobs[0].document.reset();
  CHECK(lines() == Lines{"environment:  → A=1"});
  Step step{.id = "s", .case_name = "fake"};
  step.params = {{"size", {"1K", "2K"}}, {"depth", {"3"}}};
  step.env = {{"X", "1"}};
  CHECK(step_text(step) == "fake depth 3 size 1K 2K X=1");
}

TEST_CASE(
    "a verdict under another rule is undecided, worse where it is worse; its words are no rule") {
  const auto compared = [](double value, const std::string& before, const std::string& after) {
    Campaign a = campaign({{"n1", 10}}), b = campaign({{"n1", value}});
    a.profile = b.profile = profile({metric_criterion({.metric = "bytes_per_second", .min = 5})});
    a.profile.resolved = R"({"criteria": [{"id": "c", )" + before + "}]}";
    b.profile.resolved = R"({"criteria": [{"id": "c", )" + after + "}]}";
    a.profile.sha256 = "a";
    b.profile.sha256 = before == after ? "a" : "b";
    const auto ga = gather_metrics(a, {}), gb = gather_metrics(b, {});
    const Judgement ja = judge(a, a.profile, {}, kToday), jb = judge(b, b.profile, {}, kToday);
    const auto verdicts = compare_campaigns({a, ga, ja}, {b, gb, jb}, {}).verdicts;
    return verdicts.empty() ? "none" : change_name(verdicts[0].kind);
  };
  CHECK(std::string(compared(10, R"("min": 5)", R"("min": 5)")) == "none");
  CHECK(std::string(compared(10, R"("min": 4)", R"("min": 5)")) == "undecided");
  CHECK(std::string(compared(1, R"("min": 4)", R"("min": 5)")) == "worse");
  CHECK(std::string(compared(1, R"("min": 5)", R"("min": 5)")) == "worse");
  for (const char* key : {"title", "why", "source", "domain"}) {
    const std::string words = std::string("\"") + key + "\": ";
    CHECK(std::string(compared(10, words + "\"a\"", words + "\"b\"")) == "none");
  }
}
