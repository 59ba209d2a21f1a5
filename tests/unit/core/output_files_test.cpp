#include "core/output_files.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

using namespace cb;
namespace fs = std::filesystem;

namespace {

class OutputFolder {
 public:
  OutputFolder() {
    std::string name = (fs::temp_directory_path() / "clusterbench-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = fs::canonical(name);
  }
  ~OutputFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string make(const std::string& name) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << "x\n";
    return *this / name;
  }

 private:
  fs::path path_;
};

// The options that are refused.
std::string refused_of(const std::vector<NamedFile>& outputs,
                       const std::vector<NamedFile>& inputs = {}) {
  Problems problems;
  refuse_equal_files(outputs, inputs, problems);
  std::string out;
  for (const Problem& p : problems.list) out += p.where + " ";
  return out;
}

}  // namespace

TEST_CASE("an output is no input and no other output, through whatever link") {
  const OutputFolder folder;
  const std::string input = folder.make("in.txt"), fresh = folder / "new.svg";
  fs::create_symlink(input, folder / "soft");
  fs::create_hard_link(input, folder / "hard");
  for (const std::string& name : {input, folder / "soft", folder / "hard", folder / "./in.txt"})
    CHECK_MESSAGE(refused_of({{"--picture", name}}, {{"--from", input}}) == "--picture ", name);
  CHECK(refused_of({{"--picture", fresh}}, {{"--from", input}}).empty());
  CHECK(refused_of({{"--picture", fresh}, {"--dot", folder / "x/../new.svg"}}) == "--dot ");
  CHECK(refused_of({{"--picture", fresh}, {"--dot", folder / "new.dot"}}).empty());
  CHECK(refused_of({{"--picture", "/dev/null"}, {"--dot", "/dev/null"}}).empty());
  CHECK(refused_of({{"--json", "-"}, {"--dot", "-"}}).empty());
}

TEST_CASE("a file in the directory of a campaign, and one beside it") {
  const OutputFolder folder;
  folder.make("c/campaign.json");
  folder.make("c/records/1.json");
  fs::create_symlink(folder / "c/records", folder / "link");
  for (const char* name : {"c/journal.jsonl", "c/records/1.json", "link/1.json", "c/a/b/c.svg"})
    CHECK_MESSAGE(campaign_around(folder / name) == fs::path(folder / "c"), name);
  CHECK(!campaign_around(folder / "c.svg"));
  CHECK(!campaign_around(folder / "d/x.svg"));
}
