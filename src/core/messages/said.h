// What measuring, running and loading say to a person: a sentence of the table by its id, with what
// stands in it, so that whoever shows it chooses the language.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/quantity.h"

namespace cb {

enum class Lang { en, zh };

class Arg;
class Said;

// A sentence as its id in the table and what stands in it. Arguments may be sentences themselves,
// hence all functions elsewhere.
struct Message {
  std::string id;
  std::vector<Arg> args;

  Message();
  explicit Message(std::string id);
  Message(std::string id, std::vector<Arg> args);
  Message(const Message& other);
  Message(Message&& other) noexcept;
  Message& operator=(const Message& other);
  Message& operator=(Message&& other) noexcept;
  ~Message();
};

bool operator==(const Message& a, const Message& b);
bool operator<(const Message& a, const Message& b);

// What stands in a sentence: text that is the same in every language (a name, a path, a count, what
// a library or the kernel says), a figure with its unit, or another sentence.
class Arg {
 public:
  Arg() = default;
  Arg(std::string text) : text_(std::move(text)) {}
  Arg(std::string_view text) : text_(text) {}
  Arg(const char* text) : text_(text) {}
  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) Arg(T number)
      : text_(std::to_string(number)) {}
  Arg(double number);  // in as few digits as it has
  Arg(const Quantity& quantity);
  Arg(const Message& message);
  Arg(const Said& said);
  // Of a document: the table need not have that sentence.
  static Arg of_document(Message message);

  // Nothing for a sentence that the table does not have.
  std::optional<std::string> in(Lang lang) const;
  // The three kinds, for whoever writes them down: at most one of these, else it is text.
  const std::optional<Quantity>& quantity() const { return quantity_; }
  const Message* message() const { return message_.empty() ? nullptr : &message_.front(); }

  friend bool operator==(const Arg& a, const Arg& b);
  friend bool operator<(const Arg& a, const Arg& b);

 private:
  std::optional<std::string> text_ = {};  // as it stands in English
  std::optional<Quantity> quantity_ = {};
  std::vector<Message> message_ = {};  // one or none
};

// What a sentence says in English, and its id and arguments where it has them. What was read from a
// document keeps the English that stands there.
class Said {
 public:
  Said() = default;
  // A text that is in no table: a file's, a library's or the kernel's own words.
  Said(std::string text) : text_(std::move(text)) {}
  Said(const char* text) : text_(text) {}
  Said(std::string text, Message message) : text_(std::move(text)), message_(std::move(message)) {}
  Said(Message message);

  const std::string& text() const { return text_; }
  // Its id is empty where the text is in no table.
  const Message& message() const { return message_; }
  bool empty() const { return text_.empty(); }
  // The English where the table has no such sentence: of another version, or of no table at all.
  std::string in(Lang lang) const;

  friend bool operator==(const Said& a, const Said& b) { return a.text_ == b.text_; }
  template <std::convertible_to<std::string_view> T>
  friend bool operator==(const Said& a, const T& b) {
    return a.text_ == std::string_view(b);
  }
  friend bool operator<(const Said& a, const Said& b) { return a.text_ < b.text_; }

 private:
  std::string text_;
  Message message_;
};

// The sentence of that id with these arguments. Throws Error where the table has no such sentence.
template <typename... Args>
Said said(std::string_view id, Args&&... args) {
  return Said(Message(std::string(id), {Arg(std::forward<Args>(args))...}));
}

// `id`.one or `id`.many; the number is argument {0}.
template <std::integral T, typename... Args>
Said said_count(const std::string& id, T number, Args&&... args) {
  return said(id + (number == 1 ? ".one" : ".many"), number, std::forward<Args>(args)...);
}

// The sentence in that language; nothing where the table has no such sentence, or one with more
// arguments.
std::optional<std::string> find_sentence(Lang lang, const Message& message);

// Whether the text is what its sentence says in English: what was read from a document may be
// forged. True where there is no such sentence in the table, or within it.
bool says_its_text(const Said& said);

// One after the other: as clauses of one sentence, or as a list of names.
Said said_list(const std::vector<Said>& clauses);
Said said_names(const std::vector<Said>& names);

// A sentence through a channel that carries text alone (between ranks): every Said has one such
// text, and every text is one Said.
std::string pack_said(const Said& said);
Said unpack_said(std::string_view packed);

}  // namespace cb
