#include "campaign/answer.h"

#include <doctest/doctest.h>
#include <sys/mount.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"

using namespace cb;
namespace fs = std::filesystem;

namespace {

// A folder, and logs elsewhere.
class AnswerFolder {
 public:
  AnswerFolder() {
    std::string name = (fs::temp_directory_path() / "cb-answer-XXXXXX").string();
    top = ::mkdtemp(name.data());
    fs::create_directories(top / "kept");
  }
  ~AnswerFolder() {
    if (mounted) ::umount((top / "kept").c_str());
    fs::remove_all(top);
  }
  // A file system of 64 KiB without room.
  bool fill() {
    mounted = ::mount("none", (top / "kept").c_str(), "tmpfs", 0, "size=64k") == 0;
    while (mounted) {
      try {
        append_line_durably(top / "kept/filler", std::string(4095, 'f'));
      } catch (const Error&) {
        return true;
      }
    }
    return false;
  }
  std::vector<Answer> answers(const std::string& script) {
    Task task;
    task.command.argv = {"sh", "-c", script};
    task.out = top / "out";
    task.err = top / "err";
    task.deadline_seconds = 30;
    return run_for_answers({task}, {}, top / "kept", "I am here");
  }

  fs::path top;
  bool mounted = false;
};

}  // namespace

TEST_CASE("an answer is the words and exit code 0") {
  AnswerFolder f;
  CHECK(f.answers("echo first; echo I am here")[0].is_done());
  CHECK(read_file(f.top / "out") == "first\nI am here\n");
  CHECK(fs::is_empty(f.top / "kept"));
  CHECK(!f.answers("echo I am here; exit 1")[0].is_done());
  CHECK(!f.answers("echo I am gone")[0].is_done());
}

TEST_CASE("words that a full disk loses are no silence of the host") {
  AnswerFolder f;
  if (!f.fill()) {
    MESSAGE("not permitted to mount a small file system: full disk not tested");
    return;
  }
  std::string said;
  try {
    f.answers("echo I am here");
  } catch (const Error& e) {
    said = e.what();
  }
  CHECK(said.starts_with("what hosts answer cannot be kept: cannot write "));
  CHECK(said.find("No space left on device; next: make room there") != std::string::npos);
}
