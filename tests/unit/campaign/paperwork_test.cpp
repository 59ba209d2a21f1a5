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
