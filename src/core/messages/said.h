// What measuring, running and loading say to a person: the id of a sentence in the table and its
// arguments, so that the code that shows it chooses the language.
#pragma once

#include <concepts>
#include <memory>
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

// A sentence: its id in the table and its arguments. Arguments may be sentences themselves, so all
// functions are defined in the .cpp file.
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

// An argument of a sentence: text that is the same in every language (a name, a path, a count, a
// message of a library or the kernel), a figure with its unit, or another sentence.
class Arg {
 public:
  Arg() = default;
  Arg(std::string text) : text_(std::move(text)) {}
  Arg(std::string_view text) : text_(text) {}
  Arg(const char* text) : text_(text) {}
  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) Arg(T number)
      : text_(std::to_string(number)) {}
  Arg(double number);  // with as few digits as it needs
  Arg(const Quantity& quantity);
  Arg(const Message& message);
  Arg(const Said& said);
  // Makes an argument from a document: the table need not have its sentence.
  static Arg of_document(Message message);

  // Returns nothing for a sentence that the table does not have.
  std::optional<std::string> in(Lang lang) const;
  // The kinds of argument, for code that writes them to a file: it has at most one of these; else
  // it is text.
  const std::optional<Quantity>& quantity() const { return quantity_; }
  const Message* message() const { return message_.empty() ? nullptr : &message_.front(); }

  friend bool operator==(const Arg& a, const Arg& b);
  friend bool operator<(const Arg& a, const Arg& b);

 private:
  std::optional<std::string> text_ = {};  // in English
  std::optional<Quantity> quantity_ = {};
  std::vector<Message> message_ = {};  // has one element or none
};

// A text in English, and its sentence's id and arguments if it has one. A text from a document
// keeps its English. Copies share what they say: a campaign has the same sentence many times.
class Said {
 public:
  Said() = default;
  // Makes a text that is in no table: a file's, a library's or the kernel's own words.
  Said(std::string text);
  Said(const char* text) : Said(std::string(text)) {}
  Said(std::string text, Message message);
  Said(Message message);

  const std::string& text() const { return whole().text; }
  // Its id is empty if the text is in no table.
  const Message& message() const { return whole().message; }
  bool empty() const { return text().empty(); }
  // Returns the English text if the table has no such sentence: it is of another version, or of no
  // table at all.
  std::string in(Lang lang) const;

  friend bool operator==(const Said& a, const Said& b) { return a.text() == b.text(); }
  template <std::convertible_to<std::string_view> T>
  friend bool operator==(const Said& a, const T& b) {
    return a.text() == std::string_view(b);
  }
  friend bool operator<(const Said& a, const Said& b) { return a.text() < b.text(); }

 private:
  struct Whole {
    std::string text;
    Message message;
  };
  const Whole& whole() const;

  std::shared_ptr<const Whole> whole_;  // null: says nothing
};

// Makes the sentence with that id and these arguments. Throws Error if the table does not have it.
template <typename... Args>
Said said(std::string_view id, Args&&... args) {
  return Said(Message(std::string(id), {Arg(std::forward<Args>(args))...}));
}

// Chooses `id`.one or `id`.many by the number, which is argument {0}.
template <std::integral T, typename... Args>
Said said_count(const std::string& id, T number, Args&&... args) {
  return said(id + (number == 1 ? ".one" : ".many"), number, std::forward<Args>(args)...);
}

// Returns the sentence in that language; nothing if the table has no such sentence, or only one
// with more arguments.
std::optional<std::string> find_sentence(Lang lang, const Message& message);

// True if the text is its sentence in English: a text from a document may be forged. Also true if
// the table lacks the sentence, or one of its arguments.
bool says_its_text(const Said& said);

// Join them: as clauses of one sentence, or as a list of names.
Said said_list(const std::vector<Said>& clauses);
Said said_names(const std::vector<Said>& names);

// Convert a sentence for a channel that carries only text (between ranks): every Said has exactly
// one such text, and every text gives one Said.
std::string pack_said(const Said& said);
Said unpack_said(std::string_view packed);

}  // namespace cb
