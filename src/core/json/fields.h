#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/json/value.h"

// Each struct of a document has one table: a row for each key says where its value stands in the
// struct. Reading, writing and messages follow from the table; what a value of one type looks like
// is said by its read_value() and write_value().
//
//   constexpr Field<Entity> kEntity[] = {
//       field<&Entity::host>("host"), field<&Entity::peer>("peer")};
//   void read_value(Value from, Entity& to) { read_object(from, kEntity, to); }
//   json write_value(const Entity& from) { return write_object(from, kEntity); }
namespace cb {

template <typename T>
void read_value(Value from, std::optional<T>& to) {
  read_value(from, to.emplace());
}

// `Json` is a parameter so that this header does without the library's slow one.
template <typename T, typename Json = nlohmann::json>
Json write_value(const std::optional<T>& from) {
  return from ? write_value(*from) : Json();
}

template <typename T>
void read_value(Value from, std::vector<T>& to) {
  const simdjson::dom::array list = list_of(from);
  to.reserve(list.size());
  for (const Value item : list) {
    try {
      read_value(item, to.emplace_back());
    } catch (...) {
      refuse_below("[" + std::to_string(to.size() - 1) + "]");
    }
  }
}

// Without what is written as null.
template <typename T, typename Json = nlohmann::json>
Json write_value(const std::vector<T>& from) {
  Json out = Json::array();
  for (const T& item : from) {
    Json value = write_value(item);
    if (!value.is_null()) out.push_back(std::move(value));
  }
  return out;
}

template <typename T>
void read_value(Value from, std::map<std::string, T>& to) {
  for (const auto member : object_of(from)) {
    try {
      read_value(member.value, to[std::string(member.key)]);
    } catch (...) {
      refuse_below("." + std::string(member.key));
    }
  }
}

template <typename T, typename Json = nlohmann::json>
Json write_value(const std::map<std::string, T>& from) {
  Json out = Json::object();
  for (const auto& [key, item] : from) {
    Json value = write_value(item);
    if (!value.is_null()) out[key] = std::move(value);
  }
  return out;
}

enum class Need { required, optional };

template <typename T>
struct Field {
  std::string_view key;
  Need need;
  void (*read)(Value from, T& to);
  nlohmann::json (*write)(const T& from);  // null: the key is left out
};

template <typename T, typename Member>
T struct_of(Member T::*);
template <auto kMember>
using StructOf = decltype(struct_of(kMember));

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// A member; only a std::optional may be absent.
template <auto kMember, typename T = StructOf<kMember>>
constexpr Field<T> field(std::string_view key) {
  using Member = std::remove_reference_t<decltype(std::declval<T&>().*kMember)>;
  return {key, kIsOptional<Member> ? Need::optional : Need::required,
          [](Value from, T& to) { read_value(from, to.*kMember); },
          [](const T& from) { return write_value(from.*kMember); }};
}

// A member that is absent where it is empty.
template <auto kMember, typename T = StructOf<kMember>>
constexpr Field<T> field_unless_empty(std::string_view key) {
  return {key, Need::optional, [](Value from, T& to) { read_value(from, to.*kMember); },
          [](const T& from) {
            auto out = write_value(from.*kMember);
            return (from.*kMember).empty() ? decltype(out)() : out;
          }};
}

// Reads in the order of the table, whatever the order in the document. Unknown keys are of a later
// version. The value of the key `passed_over` is not looked at.
template <typename T, size_t N>
void read_object(Value from, const Field<T> (&fields)[N], T& to,
                 std::string_view passed_over = {}) {
  std::optional<Value> values[N];
  for (const auto member : object_of(from)) {
    size_t i = 0;
    while (i < N && member.key != fields[i].key) ++i;
    if (i < N)
      values[i] = member.value;
    else
      pass_over("." + std::string(member.key), member.value);
  }
  for (size_t i = 0; i < N; ++i) {
    if (fields[i].key == passed_over) continue;
    if (!values[i] && fields[i].need == Need::optional) continue;
    try {
      if (!values[i]) refuse("is missing");
      fields[i].read(*values[i], to);
    } catch (...) {
      refuse_below("." + std::string(fields[i].key));
    }
  }
}

template <typename T, size_t N, typename Json = nlohmann::json>
Json write_object(const T& from, const Field<T> (&fields)[N]) {
  Json out = Json::object();
  for (const Field<T>& field : fields) {
    Json value = field.write(from);
    if (!value.is_null()) out[std::string(field.key)] = std::move(value);
  }
  return out;
}

}  // namespace cb
