// The issue tracking table and the checklist: what they take, and that their past cannot change.
#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "campaign/checklist.h"
#include "campaign/history.h"
#include "campaign/issue_file.h"
#include "core/file.h"

using namespace cb;

namespace {

namespace fs = std::filesystem;

const std::string kNow = "2026-11-21T10:00:00Z";

struct Directory {
  Directory() {
    std::string name = (fs::temp_directory_path() / "cb-issues-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    paths.root = name;
    std::ofstream(paths.campaign()) << "{}";
  }
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(paths.root, ignored);
  }
  CampaignPaths paths;
};

const IssueFields kHot{{"symptom", "hot"}, {"severity", "fatal"}, {"host", "n1"}};

}  // namespace

TEST_CASE("an issue is what its events add up to") {
  const Directory d;
  CHECK(read_issues(d.paths).empty());
  CHECK(add_issue(d.paths, kHot, kNow) == "ISS-001");
  CHECK(add_issue(d.paths, {{"symptom", "s"}, {"severity", "notice"}, {"found-at", "2026-11-01"}},
                  kNow) == "ISS-002");
  update_issue(d.paths, "ISS-001", {{"owner", "W"}, {"old-serial", "1"}, {"new-serial", "2"}},
               kNow);
  close_issue(d.paths, "ISS-001", {"c2", kNow, "n1", "gemm passes", "ab"}, "2026-11-22T10:00:00Z");
  auto issues = read_issues(d.paths);
  REQUIRE(issues.size() == 2);
  CHECK(issues[0].host == "n1");
  CHECK(issues[0].found_at == kNow);
  CHECK(issues[0].owner == "W");
  CHECK(issues[0].new_serial == "2");
  CHECK(issues[0].closed_at == "2026-11-22T10:00:00Z");
  CHECK(issues[0].retest->evidence == "gemm passes");
  CHECK(issues[1].found_at == "2026-11-01");
  CHECK(issues[1].open());
  CHECK_THROWS_AS(update_issue(d.paths, "ISS-001", {{"owner", "X"}}, kNow), UsageError);
  CHECK_THROWS_AS(close_issue(d.paths, "ISS-001", {}, kNow), UsageError);
  CHECK_THROWS_AS(reopen_issue(d.paths, "ISS-001", "", kNow), UsageError);
  CHECK_THROWS_AS(reopen_issue(d.paths, "ISS-002", "again", kNow), UsageError);
  reopen_issue(d.paths, "ISS-001", "hot again", kNow);
  CHECK(read_issues(d.paths)[0].open());
  CHECK(read_issues(d.paths)[0].evidence == "hot again");
}

TEST_CASE("bad fields of an issue are refused, every problem at once") {
  const Directory d;
  try {
    add_issue(d.paths, {{"severity", "big"}, {"found-at", "2026-11-22"}}, kNow);
    FAIL("accepted");
  } catch (const UsageError& e) {
    CHECK(e.problems().list.size() == 3);  // symptom, severity, found-at
  }
  CHECK_THROWS_AS(
      add_issue(d.paths, {{"symptom", "s"}, {"severity", "minor"}, {"found-at", "soon"}}, kNow),
      UsageError);
  CHECK_FALSE(fs::exists(d.paths.issues()));
  add_issue(d.paths, kHot, kNow);
  CHECK_THROWS_WITH_AS(update_issue(d.paths, "ISS-01", {{"owner", "W"}}, kNow),
                       doctest::Contains("ISS-001"), UsageError);
  CHECK_THROWS_AS(update_issue(d.paths, "ISS-001", {}, kNow), UsageError);
}

TEST_CASE("a history that was changed, shortened in the middle or torn is refused by line") {
  const Directory d;
  for (int i = 0; i < 3; ++i) add_issue(d.paths, kHot, kNow);
  const std::string good = read_file(d.paths.issues());
  const auto refuse = [&](const std::string& text, const char* where) {
    write_file_atomically(d.paths.issues(), text);
    CHECK_THROWS_WITH_AS(read_issues(d.paths), doctest::Contains(where), UsageError);
    CHECK_THROWS_AS(add_issue(d.paths, kHot, kNow), UsageError);
    CHECK(read_file(d.paths.issues()) == text);
  };
  std::string changed = good;
  changed[changed.find("hot")] = 'p';
  refuse(changed, "line 2");
  const size_t first = good.find('\n') + 1;
  const size_t second = good.find('\n', first) + 1;
  refuse(good.substr(0, first) + good.substr(second), "line 2");
  refuse(good.substr(first), "line 1");
  refuse(good.substr(0, good.size() - 1), "line 3");
  write_file_atomically(d.paths.issues(), good);
  CHECK(read_issues(d.paths).size() == 3);
}

