#include "campaign/paperwork.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

// GPU 5 of n1 computes wrong: its figure is gone, and the check of the data fails.
struct WrongGpu {
  WrongGpu() {
    campaign.inventories = {
        {.host = "n1",
         .parts = {{.kind = "system", .id = "system", .attributes = {{"serial", "HOST"}}},
                   {.kind = "gpu",
                    .id = "0000:1b:00.0",
                    .attributes = {{"index", int64_t{5}}, {"serial", "GPU5"}}}}}};
    figure.id = "gemm.bf16";
    figure.rule = MetricRule{.metric = "flops_per_second"};
    correct.id = "gemm.correct";
    correct.rule = CheckRule{.check = "product"};
    const Entity gpu{"n1", "gpu", "5"};
    judgement.criteria = {verdict(figure, {.entity = gpu, .failing = true}),
                          verdict(correct, {.entity = gpu, .value = 1, .failing = true})};
  }

  static CriterionVerdict verdict(const Criterion& c, const Finding& f) {
    CriterionVerdict v{.criterion = &c, .state = State::fail};
    v.failing = {f};
    return v;
  }

  Campaign campaign;
  Criterion figure, correct;
  Judgement judgement;
};

}  // namespace

TEST_CASE("a part that fails two criteria is one issue, as grave as the graver of them") {
  const WrongGpu wrong;
  const auto issues = issues_of_failures(wrong.campaign, wrong.judgement, {}, "2026-01-01");
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].id == "I-001");
  CHECK(issues[0].part == "gpu 5");
  CHECK(issues[0].severity == "critical");
  CHECK(issues[0].criterion == "gemm.bf16 gemm.correct");
  CHECK(issues[0].serial == "GPU5");  // the piece's, not the host's
  CHECK(issues_of_failures(wrong.campaign, wrong.judgement, issues, "2026-01-02").empty());
}

TEST_CASE("wrong data is critical, a low figure is major") {
  WrongGpu wrong;
  wrong.judgement.criteria.erase(wrong.judgement.criteria.begin());
  CHECK(issues_of_failures(wrong.campaign, wrong.judgement, {}, "x")[0].severity == "critical");
  WrongGpu slow;
  slow.judgement.criteria.pop_back();
  slow.judgement.criteria[0].failing[0].value = 80;
  CHECK(issues_of_failures(slow.campaign, slow.judgement, {}, "x")[0].severity == "major");
}

TEST_CASE("an issue of two criteria is mended when both pass there") {
  WrongGpu wrong;
  const Issue issue = issues_of_failures(wrong.campaign, wrong.judgement, {}, "2026-01-01")[0];
  Campaign retest = wrong.campaign;
  retest.started = "2026-01-02";
  retest.ended = "2026-01-03";
  for (CriterionVerdict& v : wrong.judgement.criteria) {
    v.state = State::pass;
    v.failing.clear();
    v.entities = 1;
  }
  CHECK_FALSE(why_not_mended(issue, retest, wrong.judgement).has_value());
  wrong.judgement.criteria.pop_back();
  CHECK(why_not_mended(issue, retest, wrong.judgement).value() == "it does not judge gemm.correct");
}

namespace {

// A criterion that fails on these parts of n1.
struct FailingParts {
  explicit FailingParts(const std::vector<Entity>& entities) {
    criterion.id = "c";
    criterion.rule = MetricRule{.metric = "x"};
    CriterionVerdict v{.criterion = &criterion, .state = State::fail};
    for (const Entity& e : entities)
      v.failing.push_back({.entity = e,
                           .unit = "watts",
                           .value = 5,
                           .limit = 9,
                           .limit_is_minimum = true,
                           .file = "records/1.json",
                           .failing = true});
    judgement.criteria = {v};
  }
  std::vector<Issue> issues(const std::vector<Issue>& known = {}) const {
    return issues_of_failures(campaign, judgement, known, "2026-01-01");
  }
  std::vector<std::string> parts() const {
    std::vector<std::string> out;
    for (const Issue& i : issues()) out.push_back(i.id + " " + i.host + " " + i.part);
    return out;
  }

  Campaign campaign;
  Criterion criterion;
  Judgement judgement;
};

std::vector<Entity> gpus_of(const std::string& host, int count) {
  std::vector<Entity> out;
  for (int i = 0; i < count; ++i) out.push_back({host, "gpu", std::to_string(i)});
  return out;
}

using PartNames = std::vector<std::string>;

}  // namespace

