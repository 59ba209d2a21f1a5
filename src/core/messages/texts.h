// Every text that is ours and that a customer reads, in both languages, in one table.
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

// The whole table. {0}, {1} … stand for arguments, the same ones in both languages.
std::span<const TextRow> all_texts();

// Whether the table has that id.
bool has_text(std::string_view id);

// The text of that id; throws Error for an id that is not in the table.
std::string_view raw_text(Lang lang, std::string_view id);

// Throws Error where the table has no such sentence.
std::string say(Lang lang, const Message& message);

// One after the other, as clauses of one sentence.
std::string say_all(Lang lang, const std::vector<Message>& messages);

// `id`.one or `id`.many with the number as argument {0}.
Message count_message(const std::string& id, size_t number);

// Texts of one language: `t("counts.hosts", 4)`.
class Texts {
 public:
  explicit Texts(Lang lang) : lang_(lang) {}
  Lang lang() const { return lang_; }
  // What stands between two sentences.
  std::string gap() const { return lang_ == Lang::zh ? "" : " "; }

  template <typename... Args>
  std::string operator()(std::string_view id, const Args&... args) const {
    return fmt::vformat(raw_text(lang_, id), fmt::make_format_args(args...));
  }
  // As above, but id.one or id.many by the number, which is argument {0}.
  template <typename... Args>
  std::string count(std::string_view id, size_t number, const Args&... args) const {
    return (*this)(std::string(id) + (number == 1 ? ".one" : ".many"), number, args...);
  }

 private:
  Lang lang_;
};

}  // namespace cb
