#include "core/messages/texts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "core/error.h"
#include "core/file.h"

using namespace cb;

namespace {

std::set<std::string> placeholders(std::string_view text) {
  const std::string copy(text);
  const std::regex pattern("\\{[0-9]\\}");
  std::set<std::string> out;
  for (std::sregex_iterator it(copy.begin(), copy.end(), pattern), end; it != end; ++it)
    out.insert(it->str());
  return out;
}

// The ids that the sources ask for as literals.
std::set<std::string> used_ids(std::string& sources) {
  const char* dir = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  REQUIRE_MESSAGE(dir != nullptr, "set CLUSTERBENCH_SOURCE_DIR to the source tree, as ctest does");
  for (const char* room : {"report", "judge", "cli"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(dir) / "src" / room)) {
      if (entry.path().extension() == ".cpp") sources += read_file(entry.path());
    }
  }
  std::set<std::string> out;
  const std::regex single("\\bt\\(\\s*\"([a-z_.]+)\"");
  const std::regex counted("t\\.count\\(\\s*\"([a-z_.]+)\"");
  for (std::sregex_iterator it(sources.begin(), sources.end(), single), end; it != end; ++it)
    if (const std::string id = (*it)[1]; !id.ends_with('.')) out.insert(id);  // else composed
  for (std::sregex_iterator it(sources.begin(), sources.end(), counted), end; it != end; ++it) {
    out.insert((*it)[1].str() + ".one");
    out.insert((*it)[1].str() + ".many");
  }
  return out;
}

}  // namespace

TEST_CASE("every text is there once in both languages, with the same arguments") {
  std::set<std::string_view> ids;
  for (const TextRow& row : all_texts()) {
    CAPTURE(row.id);
    CHECK(ids.insert(row.id).second);
    CHECK_FALSE(row.en.empty());
    CHECK_FALSE(row.zh.empty());
    CHECK(placeholders(row.en) == placeholders(row.zh));
  }
}

TEST_CASE("every text asked for is in the table, and none is left over") {
  std::string sources;
  const std::set<std::string> used = used_ids(sources);
  REQUIRE(used.size() > 100);
  for (const std::string& id : used) CHECK_MESSAGE(has_text(id), id);
  for (const TextRow& row : all_texts()) {
    const std::string id(row.id);
    // Ids built from a name of the model; others stand as they are in the sources.
    const bool composed = std::ranges::any_of(
        std::initializer_list<std::string>{"state.", "domain.", "metric.", "source.", "standard.",
                                           "statistic.", "severity.", "sign.", "gap.failed",
                                           "gap.deadline", "gap.not-applicable", "gap.missing",
                                           "attribute."},
        [&](const std::string& prefix) { return id.starts_with(prefix); });
    const std::string stem = std::regex_replace(id, std::regex("\\.(one|many)$"), "");
    const bool found = composed || sources.find('"' + stem + '"') != std::string::npos;
    CHECK_MESSAGE(found, id);
  }
}

TEST_CASE("every attribute that an inventory is given has a name") {
  const std::filesystem::path sys =
      std::filesystem::path(std::getenv("CLUSTERBENCH_SOURCE_DIR")) / "src/sys";
  const std::regex given(
      "(?:put\\w*|a\\.\\w+)\\(\\s*part, \"([a-z_0-9]+)\"|"
      "attributes\\[\"([a-z_0-9]+)\"\\]");
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sys)) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string source = read_file(entry.path());
    for (std::sregex_iterator it(source.begin(), source.end(), given), end; it != end; ++it) {
      const std::string name = (*it)[1].matched ? (*it)[1] : (*it)[2];
      CHECK_MESSAGE(has_text("attribute." + name), name);
      ++count;
    }
  }
  CHECK(count > 80);
}

TEST_CASE("an unknown text is an error, arguments are filled in, counts choose their form") {
  CHECK_THROWS_AS(raw_text(Lang::en, "no.such"), Error);
  const Texts t(Lang::en);
  CHECK(t("checks.passed", 3, 4) == "3 of 4");
  CHECK(t.count("verdict.failed", 1) == "1 criterion fails.");
  CHECK(t.count("verdict.failed", 2) == "2 criteria fail.");
}
