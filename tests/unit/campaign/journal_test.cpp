// The journal as it is read back, line by line.
#include "campaign/journal.h"

#include <filesystem>
#include <set>

#include <doctest/doctest.h>

#include "core/file.h"

using namespace cb;

namespace {

namespace fs = std::filesystem;

struct JournalFile {
  JournalFile() {
    std::string name = (fs::temp_directory_path() / "cb-journal-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    directory = name;
  }
  ~JournalFile() { fs::remove_all(directory); }
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  fs::path path() const { return directory / "journal.jsonl"; }
  JournalWriter writer() const { return JournalWriter(path(), "root"); }
  Journal read() const { return read_journal(path(), {"root", "", true}); }

  fs::path directory;
};

JobEvent begun(const std::string& job, int attempt, const std::string& fingerprint = "f") {
  return {.job = job,
          .attempt = attempt,
          .at = "2026-11-21T10:00:00Z",
          .fingerprint = fingerprint,
          .command = {"cb"}};
}

JobEvent ended_event(const std::string& job, int attempt, const std::string& sha256 = "a") {
  JobEvent e = begun(job, attempt);
  e.command.clear();
  e.ended = true;
  e.state = JobState::done;
  e.sha256 = sha256;
  e.file = "records/" + job + (attempt > 1 ? "+" + std::to_string(attempt) : "") + ".json";
  return e;
}

std::vector<int> numbers_of(const std::vector<JobEvent>& events) {
  std::vector<int> out;
  for (const JobEvent& e : events) out.push_back(e.attempt);
  return out;
}

}  // namespace

TEST_CASE("each line belongs to the session before it") {
  const JournalFile file;
  JournalWriter w = file.writer();
  w.session({"2026-11-21T10:00:00Z", {.version = "1"}, {"run"}});
  w.job(begun("001-a", 1));
  w.session({"2026-11-21T11:00:00Z", {.version = "2"}, {"run"}, true});
  w.job(begun("001-a", 2));
  w.proof({.job = "001-a", .attempt = 1, .at = "2026-11-21T11:00:00Z", .command = {"cb"}});
  const Journal j = file.read();
  CHECK(j.warnings.empty());
  REQUIRE(j.sessions.size() == 2);
  CHECK(j.proving());
  CHECK(j.jobs.at("001-a")[0].session == 0);
  CHECK(j.jobs.at("001-a")[1].session == 1);
  CHECK(j.proofs.at("001-a").events.at(0).session == 1);
  CHECK(j.finished.empty());
}

TEST_CASE("what an end says is read back, and what it does not say is nothing") {
  const JournalFile file;
  JournalWriter w = file.writer();
  JobEvent bad = ended_event("001-a", 1);
  bad.bad = {2, 3, 4};
  bad.unmet = 5;
  bad.adds = true;
  bad.state = JobState::failed;
  bad.code = 7;
  bad.reason = "why";
  w.job(bad);
  w.job(ended_event("002-b", 1));
  w.finished("2026-11-21T12:00:00Z", "digest");
  const Journal j = file.read();
  const JobEvent& a = *j.last("001-a");
  CHECK(a.bad.failed_checks == 2);
  CHECK(a.bad.errored == 3);
  CHECK(a.bad.skipped == 4);
  CHECK(a.unmet == 5);
  CHECK(a.adds);
  CHECK(a.code == 7);
  CHECK(a.reason == "why");
  CHECK(a.state == JobState::failed);
  const JobEvent& b = *j.last("002-b");
  CHECK_FALSE(b.bad.any());
  CHECK(b.unmet == 0);
  CHECK_FALSE(b.adds);
  CHECK(b.session == 0);
  CHECK(j.finished == "2026-11-21T12:00:00Z");
  CHECK(j.files == "digest");
}

TEST_CASE("a job is done with the codes of whole records only") {
  const std::set<int> whole{0, 1, 3};
  for (const int code : {0, 1, 2, 3, 4, 124, 130, 137}) {
    const JournalFile file;
    JournalWriter w = file.writer();
    w.session({"2026-11-21T10:00:00Z", {}, {"run"}});
    JobEvent end = ended_event("001-a", 1);
    end.code = code;
    w.job(end);
    CHECK_MESSAGE((file.read().last("001-a") != nullptr) == whole.contains(code), code);
    CHECK_MESSAGE(file.read().warnings.empty() == whole.contains(code), code);
  }
}

TEST_CASE("a line that cannot be read is named by its number, empty ones count and say nothing") {
  const JournalFile file;
  JournalWriter w = file.writer();
  w.session({"2026-11-21T10:00:00Z", {}, {"run"}});
  append_line_durably(file.path(), "{\"event\": \"dance\"}");
  CHECK(file.read().warnings ==
        std::vector<Said>{"line 2 of the journal is torn or foreign and was left out"});
  write_file_atomically(file.path(), "\n\nx\n");
  CHECK(file.read().warnings ==
        std::vector<Said>{"line 3 of the journal is torn or foreign and was left out"});
  fs::remove(file.path());
  CHECK(file.read().warnings.empty());
}

TEST_CASE("a journal that ends in a torn line is continued on a fresh one") {
  const JournalFile file;
  file.writer().session({"2026-11-21T10:00:00Z", {}, {"run"}});
  write_file_atomically(file.path(), read_file(file.path()) + "{\"ev");
  file.writer().session({"2026-11-21T11:00:00Z", {}, {"run"}});
  const Journal j = file.read();
  CHECK(j.sessions.size() == 2);
  CHECK(j.warnings.empty());
  CHECK(j.notes.size() == 1);
}

TEST_CASE("the last line, the last start and the start of an attempt") {
  const JournalFile file;
  JournalWriter w = file.writer();
  w.job(begun("001-a", 1, "f1"));
  w.job(ended_event("001-a", 1));
  w.job(begun("001-a", 2, "f2"));
  Journal j = file.read();
  CHECK(j.last("001-a")->attempt == 2);
  CHECK_FALSE(j.last("001-a")->ended);
  CHECK(j.last_start("001-a")->fingerprint == "f2");
  CHECK(j.start_of("001-a", 1)->fingerprint == "f1");
  CHECK(j.start_of("001-a", 3) == nullptr);
  CHECK(j.last("x") == nullptr);
  CHECK(j.last_start("x") == nullptr);
  CHECK(j.start_of("x", 1) == nullptr);
  CHECK(j.documents("x").empty());
  w.job(ended_event("001-a", 2));
  j = file.read();
  CHECK(j.last("001-a")->ended);
  CHECK(j.last_start("001-a")->attempt == 2);
}

TEST_CASE("an attempt adds to the one before it where both ran the same") {
  const JournalFile file;
  JournalWriter w = file.writer();
  for (int attempt = 1; attempt <= 3; ++attempt) {
    w.job(begun("001-a", attempt, attempt == 1 ? "other" : "same"));
    JobEvent end = ended_event("001-a", attempt);
    end.file = "records/001-a+" + std::to_string(attempt) + ".json";
    w.job(end);
  }
  w.job(begun("002-b", 1, ""));
  const Journal j = file.read();
  REQUIRE(j.warnings.empty());
  const auto documents = j.documents("001-a");
  CHECK(numbers_of(documents) == std::vector<int>{1, 2, 3});
  CHECK_FALSE(documents[0].adds);
  CHECK_FALSE(documents[1].adds);
  CHECK(documents[2].adds);
  CHECK(j.goes_on("001-a", "same"));
  CHECK(j.goes_on("001-a", "other"));
  CHECK_FALSE(j.goes_on("001-a", "third"));
  CHECK_FALSE(j.goes_on("002-b", ""));  // it left no document
}

TEST_CASE("attempts of one version are pooled although another version's attempt came between") {
  const JournalFile file;
  JournalWriter w = file.writer();
  for (const auto& [attempt, version] : {std::pair(1, "A"), std::pair(2, "B"), std::pair(3, "A")}) {
    w.job(begun("001-a", attempt, version));
    w.job(ended_event("001-a", attempt));
  }
  const Journal j = file.read();
  const auto last = j.documents("001-a");
  CHECK(numbers_of(last) == std::vector<int>{2, 1, 3});
  CHECK_FALSE(last[1].adds);
  CHECK(last[2].adds);
  const auto other = j.documents("001-a", "B");
  CHECK(numbers_of(other) == std::vector<int>{1, 3, 2});
  CHECK_FALSE(other[2].adds);
  CHECK(numbers_of(j.documents("001-a", "unknown")) == std::vector<int>{2, 1, 3});
}

TEST_CASE("of one name for all attempts the last file stands, and a kept document is one") {
  const JournalFile file;
  JournalWriter w = file.writer();
  for (const char* sum : {"a", "b"}) {
    JobEvent old = ended_event("001-a", sum[0] == 'a' ? 1 : 2, sum);
    old.file.clear();
    w.job(old);
  }
  w.job(ended_event("002-b", 2));
  JobEvent none = ended_event("002-b", 3, "");
  w.job(none);
  JobEvent kept = ended_event("002-b", 1);
  w.kept(kept);
  const Journal j = file.read();
  REQUIRE(j.documents("001-a").size() == 1);
  CHECK(j.documents("001-a")[0].sha256 == "b");
  CHECK(j.documents("001-a")[0].file == "records/001-a.json");
  CHECK(numbers_of(j.documents("002-b")) == std::vector<int>{1, 2});
}

TEST_CASE("numbers of the journal are whole, counts are not negative") {
  struct Spoilt {
    std::string good, bad;
  };
  const Spoilt spoilt[] = {{"\"attempt\":1", "\"attempt\":1.5"},
                           {"\"attempt\":1", "\"attempt\":true"},
                           {"\"attempt\":1", "\"attempt\":4294967297"},
                           {"\"failed_checks\":2", "\"failed_checks\":-2"}};
  for (const Spoilt& s : spoilt) {
    const JournalFile file;
    JobEvent end = ended_event("001-a", 1);
    end.bad.failed_checks = 2;
    file.writer().job(end);
    std::string text = read_file(file.path());
    const size_t at = text.find(s.good);
    REQUIRE(at != std::string::npos);
    write_file_atomically(file.path(), text.replace(at, s.good.size(), s.bad));
    CHECK_MESSAGE(file.read().last("001-a") == nullptr, s.bad);
  }
}
