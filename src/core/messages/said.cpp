#include "core/messages/said.h"

#include <cmath>

#include <fmt/format.h>

#include "core/messages/texts.h"
#include "core/units.h"

namespace cb {
namespace {

// Returns 3 for "{3}". The tables use one digit.
std::optional<size_t> place_at(std::string_view text, size_t at) {
  if (at + 2 >= text.size() || text[at + 2] != '}') return std::nullopt;
  const char digit = text[at + 1];
  if (digit < '0' || digit > '9') return std::nullopt;
  return static_cast<size_t>(digit - '0');
}

// For these ids the table has the text between two arguments; there may be any number of arguments.
bool is_list(std::string_view id) { return id == "list.clauses" || id == "list.names"; }

std::optional<std::string> joined(Lang lang, const Message& list) {
  std::string out;
  for (const Arg& arg : list.args) {
    const auto text = arg.in(lang);
    if (!text) return std::nullopt;
    if (&arg != &list.args.front()) out += raw_text(lang, list.id);
    out += *text;
  }
  return out;
}

Said list_of(const char* id, const std::vector<Said>& parts) {
  if (parts.size() < 2) return parts.empty() ? Said() : parts.front();
  Message list(id);
  for (const Said& part : parts) {
    const bool same = part.message().id == id;
    if (same)
      list.args.insert(list.args.end(), part.message().args.begin(), part.message().args.end());
    else
      list.args.emplace_back(part);
  }
  return list;
}

}  // namespace

Message::Message() = default;
Message::Message(std::string name) : id(std::move(name)) {}
Message::Message(std::string name, std::vector<Arg> with)
    : id(std::move(name)), args(std::move(with)) {}
Message::Message(const Message& other) = default;
Message::Message(Message&& other) noexcept = default;
Message& Message::operator=(const Message& other) = default;
Message& Message::operator=(Message&& other) noexcept = default;
Message::~Message() = default;

bool operator==(const Message& a, const Message& b) { return a.id == b.id && a.args == b.args; }

bool operator<(const Message& a, const Message& b) {
  return a.id != b.id ? a.id < b.id : a.args < b.args;
}

Arg::Arg(double number) : text_(fmt::format("{}", number)) {}

Arg::Arg(const Quantity& quantity) : text_(format_value(quantity.value, quantity.unit)) {
  if (std::isfinite(quantity.value)) quantity_ = quantity;  // JSON has no number that is not finite
}

Arg::Arg(const Message& message) : text_(say(Lang::en, message)), message_{message} {}

Arg::Arg(const Said& said) : text_(said.text()) {
  if (!said.message().id.empty()) message_.push_back(said.message());
}

Arg Arg::of_document(Message message) {
  Arg out;
  out.text_ = find_sentence(Lang::en, message);
  out.message_.push_back(std::move(message));
  return out;
}

std::optional<std::string> Arg::in(Lang lang) const {
  if (lang == Lang::en || message_.empty()) return text_;
  const auto sentence = find_sentence(lang, message_.front());
  return sentence ? sentence : text_;
}

bool operator==(const Arg& a, const Arg& b) {
  return a.text_ == b.text_ && a.message_ == b.message_;
}

bool operator<(const Arg& a, const Arg& b) {
  return a.text_ != b.text_ ? a.text_ < b.text_ : a.message_ < b.message_;
}

Said::Said(std::string text) {
  if (!text.empty()) whole_ = std::make_shared<const Whole>(Whole{std::move(text), {}});
}

Said::Said(std::string text, Message message)
    : whole_(std::make_shared<const Whole>(Whole{std::move(text), std::move(message)})) {}

Said::Said(Message message) {
  std::string text = say(Lang::en, message);
  whole_ = std::make_shared<const Whole>(Whole{std::move(text), std::move(message)});
}

const Said::Whole& Said::whole() const {
  static const Whole& nothing = *new Whole();  // also for texts that end after it would
  return whole_ ? *whole_ : nothing;
}

std::string Said::in(Lang lang) const {
  if (lang == Lang::en || message().id.empty()) return text();
  return find_sentence(lang, message()).value_or(text());
}

std::optional<std::string> find_sentence(Lang lang, const Message& message) {
  if (!has_text(message.id)) return std::nullopt;
  if (is_list(message.id)) return joined(lang, message);
  const std::string_view sentence = raw_text(lang, message.id);
  std::string out;
  for (size_t i = 0; i < sentence.size(); ++i) {
    const auto place = sentence[i] == '{' ? place_at(sentence, i) : std::nullopt;
    if (!place) {
      out += sentence[i];
      continue;
    }
    const auto arg =
        *place < message.args.size() ? message.args[*place].in(lang) : std::optional<std::string>();
    if (!arg) return std::nullopt;
    out += *arg;
    i += 2;
  }
  return out;
}

bool says_its_text(const Said& said) {
  if (said.message().id.empty()) return true;
  const auto sentence = find_sentence(Lang::en, said.message());
  return !sentence || *sentence == said.text();
}

Said said_list(const std::vector<Said>& clauses) { return list_of("list.clauses", clauses); }

Said said_names(const std::vector<Said>& names) { return list_of("list.names", names); }

}  // namespace cb
