#include "core/params.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace cb;
using nlohmann::json;

namespace {

const std::vector<ParamDef> kDefs{
    {"direct", ParamType::flag, "true", ""},
    {"threads", ParamType::integer, "", "", {}, false, 1, 64},
    {"ratio", ParamType::number, "0.5", "", {}, false, 0, 1},
    {"dir", ParamType::text, "", ""},
    {"size", ParamType::size, "4K,1M", "", {}, true, 1, 1073741824},
    {"duration", ParamType::duration, "5s", "", {}, false, 0.1, 3600},
    {"dtype", ParamType::choice, "fp64", "", {"fp64", "fp32", "bf16"}, true},
};

Params good(const GivenParams& given) {
  Problems problems;
  Params out = resolve_params(kDefs, given, problems);
  CHECK_MESSAGE(problems.empty(), problems.text());
  return out;
}

std::string bad(const GivenParams& given) {
  Problems problems;
  (void)resolve_params(kDefs, given, problems);
  std::string out;
  for (const Problem& p : problems.list) out += p.where + " " + p.what + "\n";
  return out;
}

}  // namespace

TEST_CASE("defaults are filled in, what has none stays absent") {
  const Params p = good({});
  CHECK(p.flag("direct"));
  CHECK_FALSE(p.has("threads"));
  CHECK_FALSE(p.has("dir"));
  CHECK(p.number("ratio") == 0.5);
  CHECK(p.integers("size") == std::vector<int64_t>{4096, 1048576});
  CHECK(p.number("duration") == 5);
  CHECK(p.texts("dtype") == std::vector<std::string>{"fp64"});
}

TEST_CASE("every type is read from what a user writes") {
  const Params p = good({{"direct", {"false"}},
                         {"threads", {"8"}},
                         {"ratio", {"1"}},
                         {"dir", {"/tmp/a b"}},
                         {"size", {"2K,3K", "4K"}},
                         {"duration", {"2m"}},
                         {"dtype", {"bf16,fp32"}}});
  CHECK_FALSE(p.flag("direct"));
  CHECK(p.integer("threads") == 8);
  CHECK(p.number("threads") == 8);  // integers convert
  CHECK(p.number("ratio") == 1);
  CHECK(p.text("dir") == "/tmp/a b");
  CHECK(p.integers("size") == std::vector<int64_t>{2048, 3072, 4096});
  CHECK(p.number("duration") == 120);
  CHECK(p.texts("dtype") == std::vector<std::string>{"bf16", "fp32"});
}

TEST_CASE("what is not of the type is a problem") {
  CHECK(bad({{"direct", {"yes"}}}) == "--direct 'yes' is not true or false\n");
  CHECK(bad({{"threads", {"2.5"}}}) == "--threads '2.5' is not a whole number\n");
  CHECK(bad({{"ratio", {"nan"}}}) == "--ratio 'nan' is not a number\n");
  CHECK(bad({{"size", {"4K,,1Q"}}}) ==
        "--size '' is not a size such as 4K, 64M or 1G\n"
        "--size '1Q' is not a size such as 4K, 64M or 1G\n");
  CHECK(bad({{"duration", {"5 s"}}}) ==
        "--duration '5 s' is not a duration such as 500ms, 5s or 10m\n");
  CHECK(bad({{"dtype", {"fp61"}}}) ==
        "--dtype fp61 is not known, did you mean fp64? (fp64 fp32 bf16)\n");
}

TEST_CASE("ranges include their ends") {
  CHECK(good({{"threads", {"1"}}}).integer("threads") == 1);
  CHECK(good({{"threads", {"64"}}}).integer("threads") == 64);
  CHECK(bad({{"threads", {"0"}}}) == "--threads 0 is below the least allowed, 1\n");
  CHECK(bad({{"threads", {"65"}}}) == "--threads 65 is above the most allowed, 64\n");
  CHECK(bad({{"size", {"2G"}}}) == "--size 2147483648 is above the most allowed, 1G\n");
  CHECK(bad({{"duration", {"50ms"}}}) == "--duration 0.05 is below the least allowed, 100 ms\n");
  CHECK(bad({{"ratio", {"1.01"}}}) == "--ratio 1.01 is above the most allowed, 1\n");
}

TEST_CASE("all problems are found at once, unknown names with the nearest") {
  CHECK(bad({{"threads", {"1", "2"}}, {"sise", {"4K"}}, {"qqqqqqqq", {"1"}}, {"ratio", {"x"}}}) ==
        "--threads was given more than once\n"
        "--ratio 'x' is not a number\n"
        "--qqqqqqqq unknown option\n"
        "--sise unknown option, did you mean --size?\n");
}

TEST_CASE("reading another type or what is absent is an error") {
  const Params p = good({});
  CHECK_THROWS_AS((void)p.integer("threads"), Error);
  CHECK_THROWS_AS((void)p.text("ratio"), Error);
  CHECK_THROWS_AS((void)p.integer("ratio"), Error);
  CHECK_THROWS_AS((void)p.texts("size"), Error);
  CHECK_THROWS_AS((void)p.flag("dtype"), Error);
  CHECK_FALSE(p.flag("threads"));  // an absent flag was not given
}

TEST_CASE("one point of a sweep replaces the list") {
  const Params p = good({}), point = p.with("size", int64_t{4096});
  CHECK(point.integer("size") == 4096);
  CHECK(point.integers("size").size() == 1);
  CHECK(p.integers("size").size() == 2);
  Params erased = point;
  erased.erase("size");
  erased.erase("none");
  CHECK_FALSE(erased.has("size"));
}

TEST_CASE("JSON keeps values and types") {
  const Params p = good({{"threads", {"8"}}, {"dir", {"d"}}});
  const json j = params_to_json(p);
  CHECK(j["direct"] == true);
  CHECK(j["threads"].is_number_integer());
  CHECK(j["duration"].is_number_float());
  CHECK(j["size"] == json{4096, 1048576});
  CHECK(params_from_json(json::parse(j.dump())) == p);
  for (const char* hostile : {"[1]", "7", "null", "{\"a\": null}", "{\"a\": {}}", "{\"a\": [[1]]}",
                              "{\"a\": []}", "{\"a\": 18446744073709551615}"})
    CHECK_THROWS_MESSAGE((void)params_from_json(json::parse(hostile)), hostile);
}

TEST_CASE("what one parameter sets is not asked for by another") {
  const std::vector<ParamDef> defs{
      {.name = "workload", .excludes = {{{"rw", "size"}}, {{"duration"}, {"checkpoint"}}}},
      {.name = "rw"},
      {.name = "size", .type = ParamType::size, .default_text = "1G"},
      {.name = "duration", .type = ParamType::duration}};
  const auto said = [&](const GivenParams& given) {
    Problems problems;
    (void)resolve_params(defs, given, problems);
    std::string out;
    for (const Problem& p : problems.list) out += p.where + " " + p.what + "\n";
    return out;
  };
  CHECK(said({{"workload", {"soak"}}, {"rw", {"read"}}, {"size", {"4K"}}}) ==
        "--rw is set by --workload soak: give one of the two\n"
        "--size is set by --workload soak: give one of the two\n");
  CHECK(said({{"workload", {"soak"}}, {"duration", {"1s"}}}) == "");  // defaults are not asked for
  CHECK(said({{"workload", {"checkpoint"}}, {"duration", {"1s"}}}) ==
        "--duration is set by --workload checkpoint: give one of the two\n");
  CHECK(said({{"rw", {"read"}}, {"size", {"4K"}}, {"duration", {"1s"}}}) == "");
}
