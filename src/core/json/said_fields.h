#pragma once

#include "core/json/fields.h"
#include "core/messages/said.h"

// A text stands under one key and its sentence under another: the text's row comes first in the
// table. Where a sentence says another thing in English than its text the document is refused: a
// Chinese report would say what nobody measured.
namespace cb {

void read_value(Value from, Said& to);  // the text alone
nlohmann::json write_value(const Said& from);

void read_say(Value from, Said& to);
void read_say(Value from, std::optional<Said>& to);
// Each by its text's name or place in the list; of names without a text nothing is read.
void read_say(Value from, std::map<std::string, Said>& to);
void read_say(Value from, std::vector<Said>& to);
// Null where no text has a sentence.
nlohmann::json write_say(const Said& from);
nlohmann::json write_say(const std::optional<Said>& from);
nlohmann::json write_say(const std::map<std::string, Said>& from);
nlohmann::json write_say(const std::vector<Said>& from);

// The sentence beside a member's text.
template <auto kMember, typename T = StructOf<kMember>>
constexpr Field<T> say_field(std::string_view key) {
  return {key, Need::optional, [](Value from, T& to) { read_say(from, to.*kMember); },
          [](const T& from) { return write_say(from.*kMember); }};
}

}  // namespace cb