TEST_CASE("four parts of a host are four issues, five are one that counts them") {
  CHECK(FailingParts(gpus_of("n1", 4)).parts() ==
        PartNames{"I-001 n1 gpu 0", "I-002 n1 gpu 1", "I-003 n1 gpu 2", "I-004 n1 gpu 3"});
  CHECK(FailingParts(gpus_of("n1", 5)).parts() == PartNames{"I-001 n1 5 parts"});
  CHECK(FailingParts({{"n1", "host", ""}, {"", "cluster", ""}, {"n1", "pair", "", "n2"}}).parts() ==
        PartNames{"I-001 n1 host", "I-002  cluster", "I-003 n1 n1 → n2"});
}

TEST_CASE("what an issue says: the figure and its limit, or what the check said; the file") {
  FailingParts f({{"n1", "gpu", "0"}});
  CHECK(f.issues().at(0).symptom == "5.00 W where at least 9.00 W is required");
  CHECK(f.issues().at(0).evidence == "records/1.json");
  CHECK(f.issues().at(0).found == "2026-01-01");
  Finding& finding = f.judgement.criteria[0].failing[0];
  finding.limit_is_minimum = false;
  CHECK(f.issues().at(0).symptom == "5.00 W where at most 9.00 W is required");
  finding.limit.reset();
  CHECK(f.issues().at(0).symptom == "");
  finding.limit = 9;
  finding.value.reset();
  CHECK(f.issues().at(0).symptom == "");
  f.judgement.criteria[0].state = State::incomplete;
  CHECK(f.issues().empty());
}

TEST_CASE(
    "an open issue of the same criterion, host and part is not opened again, a closed one is") {
  const FailingParts f({{"n1", "gpu", "0"}});
  Issue known{.id = "I-001", .host = "n1", .part = "gpu 0", .criterion = "c"};
  CHECK(f.issues({known}).empty());
  Issue other = known;
  other.part = "gpu 1";
  CHECK(f.issues({other}).at(0).id == "I-002");
  other = known;
  other.host = "n2";
  CHECK(f.issues({other}).size() == 1);
  other = known;
  other.criterion = "b";
  CHECK(f.issues({other}).size() == 1);
  other.criterion = "b c";
  CHECK(f.issues({other}).empty());
  known.closed = "2026-01-01";
  CHECK(f.issues({known}).at(0).id == "I-002");
}

TEST_CASE("the serial number of the part, of its host, or none") {
  FailingParts f({{"n1", "gpu", "0"}});
  const auto serial = [&](std::vector<Part> parts, const std::string& host = "n1") {
    f.campaign.inventories = {{.host = "n0", .parts = {{"system", "0", {{"serial", "N0"}}}}},
                              {.host = host, .parts = std::move(parts)}};
    return f.issues().at(0).serial;
  };
  const Part board{"system", "0", {{"serial", "BOARD"}}};
  CHECK(serial({board, {"gpu", "0", {{"serial", "G0"}}}}) == "G0");
  CHECK(serial({board, {"gpu", "1", {{"serial", "G1"}}}}) == "BOARD");
  CHECK(serial({board, {"gpu", "0", {}}}) == "BOARD");
  CHECK(serial({board, {"nic", "0", {{"serial", "NIC"}}}}) == "BOARD");
  CHECK(serial({}) == "");
  CHECK(serial({board}, "n2") == "");
}

TEST_CASE("one of two faults of a part is told once, and the graver one leads") {
  WrongGpu wrong;
  for (CriterionVerdict& v : wrong.judgement.criteria)
    v.failing[0].detail = {{"why.wrong", {"n1:5", "product"}}};
  const auto same = issues_of_failures(wrong.campaign, wrong.judgement, {}, "x");
  REQUIRE(same.size() == 1);
  CHECK(same[0].symptom.text().find(';') == std::string::npos);
  wrong.judgement.criteria[1].failing[0].detail = {{"why.wrong", {"n1:5", "other"}}};
  const auto both = issues_of_failures(wrong.campaign, wrong.judgement, {}, "x");
  CHECK(both.at(0).symptom.text().find("; ") != std::string::npos);
  // A low figure first, wrong data behind it.
  WrongGpu graver;
  graver.judgement.criteria[0].failing[0].value = 80;
  CHECK(issues_of_failures(graver.campaign, graver.judgement, {}, "x").at(0).criterion ==
        "gemm.correct gemm.bf16");
}

