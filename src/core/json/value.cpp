#include "core/json/value.h"

#include <cmath>
#include <limits>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json/json_text.h"
#include "core/text.h"

namespace cb {
namespace {

using nlohmann::json;
using simdjson::dom::element_type;

std::string_view kind_of(Value v) {
  switch (v.type()) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "an object";
    case element_type::STRING:
      return "a text";
    case element_type::BOOL:
      return bool(v) ? "true" : "false";
    case element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

template <typename T>
T typed(Value v, const char* wanted) {
  T out;
  if (v.get(out) != simdjson::SUCCESS) refuse(fmt::format("is {}, not {}", kind_of(v), wanted));
  return out;
}

// Our own documents have their keys in order, so that no two need to be remembered.
void require_unique_keys(simdjson::dom::object object) {
  bool ascending = true;
  std::string_view last;
  for (const auto member : object) {
    ascending = ascending && (last.data() == nullptr || last < member.key);
    last = member.key;
  }
  if (ascending) return;
  std::set<std::string_view> seen;
  for (const auto member : object) {
    if (!seen.insert(member.key).second) refuse_at("." + std::string(member.key), "stands twice");
  }
}

}  // namespace

std::string Refusal::text() const {
  return place.empty() ? what : fmt::format("{} {}", place.substr(place.starts_with('.')), what);
}

void refuse(std::string what) { throw Refusal{"", std::move(what)}; }

void refuse_at(std::string place, std::string what) {
  throw Refusal{std::move(place), std::move(what)};
}

void refuse_below(std::string_view step) {
  try {
    throw;
  } catch (const Refusal& r) {
    throw Refusal{std::string(step) + r.place, r.what};
  } catch (const Error& e) {  // what our own values refuse
    throw Refusal{std::string(step), fmt::format("cannot be: {}", e.what())};
  }
}

namespace {

const std::thread::id kFirstThread = std::this_thread::get_id();

// Its memory is as large as the largest text and is used for the next one too. The end of a
// thread's own object is registered under the loader's lock, which a library that hangs in opening
// keeps for ever: the first thread, which all wait for, has a parser without that.
simdjson::dom::parser& parser_of_thread() {
  static simdjson::dom::parser of_first;
  if (std::this_thread::get_id() == kFirstThread) return of_first;
  thread_local simdjson::dom::parser own;
  return own;
}

}  // namespace

std::optional<Value> parse_value(std::string_view text) {
  simdjson::dom::parser& parser = parser_of_thread();
  if (parser.max_depth() != kMaxJsonDepth &&
      parser.allocate(4096, kMaxJsonDepth) != simdjson::SUCCESS)
    return std::nullopt;
  text = without_byte_order_mark(text);
  Value out;
  if (parser.parse(text.data(), text.size()).get(out) != simdjson::SUCCESS) return std::nullopt;
  return out;
}

void read_value(Value from, std::string& to) { to = typed<std::string_view>(from, "a text"); }

void read_value(Value from, double& to) { to = typed<double>(from, "a number"); }

void read_value(Value from, bool& to) { to = typed<bool>(from, "true or false"); }

void read_value(Value from, uint64_t& to) {
  if (from.type() == element_type::DOUBLE)
    refuse(fmt::format("is {}, not a whole number", double(from)));
  if (from.type() == element_type::INT64 && int64_t(from) < 0) refuse("is negative");
  to = typed<uint64_t>(from, "a whole number");
  if (to > uint64_t{std::numeric_limits<int64_t>::max()}) refuse("is too large for a whole number");
}

void read_value(Value from, Scalar& to) {
  switch (from.type()) {
    case element_type::BOOL:
      to = bool(from);
      return;
    case element_type::STRING:
      to = std::string(std::string_view(from));
      return;
    case element_type::INT64:
      to = int64_t(from);
      return;
    case element_type::DOUBLE:
      to = double(from);
      return;
    case element_type::UINT64:
      refuse("is too large for a whole number");
    default:
      refuse(fmt::format("is {}, neither a number, a text nor a truth value", kind_of(from)));
  }
}

simdjson::dom::array list_of(Value from) { return typed<simdjson::dom::array>(from, "a list"); }

simdjson::dom::object object_of(Value from) {
  const auto object = typed<simdjson::dom::object>(from, "an object");
  require_unique_keys(object);
  return object;
}

void pass_over(const std::string& step, Value from) {
  try {
    size_t i = 0;
    if (from.is_array()) {
      for (const Value item : list_of(from)) pass_over(fmt::format("[{}]", i++), item);
    } else if (from.is_object()) {
      for (const auto member : object_of(from))
        pass_over(fmt::format(".{}", member.key), member.value);
    }
  } catch (...) {
    refuse_below(step);
  }
}

json write_value(const std::string& from) { return from; }
json write_value(double from) { return std::isfinite(from) ? json(from) : json(); }
json write_value(bool from) { return from; }
json write_value(int64_t from) { return from; }
json write_value(uint64_t from) { return from; }

json write_value(const Scalar& from) {
  return std::visit([](const auto& value) { return write_value(value); }, from);
}

}  // namespace cb
