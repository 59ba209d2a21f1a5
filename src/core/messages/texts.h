// Every text of ours that a customer reads, in both languages, in one table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/messages/said.h"

namespace cb {

struct TextRow {
  std::string_view id;
  std::string_view en;
  std::string_view zh;
};

// Returns the whole table. {0}, {1} … stand for arguments, the same in both languages.
std::span<const TextRow> all_texts();

// True if the table has that id.
bool has_text(std::string_view id);

// Returns the text with that id; throws Error for an id that is not in the table.
std::string_view raw_text(Lang lang, std::string_view id);

// Formats a sentence. Throws Error if the table does not have it.
std::string say(Lang lang, const Message& message);

// Joins the messages as clauses of one sentence.
std::string say_all(Lang lang, const std::vector<Message>& messages);

// Chooses `id`.one or `id`.many by the number, which is argument {0}.
Message count_message(const std::string& id, size_t number);

// Texts in one language: `t("counts.hosts", 4)`.
class Texts {
 public:
  explicit Texts(Lang lang) : lang_(lang) {}
  Lang lang() const { return lang_; }
  // Returns the separator between two sentences.
  std::string gap() const { return lang_ == Lang::zh ? "" : " "; }

  template <typename... Args>
  std::string operator()(std::string_view id, const Args&... args) const {
    return fmt::vformat(raw_text(lang_, id), fmt::make_format_args(args...));
  }
  // Like operator(), but chooses id.one or id.many by the number, which is argument {0}.
  template <typename... Args>
  std::string count(std::string_view id, size_t number, const Args&... args) const {
    return (*this)(std::string(id) + (number == 1 ? ".one" : ".many"), number, args...);
  }

 private:
  Lang lang_;
};

}  // namespace cb
