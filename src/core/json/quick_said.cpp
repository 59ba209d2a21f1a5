#include "core/json/quick_said.h"

#include "core/json/said_json.h"

namespace cb::quick {
namespace {

Arg said_arg(Value v, int depth);

Message message_at(Value v, int depth) {
  expect(depth < kMaxSaidDepth);
  Message out;
  bool whole = false;
  for (const auto member : Object(v.get_object())) {
    if (member.key == "id") {
      expect(out.id.empty());
      out.id = text(member.value);
      continue;
    }
    expect(member.key == "args" && !whole);
    whole = true;
    out.args = list<Arg>(member.value, [&](Value a) { return said_arg(a, depth); });
  }
  expect(whole && !out.id.empty());
  return out;
}

constexpr Field<Quantity> kQuantity[] = {
    {"value", [](Quantity& q, Value v) { q.value = number(v); }},
    {"unit", [](Quantity& q, Value v) { q.unit = text(v); }}};

Arg said_arg(Value v, int depth) {
  if (v.type() == simdjson::dom::element_type::STRING) return text(v);
  if (v.at_key("value").error() != simdjson::SUCCESS)
    return Arg::of_document(message_at(v, depth + 1));
  Quantity out;
  read_object(v, kQuantity, out);
  return out;
}

}  // namespace

Message message(Value v) { return message_at(v, 0); }

std::map<std::string, Message> messages(Value v) { return map<Message>(v, message); }

void set_text(Said& said, std::string english) { said = {std::move(english), said.message()}; }
void set_say(Said& said, Message message) { said = {said.text(), std::move(message)}; }

Said agreeing(Said said) {
  expect((!said.empty() || said.message().id.empty()) && says_its_text(said));
  return said;
}

std::map<std::string, Said> with_says(const std::map<std::string, std::string>& texts,
                                      std::map<std::string, Message> says) {
  std::map<std::string, Said> out;
  for (const auto& [name, english] : texts) {
    const auto say = says.find(name);
    out.emplace(
        name, say == says.end() ? Said(english) : agreeing(Said(english, std::move(say->second))));
  }
  return out;
}

}  // namespace cb::quick
