#include "campaign/way_back.h"

#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/document_lines.h"
#include "core/file.h"

using namespace cb;
namespace fs = std::filesystem;

namespace {

// A campaign's directory with the output of one job in it.
struct WayBackFolder {
  WayBackFolder() {
    std::string pattern = fs::temp_directory_path() / "cb-way-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    paths.root = pattern;
    fs::create_directories(paths.records());
    fs::create_directories(paths.logs());
    way = way_back({.launcher = Launcher::mpirun}, paths.records() / "001-x@n1.json.2.partial",
                   paths.logs() / "001-x@n1.out");
  }
  ~WayBackFolder() { fs::remove_all(paths.root); }
  WayBackFolder(const WayBackFolder&) = delete;
  WayBackFolder& operator=(const WayBackFolder&) = delete;

  void output(const std::string& text) const {
    std::ofstream(way.out(), std::ios::binary | std::ios::app) << text;
  }
  std::string lines(uint64_t sequence, const std::string& document) const {
    return "\n" + document_lines(way.token, sequence, document);
  }
  size_t files() const {
    const fs::directory_iterator all(paths.records());
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  CampaignPaths paths;
  WayBack way;
};

}  // namespace

TEST_CASE("without a launcher a job writes its file and its log, and nothing comes back") {
  const WayBack way = way_back({.launcher = Launcher::none}, "d/records/x.partial", "d/logs/x.out");
  CHECK(way.token.empty());
  CHECK(way.out() == "d/logs/x.out");
  bring_back(way);
}

TEST_CASE("the document becomes a file, other output the log") {
  const WayBackFolder f;
  f.output("fake has started\n" + f.lines(1, "{old}") + "a table\n\nof two lines\n" +
           f.lines(2, "{new}") + f.lines(2, "{new}"));
  bring_back(f.way);
  CHECK(read_file(f.way.document) == "{new}");
  CHECK(read_file(f.way.log) == "fake has started\na table\n\nof two lines\n");
  CHECK(f.files() == 1);
  CHECK(!fs::exists(f.paths.logs() / "001-x@n1.err"));
}

TEST_CASE("other output may hold anything, and lines of any length") {
  const WayBackFolder f;
  const std::string odd = std::string("a\0b\n", 4) + std::string(200'000, 'x') + "\n";
  f.output(odd + f.lines(1, "{document}") + "no newline at the end");
  bring_back(f.way);
  CHECK(read_file(f.way.document) == "{document}");
  CHECK(read_file(f.way.log) == odd + "no newline at the end");
}

TEST_CASE("a host that sees the directory writes the file itself") {
  const WayBackFolder f;
  f.output("text\n");
  write_file_atomically(f.way.document, "{file}");
  bring_back(f.way);
  CHECK(read_file(f.way.document) == "{file}");
  CHECK(read_file(f.way.log) == "text\n");
  CHECK(f.files() == 1);
}

TEST_CASE("a torn document is a lost one: what came before it stands, and the log says so") {
  const WayBackFolder f;
  const std::string torn = f.lines(2, std::string(2000, 'x'));
  SUBCASE("nothing came before it") {
    f.output(torn.substr(0, torn.size() / 2));
    bring_back(f.way);
    CHECK(!fs::exists(f.way.document));
    CHECK(f.files() == 0);
  }
  SUBCASE("an unfinished one came before it") {
    f.output(f.lines(1, "{unfinished}") + torn.substr(0, torn.size() / 2));
    bring_back(f.way);
    CHECK(read_file(f.way.document) == "{unfinished}");
  }
  CHECK(read_file(f.paths.logs() / "001-x@n1.err").find("came back damaged") != std::string::npos);
}

TEST_CASE("what a killed run left is brought back by its name alone") {
  const WayBackFolder f;
  f.output("text\n" + f.lines(1, "{left}"));
  const fs::path others[] = {f.paths.records() / "001-x@n1.json.3.partial",
                             f.paths.records() / "002-y.json.1.partial.7788.partial",
                             f.paths.records() / "002-y.json"};
  for (const fs::path& other : others) write_file_atomically(other, "other");
  bring_back_leftovers(f.paths);
  CHECK(read_file(f.way.document) == "{left}");
  CHECK(read_file(f.way.log) == "text\n");
  for (const fs::path& other : others) CHECK(read_file(other) == "other");
  CHECK(f.files() == 4);
  bring_back_leftovers(f.paths);
  CHECK(f.files() == 4);
}
