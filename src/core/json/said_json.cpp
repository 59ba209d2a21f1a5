#include "core/json/said_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json/json_read.h"

namespace cb {
namespace {

using nlohmann::json;

// Between the English of a packed sentence and its id: no text of ours has it.
constexpr char kBorder = '\x1e';

json arg_to_json(const Arg& arg) {
  if (arg.quantity()) return {{"value", arg.quantity()->value}, {"unit", arg.quantity()->unit}};
  if (arg.message() != nullptr) return message_to_json(*arg.message());
  return arg.in(Lang::en).value_or("");
}

Arg arg_from_json(const json& j, int depth) {
  if (j.is_string()) return j.get<std::string>();
  if (!j.is_object()) throw Error("an argument is neither a text, a figure nor a sentence");
  if (j.contains("value"))
    return Quantity{finite_number(j.at("value"), "value"), text_at(j, "unit")};
  return Arg::of_document(message_from_json(j, depth + 1));
}

// Long enough to see where two texts part, short enough for a terminal.
std::string quoted(const std::string& text) {
  constexpr size_t kMax = 160;
  return '"' + (text.size() <= kMax ? text : text.substr(0, kMax) + "…") + '"';
}

std::string differing(const Said& said, const std::string& place) {
  const auto sentence = find_sentence(Lang::en, said.message()).value_or("");
  return fmt::format("{}: the text is {}, but its sentence {} says {}: one of them was changed",
                     place, quoted(said.text()), said.message().id, quoted(sentence));
}

}  // namespace

json message_to_json(const Message& message) {
  json args = json::array();
  for (const Arg& arg : message.args) args.push_back(arg_to_json(arg));
  return {{"id", message.id}, {"args", std::move(args)}};
}

Message message_from_json(const json& j, int depth) {
  if (depth == kMaxSaidDepth) throw Error("sentences stand in sentences too deep");
  Message out(text_at(j, "id"));
  for (const json& arg : list_at(j, "args")) out.args.push_back(arg_from_json(arg, depth));
  return out;
}

void add_say(json& object, const Said& said, const char* key) {
  if (!said.message().id.empty()) object[key] = message_to_json(said.message());
}

Said with_say(std::string text, const json& object, const char* key, const std::string& place) {
  if (!object.contains(key)) return text;
  Said out(std::move(text), message_from_json(object_at(object, key)));
  if (!says_its_text(out)) throw Error(differing(out, place.empty() ? key : place));
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
    const Message message = message_from_json(json::parse(packed.substr(border + 1)));
    // The channel may have changed bytes of the text; then its sentence counts.
    return {find_sentence(Lang::en, message).value_or(text), message};
  } catch (const std::exception&) {
    return text;
  }
}

}  // namespace cb
