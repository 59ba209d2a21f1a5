#include "core/json/said_json.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json/said_fields.h"
#include "core/units.h"

namespace cb {
namespace {

using nlohmann::json;

// Between the English of a packed sentence and its id: no text of ours has it.
constexpr char kBorder = '\x1e';

// Long enough to see where two texts part, short enough for a terminal.
std::string quoted(const std::string& text) {
  constexpr size_t kMax = 160;
  return '"' + (text.size() <= kMax ? text : text.substr(0, kMax) + "…") + '"';
}

std::string differing(const Said& said) {
  const auto sentence = find_sentence(Lang::en, said.message()).value_or("");
  return fmt::format(
      "does not say its text: the text is {}, but its sentence {} says {}: one of them was changed",
      quoted(said.text()), said.message().id, quoted(sentence));
}

int depth_of(const Message& message) {
  int deepest = 0;
  for (const Arg& arg : message.args) {
    if (arg.message() != nullptr) deepest = std::max(deepest, depth_of(*arg.message()));
  }
  return 1 + deepest;
}

constexpr Field<Quantity> kQuantity[] = {field<&Quantity::value>("value"),
                                         field<&Quantity::unit>("unit")};

}  // namespace

void read_value(Value from, Message& to);
json write_value(const Message& from);

void read_value(Value from, Arg& to) {
  std::string_view text;
  if (from.get(text) == simdjson::SUCCESS) {
    to = text;
  } else if (!from.is_object()) {
    refuse("is neither a text, a figure nor a sentence");
  } else if (from.at_key("value").error() == simdjson::SUCCESS) {
    Quantity quantity;
    read_object(from, kQuantity, quantity);
    to = quantity;
  } else {
    Message message;
    read_value(from, message);
    to = Arg::of_document(std::move(message));
  }
}

json write_value(const Arg& from) {
  if (from.quantity()) return write_object(*from.quantity(), kQuantity);
  if (from.message() != nullptr) return write_value(*from.message());
  return from.in(Lang::en).value_or("");
}

namespace {

constexpr Field<Message> kMessage[] = {field<&Message::id>("id"), field<&Message::args>("args")};

}  // namespace

void read_value(Value from, Message& to) {
  read_object(from, kMessage, to);
  if (depth_of(to) > kMaxSaidDepth) refuse("holds sentences that stand in each other too deep");
}

json write_value(const Message& from) { return write_object(from, kMessage); }

void read_value(Value from, Said& to) {
  std::string text;
  read_value(from, text);
  to = std::move(text);
}

json write_value(const Said& from) { return from.text(); }

void read_say(Value from, Said& to) {
  if (to.empty()) refuse("is a sentence without its text");
  Message message;
  read_value(from, message);
  to = {to.text(), std::move(message)};
  if (!says_its_text(to)) refuse(differing(to));
}

void read_say(Value from, std::optional<Said>& to) {
  if (!to) refuse("is a sentence without its text");
  read_say(from, *to);
}

namespace {

// `find`: the text of that name, or null.
template <typename Find>
void read_says(Value from, Find find) {
  for (const auto member : object_of(from)) {
    const std::string step = "." + std::string(member.key);
    Said* text = find(member.key);
    if (text == nullptr) {
      pass_over(step, member.value);
      continue;
    }
    try {
      read_say(member.value, *text);
    } catch (...) {
      refuse_below(step);
    }
  }
}

}  // namespace

void read_say(Value from, std::map<std::string, Said>& to) {
  read_says(from, [&](std::string_view name) {
    const auto found = to.find(std::string(name));
    return found == to.end() ? nullptr : &found->second;
  });
}

void read_say(Value from, std::vector<Said>& to) {
  read_says(from, [&](std::string_view name) -> Said* {
    const auto place = static_cast<size_t>(parse_integer(name).value_or(-1));
    return place < to.size() && name == std::to_string(place) ? &to[place] : nullptr;
  });
}

json write_say(const Said& from) {
  if (from.empty() || from.message().id.empty()) return {};
  return write_value(from.message());
}

json write_say(const std::optional<Said>& from) { return from ? write_say(*from) : json(); }

json write_say(const std::map<std::string, Said>& from) {
  json out;
  for (const auto& [name, text] : from) {
    if (json say = write_say(text); !say.is_null()) out[name] = std::move(say);
  }
  return out;
}

json write_say(const std::vector<Said>& from) {
  std::map<std::string, Said> by_place;
  for (const Said& text : from) by_place.emplace(std::to_string(by_place.size()), text);
  return write_say(by_place);
}

json message_to_json(const Message& message) { return write_value(message); }

Message message_from_json(const json& j) { return read_tree<Message>(j.dump()); }

void add_say(json& object, const Said& said, const char* key) {
  if (!said.message().id.empty()) object[key] = message_to_json(said.message());
}

Said with_say(std::string text, const json& object, const char* key) {
  if (!object.contains(key)) return text;
  Said out(std::move(text), message_from_json(object.at(key)));
  if (!says_its_text(out)) throw Error(fmt::format("{} {}", key, differing(out)));
  return out;
}

std::string pack_said(const Said& said) {
  std::string text = said.text();
  std::erase(text, kBorder);
  if (said.message().id.empty()) return text;
  // Bytes of others in it need not be UTF-8.
  return text + kBorder +
         message_to_json(said.message()).dump(-1, ' ', false, json::error_handler_t::replace);
}

Said unpack_said(std::string_view packed) {
  const size_t border = packed.find(kBorder);
  std::string text(packed.substr(0, border));
  if (border == std::string_view::npos) return text;
  try {
    const auto message = read_tree<Message>(std::string(packed.substr(border + 1)));
    // The channel may have changed bytes of the text; then its sentence counts.
    return {find_sentence(Lang::en, message).value_or(text), message};
  } catch (const std::exception&) {
    return text;
  }
}

}  // namespace cb
