// The list of what drills have changed, and who a line blames.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "cli/drill/drills.h"
#include "cli/drill/measurement.h"
#include "cli/drill/open_changes.h"
#include "cli/drill/runner.h"
#include "cli/drill/undo.h"
#include "core/error.h"
#include "core/file.h"
#include "core/profile_drills.h"

using namespace cb;

namespace {

struct UndoFile {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("cb-undo-" + std::to_string(::getpid()));
  UndoFile() { std::filesystem::remove(path); }
  ~UndoFile() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("what is noted and not done is open, the last first") {
  const UndoFile file;
  const UndoList list(file.path);
  CHECK(list.open().empty());
  const Undo first{"a", "n1", "set-up", "eth0"}, second{"b", "n2", "continue", "4242", 99};
  list.note(first);
  list.note(second);
  const auto open = list.open();
  REQUIRE(open.size() == 2);
  CHECK(open[0].id == "b");
  CHECK(open[0].start == 99);
  CHECK(open[1].part == "eth0");
  list.done(second);
  CHECK(list.open().size() == 1);
  list.done(first);
  CHECK(list.open().empty());
}

TEST_CASE("a torn last line was never acted on; any other foreign line is refused") {
  const UndoFile file;
  const UndoList list(file.path);
  list.note({"a", "n1", "set-up", "eth0"});
  std::ofstream(file.path, std::ios::app) << "{\"id\":\"b\",\"ho";
  CHECK(list.open().size() == 1);
  std::ofstream(file.path, std::ios::app) << "\n{\"done\":\"a\"}\n";
  CHECK_THROWS_AS(list.open(), UsageError);
}

TEST_CASE("a line blames a host if it names that host and no other") {
  const std::vector<HostSlots> hosts{{"n1", 1}, {"n2", 1}, {"n11", 1}};
  CHECK(blames("not there : n1 rank 2: has been silent for 5 s", "n1", hosts));
  CHECK_FALSE(blames("not there : n11 rank 2", "n1", hosts));
  CHECK(blames("not there : n11 rank 2", "n11", hosts));
  CHECK_FALSE(blames("n1, n2 and n11 take part", "n1", hosts));
  CHECK(blames("lost n2.", "n2", hosts));
  CHECK_FALSE(blames("n2.example", "n2", hosts));
  CHECK_FALSE(blames("nothing", "n2", hosts));
}

TEST_CASE("every drill says what is expected, and by hand none changes anything itself") {
  for (const Drill& d : all_drills()) {
    CHECK_FALSE(d.expected.empty());
    CHECK(find_drill(d.id) == &d);
    CHECK(d.needs_part == !d.part_help.empty());
  }
  CHECK(find_drill("no-such") == nullptr);
}

TEST_CASE("a profile can ask for every drill, and for nothing else") {
  CHECK(known_drills() == drill_ids());
}

TEST_CASE("changes of a campaign's drills that are not undone are named with what undoes them") {
  const std::filesystem::path campaign =
      std::filesystem::temp_directory_path() / ("cb-drilled-" + std::to_string(::getpid()));
  const std::filesystem::path drill = campaign / "drills" / "drill-fill-disk@n1.1";
  CHECK(open_drill_changes(campaign).empty());
  std::filesystem::create_directories(drill);
  CHECK(open_drill_changes(campaign).empty());
  const UndoList list(undo_file(drill));
  const Undo change{.id = "1", .host = "n1", .action = "remove-file", .part = "/mnt/x"};
  list.note(change);
  CHECK(open_drill_changes(campaign) ==
        std::vector<std::string>{"n1: remove-file /mnt/x of a drill is not undone; next: "
                                 "clusterbench drill restore " +
                                 drill.string() + " --hosts …"});
  list.done(change);
  CHECK(open_drill_changes(campaign).empty());
  std::filesystem::remove_all(campaign);
}
