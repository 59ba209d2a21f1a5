// Every text of the report that is ours, in both languages, in one table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace cb {

enum class Lang { en, zh };

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
