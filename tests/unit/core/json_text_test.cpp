#include "core/json/json_text.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"

using namespace cb;
using nlohmann::json;

namespace {

std::string refusal(std::string_view text) {
  try {
    (void)parse_json(text, "f.json");
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
}

std::string schema_refusal(const json& j) {
  try {
    require_schema(j, "clusterbench.result", 2, "f.json");
  } catch (const UsageError& e) {
    return e.problems().list.at(0).what;
  }
  return "accepted";
}

std::string nested(int levels) {
  return std::string(static_cast<size_t>(levels), '[') +
         std::string(static_cast<size_t>(levels), ']');
}

}  // namespace

TEST_CASE("what is malformed is refused with its place") {
  CHECK(refusal("{\"a\": 1,\n  \"b\": x}") ==
        "f.json: 1 problem\n  line 2, column 8  is not valid JSON here");
  CHECK(refusal("{\"a\": 1}x") == "f.json: 1 problem\n  line 1, column 9  is not valid JSON here");
  CHECK(refusal("[1, NaN]").find("line 1, column") != std::string::npos);
  CHECK(refusal("{\"a\": \"\xff\"}").find("not valid JSON") != std::string::npos);
  CHECK(refusal("[1,]").find("not valid JSON") != std::string::npos);
}

TEST_CASE("every truncation is called one") {
  const std::string whole = "{\"a\": [1, {\"b\": \"text\"}], \"c\": true}";
  CHECK(refusal(whole) == "accepted");
  for (size_t n = 0; n < whole.size(); ++n)
    CHECK_MESSAGE(refusal(whole.substr(0, n)).find("truncated or empty") != std::string::npos,
                  whole.substr(0, n));
  CHECK(refusal("{\"a\":\n1,\n") ==
        "f.json: 1 problem\n  line 3, column 1  the JSON ends too early: the file is truncated or "
        "empty");
}

TEST_CASE("duplicate keys, depth and huge numbers are refused") {
  CHECK(refusal(R"({"a": 1, "b": {"a": 2}})") == "accepted");
  CHECK(refusal(R"({"a": 1, "a": 1})").find("the key \"a\" stands twice") != std::string::npos);
  CHECK(refusal(R"([{"x": {"a": 1, "a": 1}}])").find("stands twice") != std::string::npos);
  CHECK(refusal(nested(64)) == "accepted");
  CHECK(refusal(nested(65)).find("nested too deeply") != std::string::npos);
  CHECK(refusal(nested(100000)).find("nested too deeply") != std::string::npos);
  CHECK(refusal("[1e999]").find("too large") != std::string::npos);
  CHECK(refusal("[-1e999]").find("too large: -1e999") != std::string::npos);
  CHECK(refusal("{\"a\": \"[[\\\"{\",\n \"b\": " + nested(64) + "}") ==
        "f.json: 1 problem\n  line 2, column 70  is nested too deeply");
}

TEST_CASE("text is the same whatever the order it was built in") {
  CHECK(dump_json({{"b", 1}, {"a", 0.1}}) == "{\n \"a\": 0.1,\n \"b\": 1\n}\n");
  CHECK(dump_json({{"x", "a\xff"}}) == "{\n \"x\": \"a\xef\xbf\xbd\"\n}\n");
  for (const double d : {1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e22})
    CHECK(parse_json(dump_json(d), "f").get<double>() == d);
}

TEST_CASE("only schemas that this version knows are read") {
  CHECK(schema_refusal({{"schema", "clusterbench.result/1"}}) == "accepted");
  CHECK(schema_refusal({{"schema", "clusterbench.result/2"}}) == "accepted");
  CHECK(schema_refusal({{"schema", "clusterbench.result/3"}}) ==
        "is clusterbench.result/3: written by a newer clusterbench than this one (knows "
        "clusterbench.result/2); update it");
  CHECK(schema_refusal({{"schema", "clusterbench.result/0"}}).find("never existed") !=
        std::string::npos);
  CHECK(schema_refusal({{"schema", "clusterbench.profile/1"}}) ==
        "is clusterbench.profile/1, expected clusterbench.result/2");
  for (const char* foreign :
       {"", "clusterbench.result", "clusterbench.result/", "other/1", "clusterbench.result/01",
        "clusterbench.result/1x", "clusterbench.result/99999999999999999999"})
    CHECK_MESSAGE(schema_refusal({{"schema", foreign}}).find("expected") != std::string::npos,
                  foreign);
  for (const json& j : {json::object(), json::array(), json(7), json{{"schema", 1}}, json(nullptr)})
    CHECK(schema_refusal(j) == "is absent: this is not a clusterbench.result file");
}
