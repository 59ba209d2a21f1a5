// A campaign judged by another profile: a step that ran otherwise is not measured.
#include "judge/steps_fit.h"

#include <functional>

#include <doctest/doctest.h>

#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

const Catalogue kFitCatalogue{
    {.name = "fake",
     .params = {{.name = "size", .type = ParamType::size, .default_text = "4K"},
                {.name = "types", .type = ParamType::text, .default_text = "a,b", .list = true},
                {.name = "word", .type = ParamType::text, .default_text = "a,b"}}}};

// Why the campaign's job is not of the step that the profile asks for after `change`; empty: it is.
std::string why_other(const std::function<void(Step& ran, Step& asked)>& change) {
  Campaign c = campaign({{"n1", 1}});
  c.profile = profile({});
  Profile asked = c.profile;
  change(c.profile.steps[0], asked.steps[0]);
  require_same_steps(c, asked, kFitCatalogue);
  CHECK(c.jobs[0].document.has_value() == c.jobs[0].reason.empty());
  CHECK((c.jobs[0].state == JobState::done) == c.jobs[0].reason.empty());
  return c.jobs[0].reason.text();
}

}  // namespace

TEST_CASE("a step that ran as it is asked for stays") {
  CHECK(why_other([](Step&, Step&) {}) == "");
  CHECK(why_other([](Step& ran, Step& asked) {
          ran.params["size"] = asked.params["size"] = {"8K"};
        }) == "");
  CHECK(why_other([](Step& ran, Step&) { ran.params["size"] = {"4K"}; }) == "");  // the default
  CHECK(why_other([](Step&, Step& asked) { asked.params["size"] = {"4096"}; }) == "");
  CHECK(why_other([](Step& ran, Step&) { ran.params["types"] = {"a", "b"}; }) == "");
  CHECK(why_other([](Step& ran, Step&) { ran.params["word"] = {"a,b"}; }) == "");
  CHECK(why_other([](Step& ran, Step&) { ran.params["dir"] = {"/data"}; }) == "");
  CHECK(why_other([](Step& ran, Step&) { ran.id = "another"; }) == "");  // of no step asked for
  CHECK(why_other([](Step& ran, Step&) { ran.deadline_seconds = 5; }) == "");
}

TEST_CASE("what differs is named: case, scope, ranks, parameters, environment") {
  CHECK(why_other([](Step&, Step& asked) { asked.case_name = "gemm"; }) ==
        "it ran with case fake, the profile asks for gemm: run that profile");
  CHECK(why_other([](Step&, Step& asked) { asked.scope = Scope::cluster; }).find("scope") == 12);
  CHECK(why_other([](Step&, Step& asked) { asked.ranks_per_host = 0; }).find("ranks_per_host") ==
        12);
  CHECK(why_other([](Step& ran, Step& asked) {
          ran.params["size"] = {"8K"};
          asked.params["size"] = {"8K", "16K"};
        }) == "it ran with size 8K, the profile asks for 8K,16K: run that profile");
  CHECK(why_other([](Step& ran, Step&) { ran.params["size"] = {"8K"}; }) ==
        "it ran with size 8K, the profile asks for 4K: run that profile");
  CHECK(why_other([](Step& ran, Step&) { ran.params["word"] = {"a", "b"}; }) != "");
  CHECK(why_other([](Step& ran, Step&) { ran.params["types"] = {"a,b"}; }) != "");
  CHECK(why_other([](Step&, Step& asked) { asked.params["dir"] = {"/data"}; }) ==
        "it ran with dir none, the profile asks for /data: run that profile");
  CHECK(why_other([](Step& ran, Step&) { ran.env["NCCL_ALGO"] = "Ring"; }) ==
        "it ran with NCCL_ALGO Ring, the profile asks for none: run that profile");
  CHECK(why_other([](Step&, Step& asked) { asked.env["NCCL_ALGO"] = "Ring"; }) != "");
  CHECK(why_other([](Step& ran, Step& asked) {
          ran.env["NCCL_ALGO"] = "Ring";
          asked.env["NCCL_ALGO"] = "Tree";
        }) != "");
}
