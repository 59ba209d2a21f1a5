// Which records a criterion is about, and under which name a host is meant.
#include "judge/verdict_select.h"

#include <doctest/doctest.h>

#include "judge/verdict_hosts.h"
#include "verdict_fixture.h"

using namespace cb;
using namespace cb::test;

namespace {

bool selects(const ParamValue& value, const std::string& text) {
  Params p;
  p.set("x", value);
  CHECK(may_match(p, {{"x", {text}}}) == matches(p, {{"x", {text}}}));
  return matches(p, {{"x", {text}}});
}

}  // namespace

TEST_CASE("a value is selected by any way of writing it, and by no other value") {
  CHECK(selects(true, "true"));
  CHECK_FALSE(selects(true, "false"));
  CHECK(selects(false, "false"));
  CHECK_FALSE(selects(false, "true"));
  CHECK(selects(int64_t{4096}, "4K"));
  CHECK(selects(int64_t{4096}, "4096"));
  CHECK(selects(int64_t{-1}, "-1"));
  CHECK_FALSE(selects(int64_t{4096}, "4095"));
  CHECK(selects(60.0, "1m"));
  CHECK(selects(60.0, "60"));
  CHECK(selects(-0.5, "-0.5"));
  CHECK_FALSE(selects(60.0, "61"));
  CHECK(selects(std::string("ring"), "ring"));
  CHECK_FALSE(selects(std::string("ring"), "Ring"));
}

TEST_CASE("of several parameters all must fit, of a list every value, of an unmeasured one any") {
  Params p;
  p.set("a", int64_t{1});
  p.set_list("b", {int64_t{1}, int64_t{2}});
  CHECK(matches(p, {}));
  CHECK(matches(p, {{"a", {"1"}}, {"b", {"1", "2", "3"}}}));
  CHECK_FALSE(matches(p, {{"a", {"2"}}, {"b", {"1", "2"}}}));
  CHECK_FALSE(matches(p, {{"b", {"1"}}}));
  CHECK_FALSE(matches(p, {{"c", {"1"}}}));
  CHECK(may_match(p, {{"b", {"1"}}}));
  CHECK(may_match(p, {{"c", {"1"}}}));
  CHECK_FALSE(may_match(p, {{"b", {"3"}}}));
  CHECK_FALSE(may_match(p, {{"a", {"2"}}, {"b", {"1"}}}));
  Params empty;
  empty.set_list("a", {});
  CHECK_FALSE(matches(empty, {{"a", {"1"}}}));
}

TEST_CASE("a point is called by what varies and what was asked for, sizes as sizes") {
  std::vector<Record> records(3);
  records[0].params.set("size", int64_t{1024});
  records[0].params.set("block-size", int64_t{2048});
  records[0].params.set("depth", int64_t{4096});
  records[1] = records[0];
  records[1].params.set("depth", int64_t{1});
  records[2] = records[0];
  records[2].params.set("extra", std::string("x"));
  const auto varying = varying_params(records);
  CHECK(varying == std::set<std::string>{"depth", "extra"});
  CHECK(varying_params({}).empty());
  CHECK(point_text(records[2].params, varying, {}) == "depth 4096, extra x");
  CHECK(point_text(records[0].params, varying, {{"size", {"1K"}}}) == "depth 4096, size 1K");
  CHECK(point_text(records[0].params, {}, {{"block-size", {}}, {"none", {}}}) == "block-size 2K");
  CHECK(point_text(records[0].params, {}, {}) == "");
}

TEST_CASE("a host is known by the name it was asked for, its own, and the short form of either") {
  Campaign c;
  c.hosts = {"n1", "n2", "10.0.0.3", "n4.cluster"};
  c.jobs = {done("n1", document({"node1.cluster"}, {}))};
  const HostNames names(c);
  CHECK(names.asked("n1") == "n1");
  CHECK(names.asked("node1.cluster") == "n1");
  CHECK_FALSE(names.asked("n1.cluster"));  // its own name is known, and is another one
  CHECK(names.asked("n2.cluster") == "n2");
  CHECK(names.asked("n4") == "n4.cluster");
  CHECK(names.asked("10.0.0.3") == "10.0.0.3");
  CHECK_FALSE(names.asked("10.0.0.4"));
  CHECK_FALSE(names.asked("n9"));
}

TEST_CASE("two names of one machine are twins: the first counts") {
  Campaign c;
  c.hosts = {"a", "b", "c"};
  c.jobs = {done("a", document({"m"}, {})), done("b", document({"m"}, {})),
            done("c", document({"k"}, {})), done("", document({"x", "y"}, {}))};
  const HostNames names(c);
  CHECK_FALSE(names.twin("a"));
  CHECK(names.twin("b") == "a");
  CHECK_FALSE(names.twin("c"));
  CHECK(names.asked("m") == "a");
  CHECK_FALSE(names.asked("x"));
}
