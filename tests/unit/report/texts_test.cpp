#include "core/messages/texts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "core/messages/said_tables.h"

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

std::filesystem::path source_dir() {
  const char* dir = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  REQUIRE_MESSAGE(dir != nullptr, "set CLUSTERBENCH_SOURCE_DIR to the source tree, as ctest does");
  return std::filesystem::path(dir) / "src";
}

// All sources but the tables themselves.
std::string all_sources() {
  std::string out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir())) {
    const std::string extension = entry.path().extension(), name = entry.path().filename();
    const bool table = name.starts_with("text") || name.starts_with("said_");
    if ((extension == ".cpp" || extension == ".h") && !table) out += read_file(entry.path());
  }
  return out;
}

// How many arguments stand from `at` on until the bracket closes: after an id, as in
// `said("id", one, f(a, b))`.
size_t count_arguments(const std::string& source, size_t at) {
  size_t depth = 0, commas = 0;
  for (bool text = false; at < source.size(); ++at) {
    const char c = source[at];
    if (text && c == '\\') ++at;
    if (c == '"' && source[at - 1] != '\'') text = !text;
    if (text) continue;
    if (c == '(' || c == '{' || c == '[') ++depth;
    if ((c == ')' || c == '}' || c == ']') && depth-- == 0) break;
    if (c == ',' && depth == 0) ++commas;
  }
  return commas;
}

// Every said("id", …) and said_count("id", number, …) of the sources, with its arguments.
std::vector<std::pair<std::string, size_t>> sentences_said(const std::string& sources) {
  std::vector<std::pair<std::string, size_t>> out;
  const std::regex call("\\bsaid(_count)?\\(\\s*\"([a-z_.0-9-]+)\"");
  for (std::sregex_iterator it(sources.begin(), sources.end(), call), end; it != end; ++it) {
    const std::string id = (*it)[2];
    if (id.ends_with('.') || id.ends_with('_')) continue;  // composed
    const size_t given =
        count_arguments(sources, static_cast<size_t>(it->position() + it->length()));
    if (!(*it)[1].matched) out.emplace_back(id, given);
    if ((*it)[1].matched) {
      out.emplace_back(id + ".one", given);
      out.emplace_back(id + ".many", given);
    }
  }
  return out;
}