TEST_CASE("failures become issues, once") {
  const Directory d;
  Campaign c;
  c.ended = "2026-11-21T09:00:00Z";
  c.profile.criteria = {
      {.id = "gemm", .step = "s"}, {.id = "io", .step = "s"}, {.id = "fine", .step = "s"}};
  HostInventory n1{.host = "n1"};
  n1.parts.push_back({.kind = "system", .id = "", .attributes = {{"serial", "SN7"}}});
  c.inventories = {n1};
  Judgement j;
  j.criteria.push_back({.criterion = &c.profile.criteria[0],
                        .state = State::fail,
                        .reason = "slow",
                        .worst = Entity{"n1", "gpu", "3"}});
  j.criteria.push_back({.criterion = &c.profile.criteria[1], .state = State::incomplete});
  j.criteria.push_back({.criterion = &c.profile.criteria[2], .state = State::pass});
  CHECK(import_issues(d.paths, c, j, kNow) == std::vector<std::string>{"ISS-001", "ISS-002"});
  CHECK(import_issues(d.paths, c, j, kNow).empty());
  const auto issues = read_issues(d.paths);
  CHECK(issues[0].criterion == "gemm");
  CHECK(issues[0].entity == "n1:3");
  CHECK(issues[0].serial == "SN7");
  CHECK(issues[0].severity == "serious");
  CHECK(issues[0].found_at == c.ended);
  CHECK(issues[1].severity == "minor");
  CHECK(issues[1].serial.empty());
  j.criteria[0].failing = {{.entity = {"n1", "gpu", "3"}, .unit = "count", .value = 2, .limit = 0},
                           {.entity = {"n1", "gpu", "4"}, .unit = "count", .value = 1, .limit = 0}};
  CHECK(import_issues(d.paths, c, j, kNow) == std::vector<std::string>{"ISS-003"});
  CHECK(read_issues(d.paths)[2].entity == "n1:4");
  CHECK(read_issues(d.paths)[2].evidence.find("n1:4") != std::string::npos);
  j.criteria[0].failing.resize(21, j.criteria[0].failing[0]);
  CHECK(import_issues(d.paths, c, j, kNow).empty());  // one for all, which there is
  j.criteria[0].failing.resize(1);
  close_issue(d.paths, "ISS-001", {}, kNow);
  CHECK(import_issues(d.paths, c, j, kNow) == std::vector<std::string>{"ISS-004"});
}

TEST_CASE("checklist results") {
  const Directory d;
  Profile p{.name = "p"};
  p.checklist.push_back({.id = "labels", .domain = "host", .text = {}});
  const std::string today = "2026-11-21";
  set_checklist(d.paths, p, {"labels", "fail", "Li", today, "two are missing"}, today);
  set_checklist(d.paths, p, {"labels", "pass", "Li", today, ""}, today);
  const auto results = read_checklist(d.paths);
  REQUIRE(results.size() == 2);
  CHECK(results[0].remark == "two are missing");
  CHECK(results[1].result == "pass");
  for (const ChecklistResult& bad : {ChecklistResult{"label", "pass", "Li", today, ""},
                                     {"labels", "yes", "Li", today, ""},
                                     {"labels", "pass", "", today, ""},
                                     {"labels", "pass", "Li", "2026-11-22", ""},
                                     {"labels", "pass", "Li", "today", ""},
                                     {"labels", "not-applicable", "Li", today, ""}})
    CHECK_THROWS_AS(set_checklist(d.paths, p, bad, today), UsageError);
  CHECK(read_checklist(d.paths).size() == 2);
  p.checklist.clear();
  CHECK_THROWS_AS(set_checklist(d.paths, p, {"labels", "pass", "Li", today, ""}, today),
                  UsageError);
}