TEST_CASE("the next number is one that no issue has") {
  CHECK(next_issue_id({}) == "I-001");
  CHECK(next_issue_id({{.id = "I-001"}}) == "I-002");
  CHECK(next_issue_id({{.id = "I-003"}}) == "I-002");
  CHECK(next_issue_id({{.id = "I-002"}}) == "I-003");
  CHECK(next_issue_id({{.id = "I-003"}, {.id = "I-004"}}) == "I-005");
}

TEST_CASE("why a re-test does not show that an issue is mended") {
  const Issue issue{.id = "I-001", .found = "2026-01-02", .host = "n1", .criterion = "c"};
  FailingParts f(gpus_of("n1", 1));
  CriterionVerdict& v = f.judgement.criteria[0];
  const std::vector<Finding> failing = v.failing;
  v.failing.clear();
  v.state = State::pass;
  v.entities = 1;
  Campaign retest;
  retest.started = "2026-01-02";
  retest.ended = "2026-01-03";
  retest.hosts = {"n1"};
  const auto why = [&](const Issue& i) {
    return why_not_mended(i, retest, f.judgement).value_or("");
  };
  CHECK(why(issue) == "");
  CHECK(why({.found = "2026-01-02", .host = "n1"}) == "");  // of no criterion: all are looked at
  Issue late = issue;
  late.found = "2026-01-02T";
  CHECK(why(late).find("before the issue was found") != std::string::npos);
  Issue elsewhere = issue;
  elsewhere.host = "n2";
  CHECK(why(elsewhere) == "n2 is not in it");
  retest.inventories = {{.host = "n2"}};
  CHECK(why(elsewhere) == "");
  elsewhere.host = "";
  CHECK(why(elsewhere) == "");
  v.failing = failing;
  CHECK(why(issue) == "c still fails: n1:0");
  CHECK(why({.found = "2026-01-02", .host = "n2"}) == "");  // of another host
  f.criterion.severity = Severity::warn;
  CHECK(why(issue) == "");
  v.failing.clear();
  for (const char* host : {"", "n1"}) {
    v.gaps = {{host, {"gap.no_step", {"s"}}}};
    CHECK(why(issue) == "c was not measured there");
  }
  v.gaps = {{"n3", {"gap.no_step", {"s"}}}};
  CHECK(why(issue) == "");
  CHECK(why(elsewhere) == "c was not measured there");  // of a group: n3 may be a member
  v.entities = 0;
  CHECK(why(issue) == "it does not judge c");
  CHECK(why({.found = "2026-01-02", .host = "n1"}) == "it does not judge anything");
  v.entities = 1;
  v.state = State::not_applicable;
  CHECK(why(issue) == "it does not judge c");
  v.state = State::pass;
  retest.ended.clear();
  CHECK(why(issue).find("not finished") != std::string::npos);
}

TEST_CASE("a site's file holds texts and known names only") {
  const auto problems = [](const std::string& more) {
    try {
      parse_site(R"({"schema": "clusterbench.site/1")" + more + "}", "site.json");
    } catch (const UsageError& e) {
      return std::string(e.problems().list.at(0).where);
    }
    return std::string();
  };
  CHECK(problems("") == "");
  CHECK(problems(R"(, "project": "P", "clauses": {"a": "b"})") == "");
  CHECK(problems(R"(, "project": 5)") == "project");
  CHECK(problems(R"(, "projekt": "P")") == "projekt");
  CHECK(problems(R"(, "clauses": [])") == "clauses");
  CHECK(problems(R"(, "clauses": {"a": 5})") == "clauses.a");
  CHECK(problems(R"(, "standard": "GB/T 46346-2025")") == "");
  CHECK(problems(R"(, "standard": "GB/T 1")") == "standard");
  const Site site = parse_site(
      R"({"schema": "clusterbench.site/1", "scope": "S", "clauses": {"a": "b"}})", "site.json");
  CHECK(site.scope == "S");
  CHECK(site.clauses.at("a") == "b");
}
