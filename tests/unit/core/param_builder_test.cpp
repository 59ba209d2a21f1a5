#include "core/param_builder.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

std::vector<std::string> problems_of(const std::vector<ParamDef>& defs, const GivenParams& given) {
  Problems problems;
  resolve_params(defs, given, problems);
  std::vector<std::string> out;
  for (const Problem& p : problems.list) out.push_back(p.where + " " + p.what);
  return out;
}

}  // namespace

TEST_CASE("a builder sets what it is told and leaves the rest as ParamDef has it") {
  const ParamDef built = param::size("size").help("bytes").by_default("4K").range(1, 1024).list();
  CHECK(built.name == "size");
  CHECK(built.type == ParamType::size);
  CHECK(built.help == "bytes");
  CHECK(built.default_text == "4K");
  CHECK(built.list);
  CHECK(built.min == 1);
  CHECK(built.max == 1024);
  CHECK(built.choices.empty());
  CHECK(built.excludes.empty());

  const ParamDef bare = param::number("rate");
  const ParamDef plain{.name = "rate", .type = ParamType::number};
  CHECK(bare.min == plain.min);
  CHECK(bare.max == plain.max);
  CHECK(!bare.list);
  CHECK(bare.default_text.empty());
}

TEST_CASE("each function builds its type") {
  const ParamDef flag = param::flag("a"), integer = param::integer("a"), text = param::text("a"),
                 duration = param::duration("a"), choice = param::choice("a", {"x", "y"});
  CHECK(flag.type == ParamType::flag);
  CHECK(flag.default_text == "false");
  CHECK(integer.type == ParamType::integer);
  CHECK(text.type == ParamType::text);
  CHECK(duration.type == ParamType::duration);
  CHECK(choice.type == ParamType::choice);
  CHECK(choice.choices == std::vector<std::string>{"x", "y"});
}

TEST_CASE("limits of built parameters are kept, also of one side alone") {
  const std::vector<ParamDef> defs{param::integer("gpus").range(1, 64),
                                   param::integer("seed").at_least(0)};
  CHECK(problems_of(defs, {{"gpus", {"64"}}, {"seed", {"123456789012"}}}).empty());
  CHECK(problems_of(defs, {{"gpus", {"65"}}, {"seed", {"-1"}}}) ==
        std::vector<std::string>{"--gpus 65 is above the most allowed, 64",
                                 "--seed -1 is below the least allowed, 0"});
}

TEST_CASE("exclusions add up, each with its values") {
  const std::vector<ParamDef> defs{
      param::choice("workload", {"a", "b"}).excludes({"rw"}).excludes({"size"}, {"b"}),
      param::text("rw"), param::size("size")};
  CHECK(problems_of(defs, {{"workload", {"a"}}, {"size", {"1K"}}}).empty());
  CHECK(problems_of(defs, {{"workload", {"b"}}, {"size", {"1K"}}, {"rw", {"x"}}}).size() == 2);
}

TEST_CASE("lists of parameters join in their order") {
  const std::vector<ParamDef> all =
      joined({{param::flag("a"), param::flag("b")}, {}, {param::flag("c")}});
  REQUIRE(all.size() == 3);
  CHECK(all[0].name == "a");
  CHECK(all[2].name == "c");
}
