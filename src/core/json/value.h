#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <simdjson.h>
#include <nlohmann/json_fwd.hpp>

#include "core/error.h"

// A value of a document, read as exactly one type and never as what it resembles: 1.5 and -1 are no
// counts, null is nothing.
namespace cb {

using Value = simdjson::dom::element;

// Why a document cannot be used. The place grows on the way out: ".unit", "[0].unit",
// ".metrics[0].unit".
struct Refusal {
  std::string place;
  std::string what;

  std::string text() const;  // "metrics[0].unit is a number, not a text"
};

// What stands at the place of the value that is read: "is a number, not a text".
[[noreturn]] void refuse(std::string what);
[[noreturn]] void refuse_at(std::string place, std::string what);
// Within a catch block: goes on with the exception as a refusal whose place begins with this step.
[[noreturn]] void refuse_below(std::string_view step);

// Nothing where the text is no JSON. The value lives until the next call in this thread.
std::optional<Value> parse_value(std::string_view text);

void read_value(Value from, std::string& to);
void read_value(Value from, double& to);
void read_value(Value from, bool& to);
void read_value(Value from, uint64_t& to);  // at most what an int64_t holds

// A parameter's value or an attribute.
using Scalar = std::variant<bool, int64_t, double, std::string>;
void read_value(Value from, Scalar& to);

simdjson::dom::array list_of(Value from);
// Its keys all differ.
simdjson::dom::object object_of(Value from);
// Of what nobody reads, at this step of its place: no key stands twice anywhere in it.
void pass_over(const std::string& step, Value from);

nlohmann::json write_value(const std::string& from);
nlohmann::json write_value(double from);  // null where it is not finite: JSON cannot say it
nlohmann::json write_value(bool from);
nlohmann::json write_value(int64_t from);
nlohmann::json write_value(uint64_t from);
nlohmann::json write_value(const Scalar& from);

// Reads what came through another channel than a document by the same rules. Throws Error.
template <typename T>
T read_tree(
    const std::string& text,
    void (*read)(Value, T&) = [](Value from, T& to) { read_value(from, to); }) {
  T out;
  try {
    const std::optional<Value> value = parse_value(text);
    if (!value) refuse("is not valid JSON");
    read(*value, out);
  } catch (const Refusal& r) {
    throw Error(r.text());
  }
  return out;
}

}  // namespace cb
