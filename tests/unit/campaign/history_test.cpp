// Issues and checklist keep their past: what was written can neither be changed nor taken out.
#include "campaign/history.h"

#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "campaign/paperwork.h"
#include "core/file.h"

using namespace cb;

namespace {

namespace fs = std::filesystem;

const std::string kChangedAt = "2026-11-21T10:00:00Z";

struct HistoryDirectory {
  HistoryDirectory() {
    std::string name = (fs::temp_directory_path() / "cb-history-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root = name;
    std::ofstream(root / "campaign.json") << "{}";
  }
  ~HistoryDirectory() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
  fs::path root;
};

}  // namespace

TEST_CASE("issues are read back, and a change appends to the history") {
  const HistoryDirectory d;
  CHECK(read_paperwork(d.root).issues.empty());
  std::vector<Issue> issues{{.id = "I-001", .symptom = "hot"}, {.id = "I-002", .symptom = "loud"}};
  write_issues(d.root, issues, kChangedAt);
  const std::string first = read_file(d.root / "issues.history.jsonl");
  write_issues(d.root, issues, kChangedAt);  // nothing changed, nothing written
  CHECK(read_file(d.root / "issues.history.jsonl") == first);
  issues[1].owner = "A. Wang";
  write_issues(d.root, issues, kChangedAt);
  CHECK(read_paperwork(d.root).issues.at(1).owner == "A. Wang");
  const std::string second = read_file(d.root / "issues.history.jsonl").substr(first.size());
  CHECK(second.find("A. Wang") != std::string::npos);
  CHECK(second.find("I-001") == std::string::npos);
}

TEST_CASE("a file or history that was changed by hand is refused and left alone") {
  const HistoryDirectory d;
  for (const char* owner : {"a", "b", "c"})
    write_issues(d.root, {{.id = "I-001", .symptom = "hot", .owner = owner}}, kChangedAt);
  const std::string history = read_file(d.root / "issues.history.jsonl");
  const std::string issues = read_file(d.root / "issues.json");
  const auto refuse = [&](const std::string& file, const std::string& text, const char* where) {
    const std::string good = read_file(d.root / file);
    write_file_atomically(d.root / file, text);
    CHECK_THROWS_WITH_AS(read_paperwork(d.root), doctest::Contains(where), UsageError);
    CHECK_THROWS_AS(write_issues(d.root, {}, kChangedAt), UsageError);
    CHECK(read_file(d.root / file) == text);
    write_file_atomically(d.root / file, good);
  };
  const size_t first = history.find('\n') + 1;
  const size_t second = history.find('\n', first) + 1;
  std::string changed = history;
  changed[changed.find("hot")] = 'p';
  refuse("issues.history.jsonl", changed, "line 1");
  refuse("issues.history.jsonl", history.substr(0, first) + history.substr(second), "line 2");
  refuse("issues.history.jsonl", history.substr(first), "line 1");
  refuse("issues.history.jsonl", history.substr(0, history.size() - 1), "line 3");
  refuse("issues.history.jsonl", history.substr(0, second), "issues.json");
  refuse("issues.json", issues + " ", "changed by hand");
  CHECK(read_paperwork(d.root).issues.at(0).owner == "c");
}
