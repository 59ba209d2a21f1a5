// The short job with a planted fault that is made of a step.
#include <doctest/doctest.h>

#include "campaign/proof_event.h"
#include "campaign/proof_step.h"

#include <nlohmann/json.hpp>

using namespace cb;

namespace {

CaseInfo info() {
  CaseInfo out{.name = "a"};
  out.params = {{"size", ParamType::size, "1K", "", {}, true},
                {"duration", ParamType::duration, "10s", ""},
                {"iterations", ParamType::integer, "", ""},
                {"workload",
                 ParamType::choice,
                 "",
                 "",
                 {"long", "short"},
                 false,
                 -9e18,
                 9e18,
                 {{{"iterations"}, {"long"}}}},
                {"verify", ParamType::flag, "true", ""},
                {"file", ParamType::text, "", ""},
                {"inject-fault", ParamType::integer, "", ""}};
  out.fault = {.planted = "a bit is flipped",
               .checks = {"data"},
               .brief = {{"duration", {"1s"}}, {"iterations", {"5"}}},
               .point_seconds = 2,
               .blind = {{"verify", {"false"}, "nobody looks"}, {"file", {}, "not known"}}};
  return out;
}

Step step(GivenParams params) { return {.id = "s", .case_name = "a", .params = std::move(params)}; }

}  // namespace

TEST_CASE("a proof has its step's parameters, the fault, and is short") {
  const Step short_one = proof_step(step({{"size", {"1K", "2K"}}}), info());
  CHECK(short_one.params == GivenParams{{"size", {"1K", "2K"}},
                                        {"duration", {"1s"}},
                                        {"iterations", {"5"}},
                                        {"inject-fault", {"0"}}});
}

TEST_CASE("what is shorter already stays, and what the step excludes is left out") {
  CHECK(proof_step(step({{"duration", {"200ms"}}}), info()).params.at("duration") ==
        std::vector<std::string>{"200ms"});
  CHECK(proof_step(step({{"iterations", {"5"}}}), info()).params.at("iterations") ==
        std::vector<std::string>{"5"});
  CHECK_FALSE(proof_step(step({{"workload", {"long"}}}), info()).params.contains("iterations"));
  CHECK(proof_step(step({{"workload", {"short"}}}), info()).params.contains("iterations"));
}

TEST_CASE("of several faults the first is planted") {
  CaseInfo several = info();
  several.params.back() = {"inject-fault", ParamType::choice, "none", "", {"none", "bit", "hang"}};
  CHECK(proof_step(step({}), several).params.at("inject-fault") == std::vector<std::string>{"bit"});
}

TEST_CASE("why no fault can be planted") {
  CHECK_FALSE(why_no_fault(step({}), info()).has_value());
  CHECK(why_no_fault(step({{"verify", {"false"}}}), info()) == "nobody looks");
  CHECK(why_no_fault(step({{"file", {"/f"}}}), info()) == "not known");
  CaseInfo none = info();
  none.fault = {.why_not = "there is no data"};
  CHECK(why_no_fault(step({}), none) == "there is no data");
}

TEST_CASE("how long a proof takes counts its points") {
  CHECK(proof_seconds(step({}), info()) == 3);
  CHECK(proof_seconds(step({{"size", {"1K,2K", "4K"}}}), info()) == 7);
}

TEST_CASE("the step of a command takes from it only what a proof may change") {
  const std::vector<std::string> command{"clusterbench", "a",     "--size",         "9K",
                                         "--duration",   "1s",    "--inject-fault", "0",
                                         "--json",       "p.json"};
  const CaseInfo known = info();
  CHECK(proved_step(step({{"size", {"1K"}}}), command, &known).params ==
        GivenParams{{"size", {"1K"}}, {"duration", {"1s"}}, {"inject-fault", {"0"}}});
  CHECK(proved_step(step({{"size", {"1K"}}}), {"x"}, &known).params ==
        GivenParams{{"size", {"1K"}}});
  CaseInfo shortens = info();
  shortens.fault.brief = {{"size", {"1"}}};
  CHECK(proved_step(step({{"size", {"1K"}}}), command, &shortens).params.at("size") ==
        std::vector<std::string>{"9K"});
}

