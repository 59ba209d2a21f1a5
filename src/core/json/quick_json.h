#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <simdjson.h>

// Reading JSON of exactly one form: every departure from it is an Unusual, never a guess.
namespace cb::quick {

using Value = simdjson::dom::element;
using Object = simdjson::dom::object;

struct Unusual {};

inline void expect(bool ordinary) {
  if (!ordinary) throw Unusual();
}

// The value as this type; simdjson's exception if it is another.
inline std::string text(Value v) { return std::string(std::string_view(v.get_string())); }
inline double number(Value v) { return v.get_double(); }
inline bool truth(Value v) { return v.get_bool(); }
inline size_t count(Value v) { return v.get_uint64(); }

template <typename T, typename Read>
std::vector<T> list(Value v, Read read) {
  std::vector<T> out;
  for (const Value element : simdjson::dom::array(v.get_array())) out.push_back(read(element));
  return out;
}

// {"name": value, …}; each name once.
template <typename T, typename Read>
std::map<std::string, T> map(Value v, Read read) {
  std::map<std::string, T> out;
  for (const auto member : Object(v.get_object()))
    expect(out.emplace(std::string(member.key), read(member.value)).second);
  return out;
}

enum class Need { required, optional };

// One key of an object, and where its value goes.
template <typename T>
struct Field {
  const char* key;
  void (*read)(T& out, Value v);
  Need need = Need::required;
};

// Fills out from an object that has every required key, each key once, and no other. At most 64.
template <typename T, size_t N>
void read_object(Value v, const Field<T> (&fields)[N], T& out) {
  static_assert(N <= 64);
  uint64_t seen = 0;
  for (const auto member : Object(v.get_object())) {
    size_t i = 0;
    while (i < N && member.key != fields[i].key) ++i;
    expect(i < N && (seen >> i & 1) == 0);
    seen |= uint64_t{1} << i;
    fields[i].read(out, member.value);
  }
  for (size_t i = 0; i < N; ++i) expect(fields[i].need == Need::optional || (seen >> i & 1) == 1);
}

}  // namespace cb::quick
