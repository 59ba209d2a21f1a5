// What the proofs of run --prove do to a verdict.
#include <doctest/doctest.h>

#include "judge/proofs.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

Proof proof(const std::string& host, ProofState state) {
  return {.step = "s", .host = host, .state = state, .planted = "a bit is flipped"};
}

struct Proved {
  Campaign c = campaign({{"n1", 100}, {"n2", 100}});
  Profile p = test::profile({metric_criterion({.metric = "bytes_per_second", .min = 50})});

  explicit Proved(std::vector<Proof> proofs) {
    c.profile = p;
    c.proofs = std::move(proofs);
  }
  Judgement judged() const& { return judge(c, p, {}, kToday); }
  Judgement judged() && = delete;  // a judgement points into the profile
};

}  // namespace

TEST_CASE("a campaign whose proofs are shown is accepted, and says so in one line") {
  const Proved all({proof("n1", ProofState::shown), proof("n2", ProofState::shown)});
  const Judgement j = all.judged();
  CHECK(exit_code(j) == ExitCode::ok);
  CHECK(j.criteria.size() == 1);
  CHECK(j.proven);
  CHECK(say_all(Lang::en, j.proofs) ==
        "a planted fault was found by the checks of 1 of 1 steps (2 jobs)");
}

TEST_CASE("nobody asked for proofs: nothing is said") {
  const Proved none({});
  CHECK(none.judged().proofs.empty());
  CHECK(exit_code(none.judged()) == ExitCode::ok);
}

TEST_CASE("a check that is blind on one host leaves the campaign incomplete by name") {
  Proof blind = proof("n2", ProofState::not_shown);
  blind.blind = true;
  const Proved one({proof("n1", ProofState::shown), blind});
  const Judgement j = one.judged();
  CHECK(exit_code(j) == ExitCode::incomplete);
  REQUIRE(j.criteria.size() == 2);
  CHECK(j.criteria[1].criterion->id == "step:s");
  CHECK(j.criteria[1].reason ==
        "the check of step s on n2 did not find a planted fault (a bit is flipped): its results "
        "prove nothing; mend the check, or measure with another clusterbench");
  CHECK_FALSE(j.proven);
  CHECK(count_proofs(one.c.proofs).jobs == 1);
  CHECK(count_proofs(one.c.proofs).shown == 0);
}

TEST_CASE("a proof that could not be made leaves it incomplete with the reason") {
  Proof lost = proof("", ProofState::not_shown);
  lost.reason = "exit 7";
  const Proved one({lost});
  const Judgement j = one.judged();
  CHECK(exit_code(j) == ExitCode::incomplete);
  CHECK(j.criteria.at(1).reason ==
        "whether the check of step s on cluster finds a planted fault is not shown: exit 7; repeat "
        "it with run --resume");
}

TEST_CASE("where no fault can be planted it is named and takes nothing away") {
  const Proved mixed({proof("n1", ProofState::shown),
                      proof("n2", ProofState::shown),
                      {.step = "i", .host = "n1", .state = ProofState::impossible},
                      {.step = "i", .host = "n2", .state = ProofState::impossible}});
  const Judgement j = mixed.judged();
  CHECK(exit_code(j) == ExitCode::ok);
  CHECK(say_all(Lang::zh, j.proofs).find("i 中无法植入故障") != std::string::npos);
  CHECK(count_proofs(mixed.c.proofs).impossible == std::vector<std::string>{"i"});
}

TEST_CASE("wrong data stays a failure whatever the proofs say") {
  Proved wrong({proof("n1", ProofState::not_shown), proof("n2", ProofState::shown)});
  wrong.c.jobs[0].document->records[0].checks[0].passed = false;
  CHECK(exit_code(wrong.judged()) == ExitCode::not_accepted);
}