TEST_CASE("a proof's lines are read as they were written") {
  ProofEvent e{.job = "001-s", .ended = true, .attempt = 2, .at = "t", .fingerprint = "f"};
  e.proof = {.step = "s",
             .host = "n1",
             .state = ProofState::shown,
             .planted = "p",
             .check = "data",
             .file = "proofs/001-s+2.json"};
  e.sha256 = "00";
  const ProofEvent back = proof_event_from(proof_event_json(e));
  CHECK(back.proof.state == ProofState::shown);
  CHECK(back.proof.file == e.proof.file);
  CHECK(back.proof.check == "data");
  CHECK(proof_event_json(back) == proof_event_json(e));
  e.proof.file = "records/001-s.json";
  CHECK_THROWS(proof_event_from(proof_event_json(e)));
  e.proof.file.clear();
  e.proof.state = ProofState::impossible;
  CHECK(proof_event_from(proof_event_json(e)).proof.state == ProofState::impossible);
}

TEST_CASE("a check that was blind once decides, else the last attempt does") {
  const auto end = [](int attempt, ProofState state, bool blind) {
    ProofEvent e{.job = "j", .ended = true, .attempt = attempt, .at = "t"};
    e.proof.state = state;
    e.proof.blind = blind;
    return e;
  };
  ProofHistory h;
  CHECK(h.deciding() == nullptr);
  CHECK(h.attempts() == 0);
  h.events = {end(1, ProofState::not_shown, false), end(2, ProofState::shown, false)};
  CHECK(h.deciding()->attempt == 2);
  h.events = {end(1, ProofState::not_shown, true), end(2, ProofState::shown, false)};
  CHECK(h.deciding()->attempt == 1);
  h.events.push_back({.job = "j", .attempt = 3, .at = "t"});
  CHECK(h.attempts() == 3);
  CHECK(h.start_of(3) == &h.events.back());
  CHECK(h.start_of(1) == nullptr);
}

namespace {

CaseInfo fault_case() {
  CaseInfo out{.name = "fake"};
  out.params = {{.name = "inject-fault", .type = ParamType::integer},
                {.name = "duration",
                 .type = ParamType::duration,
                 .default_text = "30s",
                 .excludes = {{{"iterations"}}}},
                {.name = "iterations", .type = ParamType::integer},
                {.name = "size", .type = ParamType::size, .default_text = "1K,1M", .list = true},
                {.name = "mode",
                 .type = ParamType::choice,
                 .default_text = "fast",
                 .choices = {"fast", "deep"}},
                {.name = "verify", .type = ParamType::flag, .default_text = "true"}};
  out.fault = {.planted = "one byte",
               .checks = {"data"},
               .brief = {{"duration", {"1s"}}},
               .point_seconds = 2};
  return out;
}

Step fault_step(GivenParams params) {
  Step out{.id = "s", .case_name = "fake"};
  out.params = std::move(params);
  return out;
}

}  // namespace

TEST_CASE("the fault is planted in the first rank, or is the first that is not the default") {
  CHECK(proof_step(fault_step({}), fault_case()).params.at("inject-fault") ==
        std::vector<std::string>{"0"});
  CaseInfo choice = fault_case();
  choice.params[0] = {.name = "inject-fault",
                      .type = ParamType::choice,
                      .default_text = "none",
                      .choices = {"none", "flip", "drop"}};
  CHECK(proof_step(fault_step({}), choice).params.at("inject-fault") ==
        std::vector<std::string>{"flip"});
  choice.params[0].choices = {"none"};
  CHECK(proof_step(fault_step({}), choice).params.at("inject-fault") ==
        std::vector<std::string>{"0"});
}

TEST_CASE("a long step becomes short, a short one stays as it is, and so does what excludes it") {
  const auto duration = [](GivenParams params) {
    const Step out = proof_step(fault_step(std::move(params)), fault_case());
    const auto found = out.params.find("duration");
    return found == out.params.end() ? std::string("none") : found->second.at(0);
  };
  CHECK(duration({}) == "1s");
  CHECK(duration({{"duration", {"60s"}}}) == "1s");
  CHECK(duration({{"duration", {"1001ms"}}}) == "1s");
  CHECK(duration({{"duration", {"1000ms"}}}) == "1000ms");
  CHECK(duration({{"duration", {"500ms"}}}) == "500ms");
  CHECK(duration({{"iterations", {"5"}}}) == "none");
}

