#include "core/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cb {
namespace {

constexpr std::array<std::string_view, 12> kSecretWords{
    "TOKEN",  "SECRET",    "PASSWORD",   "PASSWD", "PASSPHRASE", "CREDENTIAL",
    "APIKEY", "ACCESSKEY", "PRIVATEKEY", "BEARER", "MKEY",       "VSKEY"};
constexpr std::string_view kCountOfWords = "NEWTOKENS";  // infer --new-tokens: of a text, no key
constexpr std::string_view kSettingCharacters = " _.,:;=^/+@%*()[]{}~-#<>|!";
constexpr size_t kMaxSetting = 512;
// Shortest keys in base 64 and in hexadecimal. Names of interfaces, devices (a UUID has groups of
// 12) and algorithms are shorter.
constexpr size_t kMinKey = 20, kMinHexKey = 32;

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// True for a run of letters and digits that looks random.
bool looks_like_key(std::string_view run) {
  const auto has = [&](int (*is)(int)) {
    return std::any_of(run.begin(), run.end(), [&](unsigned char c) { return is(c) != 0; });
  };
  const bool digits = has(std::isdigit), lower = has(std::islower), upper = has(std::isupper);
  if (run.size() >= kMinKey && digits && lower && upper) return true;
  return run.size() >= kMinHexKey && digits && (lower || upper);
}

std::string without_keys(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_alnum);
    const std::string_view run(text.data(), static_cast<size_t>(end - text.begin()));
    out += looks_like_key(run) ? kRedacted : run;
    text.remove_prefix(run.size());
    if (text.empty()) break;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

// "https://user:password@host": removes everything before the @.
std::string without_user(std::string text) {
  for (size_t at = 0; (at = text.find("://", at)) != std::string::npos;) {
    at += 3;
    const size_t end = text.find_first_of("/@ ,", at);
    if (end != std::string::npos && text[end] == '@') text.replace(at, end - at, kRedacted);
  }
  return text;
}

std::string word_without_secrets(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals != std::string::npos && names_secret(std::string_view(word).substr(0, equals)))
    return word.substr(0, equals + 1) + std::string(kRedacted);
  return without_keys(without_user(word));
}

// Without quotes and the like around it.
std::string_view bare(std::string_view word) {
  while (!word.empty() && !is_alnum(word.front())) word.remove_prefix(1);
  while (!word.empty() && !is_alnum(word.back())) word.remove_suffix(1);
  return word;
}

// Whatever the case of its letters.
bool ends_with_word(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  return std::ranges::equal(text.substr(text.size() - word.size()), word,
                            [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

// Behind "Authorization:" or the like, where credentials stand; npos: nowhere.
size_t behind_authorization(std::string text) {
  constexpr std::string_view kLabel = "authorization";
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  for (size_t at = 0; (at = text.find(kLabel, at)) != std::string::npos;) {
    at += kLabel.size();
    const size_t mark = text.find_first_not_of(" \"'", at);
    if (mark != std::string::npos && (text[mark] == ':' || text[mark] == '=')) return mark + 1;
  }
  return std::string::npos;
}

bool is_joint(std::string_view word) {
  return !word.empty() && word.find_first_not_of(":=>") == std::string_view::npos;
}

// Of "NAME:VALUE".
std::string labelled_without_secret(const std::string& word, const std::string& otherwise) {
  const size_t colon = word.find(':');
  if (colon == std::string::npos || colon + 1 == word.size() ||
      !names_secret(std::string_view(word).substr(0, colon)))
    return otherwise;
  return word.substr(0, colon + 1) + std::string(kRedacted);
}

std::string words_without_secrets(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  std::vector<std::string> out = arguments_without_secrets(words);
  bool is_named = false, secret_follows = false;  // by the word before
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool joins = is_joint(word);
    out[i] =
        secret_follows && !joins ? std::string(kRedacted) : labelled_without_secret(word, out[i]);
    secret_follows = ends_with_word(bare(word), "bearer") || (joins && is_named) ||
                     (word.ends_with(':') && names_secret(word));
    is_named = names_secret(word);
  }
  return fmt::format("{}", fmt::join(out, " "));
}

}  // namespace

bool names_secret(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (is_alnum(c)) letters += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  if (letters == kCountOfWords) return false;
  return std::any_of(kSecretWords.begin(), kSecretWords.end(), [&](std::string_view word) {
    return letters.find(word) != std::string::npos;
  });
}

std::string setting_or_redacted(std::string_view name, std::string_view value) {
  const auto is_of_setting = [](char c) {
    return is_alnum(c) || kSettingCharacters.find(c) != std::string_view::npos;
  };
  const bool setting = !names_secret(name) && value.size() <= kMaxSetting &&
                       std::all_of(value.begin(), value.end(), is_of_setting);
  const std::string text(value);
  return setting && word_without_secrets(text) == text ? text : std::string(kRedacted);
}

std::vector<std::string> arguments_without_secrets(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  bool secret_follows = false;
  for (const std::string& word : arguments) {
    out.push_back(secret_follows ? std::string(kRedacted) : word_without_secrets(word));
    secret_follows =
        word.starts_with('-') && word.find('=') == std::string::npos && names_secret(word);
  }
  return out;
}

std::string text_without_secrets(const std::string& text) {
  const size_t end = behind_authorization(text);
  if (end == std::string::npos) return words_without_secrets(text);
  return words_without_secrets(text.substr(0, end)) + " " + std::string(kRedacted);
}

std::vector<std::string> arguments_without_values(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const size_t equals = word.find('=');
    if (i < 2 && !word.starts_with('-'))
      out.push_back(word.substr(word.rfind('/') + 1));  // the program and its subcommand
    else if (!word.starts_with('-'))
      out.emplace_back(kRedacted);
    else
      out.push_back(
          equals == std::string::npos ? word : word.substr(0, equals + 1) + std::string(kRedacted));
  }
  return out;
}

}  // namespace cb