// The ids that the sources ask for as literals.
std::set<std::string> used_ids(std::string& sources) {
  sources = all_sources();
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

TEST_CASE("no Chinese text holds an English sentence") {
  const std::regex sentence("[a-z]{3,} [a-z]{3,} [a-z]{2,}");
  const auto has = [&](std::string_view text) {
    return std::regex_search(text.begin(), text.end(), sentence);
  };
  int english = 0;
  for (const TextRow& row : all_texts()) {
    CAPTURE(row.id);
    CHECK_FALSE(has(row.zh));
    if (!has(row.en)) continue;
    ++english;
    CHECK(std::ranges::any_of(row.zh, [](char c) { return static_cast<signed char>(c) < 0; }));
  }
  CHECK(english > 500);  // what is looked for is found where it may stand
}

TEST_CASE("every text asked for is in the table, and none is left over") {
  std::string sources;
  const std::set<std::string> used = used_ids(sources);
  REQUIRE(used.size() > 100);
  for (const std::string& id : used) CHECK_MESSAGE(has_text(id), id);
  for (const TextRow& row : all_texts()) {
    const std::string id(row.id);
    // Ids built from a name of the model; others stand as they are in the sources.
    const bool composed =
        std::ranges::any_of(std::initializer_list<std::string>{"state.",
                                                               "domain.",
                                                               "metric.",
                                                               "source.",
                                                               "standard.",
                                                               "statistic.",
                                                               "severity.",
                                                               "sign.",
                                                               "gap.failed",
                                                               "gap.deadline",
                                                               "gap.not-applicable",
                                                               "gap.missing",
                                                               "attribute.",
                                                               "kind.",
                                                               "fact.",
                                                               "checked.",
                                                               "event.",
                                                               "class.",
                                                               "coll.per_",
                                                               "xid.",
                                                               "locate.nic",
                                                               "locate.gpu",
                                                               "locate.units_"},
                            [&](const std::string& prefix) { return id.starts_with(prefix); });
    const std::string stem = std::regex_replace(id, std::regex("\\.(one|many)$"), "");
    const bool found = composed || sources.find('"' + stem + '"') != std::string::npos;
    CHECK_MESSAGE(found, id);
  }
}

TEST_CASE("every sentence that is said is in the table, with as many arguments as it has places") {
  const auto all = sentences_said(all_sources());
  REQUIRE(all.size() > 300);
  for (const auto& sentence : all) {
    const std::string id = sentence.first;
    CAPTURE(id);
    REQUIRE(has_text(id));
    CHECK(placeholders(raw_text(Lang::en, id)).size() == sentence.second);
  }
}

namespace {

// The ids whose sentences documents carry, and those of the tables that only they use.
std::set<std::string> ids_of_documents() {
  std::set<std::string> out = {"list.clauses", "list.names"};
  for (const auto& sentence : sentences_said(all_sources())) out.insert(sentence.first);
  for (const auto table : {said_campaign(), said_gpu(), said_host(), said_locate(), said_network(),
                           said_storage(), said_training(), said_workloads(), said_xid()}) {
    for (const TextRow& row : table) out.emplace(row.id);
  }
  return out;
}

}  // namespace

// Whoever reads a document says its sentences again and refuses it where they differ from what
// stands there (docs/guide/result.md). A better wording gets a new id and a new line in the file;
// lines of ids that are gone stay, so that nobody uses them for another sentence.
TEST_CASE("what an id of a document says in English never changes") {
  std::istringstream lines(read_file(source_dir() / "../tests/data/sentences.tsv"));
  std::set<std::string> known;
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    REQUIRE(tab != std::string::npos);
    const std::string id = line.substr(0, tab), english = line.substr(tab + 1);
    CHECK_MESSAGE(known.insert(id).second, id);
    if (has_text(id)) CHECK_MESSAGE(raw_text(Lang::en, id) == english, id);
  }
  for (const std::string& id : ids_of_documents())
    CHECK_MESSAGE(known.contains(id), id, ": add it to tests/data/sentences.tsv");
}

// A sentence without an id has no Chinese. What the kernel, a library or a file says goes into a
// sentence as its argument.
TEST_CASE("what measuring tells a person has an id") {
  const std::regex loose(
      "((notes|warnings)\\.(push_back|emplace_back)\\(|Skipped\\{"
      "|\\.(detail|how|reason|planted|why_not) = "
      "|Ceiling\\{(?:(?!said\\()[^;])*, "
      ")\\s*"
      "(\"[^\"]|fmt::format)");
  for (const char* room : {"bench", "model", "campaign", "judge", "cli"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir() / room)) {
      if (entry.path().extension() != ".cpp") continue;
      const std::string source = read_file(entry.path());
      std::smatch found;
      CHECK_MESSAGE(!std::regex_search(source, found, loose), entry.path().string()
                                                                  << ": " << found.str());
    }
  }
}

TEST_CASE("every fact, and every check of a case, has a name in Chinese") {
  const std::string sources = all_sources();
  const std::regex fact("facts\\[\"([a-z_]+)\"\\]");
  size_t count = 0;
  for (std::sregex_iterator it(sources.begin(), sources.end(), fact), end; it != end; ++it) {
    CHECK_MESSAGE(has_text("fact." + (*it)[1].str()), (*it)[1].str());
    ++count;
  }
  CHECK(count > 50);
}

TEST_CASE("every attribute that an inventory is given has a name") {
  const std::filesystem::path sys = source_dir() / "sys";
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