TEST_CASE(
    "words and flags have no order: another value is replaced; an unknown parameter is left out") {
  CaseInfo i = fault_case();
  i.fault.brief = {{"mode", {"fast"}}, {"verify", {"true"}}, {"unheard", {"1"}}};
  const Step out = proof_step(fault_step({{"mode", {"deep"}}, {"verify", {"false"}}}), i);
  CHECK(out.params.at("mode") == std::vector<std::string>{"fast"});
  CHECK(out.params.at("verify") == std::vector<std::string>{"true"});
  CHECK_FALSE(out.params.contains("unheard"));
}

TEST_CASE("where nobody would look at spoilt data no fault is planted") {
  CaseInfo i = fault_case();
  CHECK_FALSE(why_no_fault(fault_step({}), i));
  i.fault.blind = {{"mode", {"deep"}, "deep looks at nothing"}, {"iterations", {}, "too few"}};
  CHECK_FALSE(why_no_fault(fault_step({}), i));
  CHECK(why_no_fault(fault_step({{"mode", {"deep"}}}), i) == "deep looks at nothing");
  CHECK_FALSE(why_no_fault(fault_step({{"mode", {"fast"}}}), i));
  CHECK(why_no_fault(fault_step({{"iterations", {"3"}}}), i) == "too few");
  i.fault.blind = {{"mode", {"fast"}, "the default looks at nothing"}};
  CHECK(why_no_fault(fault_step({}), i) == "the default looks at nothing");
  i.fault = {.why_not = "it measures nothing"};
  CHECK(why_no_fault(fault_step({}), i) == "it measures nothing");
}

TEST_CASE("what makes a check blind is compared as the case reads it") {
  CaseInfo i = fault_case();
  i.params.push_back({.name = "twin-every", .type = ParamType::integer, .default_text = "10"});
  i.fault.blind = {{"twin-every", {"0"}, "no twin"},
                   {"duration", {"1s"}, "too short"},
                   {"size", {"1K"}, "too small"},
                   {"unheard", {"0"}, "unheard"}};
  const auto why = [&](GivenParams params) {
    params.insert({"size", {"2K"}});
    return why_no_fault(fault_step(std::move(params)), i);
  };
  CHECK_FALSE(why({}));
  CHECK(why({{"twin-every", {"00"}}}) == "no twin");
  CHECK_FALSE(why({{"twin-every", {"01"}}}));
  CHECK_FALSE(why({{"twin-every", {"none"}}}));
  CHECK(why({{"duration", {"1000ms"}}}) == "too short");
  CHECK(why({{"size", {"4K,1024"}}}) == "too small");
  CHECK_FALSE(why({{"unheard", {"0"}}}));
}

TEST_CASE("where a check looks in any case, nothing behind makes it blind") {
  CaseInfo i = fault_case();
  i.fault.blind = {
      {"iterations", {}, "too few"}, {"mode", {"deep"}, {}}, {"verify", {"false"}, "nobody looks"}};
  CHECK(why_no_fault(fault_step({{"verify", {"false"}}}), i) == "nobody looks");
  CHECK_FALSE(why_no_fault(fault_step({{"verify", {"false"}}, {"mode", {"deep"}}}), i));
  CHECK(why_no_fault(fault_step({{"iterations", {"5"}}, {"mode", {"deep"}}}), i) == "too few");
}

TEST_CASE("the time grows with the points of all lists") {
  const double one = proof_seconds(fault_step({{"size", {"1K"}}}), fault_case());
  CHECK(proof_seconds(fault_step({}), fault_case()) == one + 2);
  CHECK(proof_seconds(fault_step({{"size", {"1K,2K,4K"}}}), fault_case()) == one + 4);
  CHECK(proof_seconds(fault_step({{"size", {"1K", "2K", "4K", "8K"}}}), fault_case()) == one + 6);
  CaseInfo none = fault_case();
  none.params[3].default_text = "";
  CHECK(proof_seconds(fault_step({}), none) == one);
}
