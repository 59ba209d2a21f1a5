#include "core/file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/error.h"
#include "core/path_end.h"
#include "core/sha256.h"

using namespace cb;
namespace fs = std::filesystem;

namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (fs::temp_directory_path() / "clusterbench-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }
  const fs::path& path() const { return path_; }
  long entries() const { return std::distance(fs::directory_iterator(path_), {}); }

 private:
  fs::path path_;
};

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a file is written whole, replaced whole, and leaves nothing beside it") {
  const TemporaryDirectory dir;
  write_file_atomically(dir / "a", "first");
  CHECK(read_file(dir / "a") == "first");
  write_file_atomically(dir / "a", std::string(300000, 'x'));
  CHECK(read_file(dir / "a") == std::string(300000, 'x'));
  CHECK(dir.entries() == 1);
  CHECK(sha256_hex_of_file(dir / "a") == sha256_hex(std::string(300000, 'x')));
}

TEST_CASE("a file is filled through its descriptor, or stays as it was") {
  const TemporaryDirectory dir;
  const auto write_new = [](int fd) { CHECK(::write(fd, "new", 3) == 3); };
  write_file_atomically(dir / "a", "old");
  CHECK(
      message_of([&] {
        fill_file_atomically(dir / "a", [&](int fd) {
          write_new(fd);
          throw_not_written("b", ENOSPC);
        });
      }) ==
      "cannot write b: No space left on device; next: make room there, or name another directory");
  CHECK(read_file(dir / "a") == "old");
  CHECK(dir.entries() == 1);
  fill_file_atomically(dir / "a", write_new);
  CHECK(read_file(dir / "a") == "new");
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_AS(fill_file_atomically(dir / "pipe", write_new), Error);
  CHECK(fs::is_fifo(dir / "pipe"));
}

TEST_CASE("a file that cannot be written is named with the reason") {
  const TemporaryDirectory dir;
  const fs::path path = dir / "none" / "a";
  CHECK(message_of([&] { write_file_atomically(path, "x"); }) ==
        "cannot write " + path.string() + ": No such file or directory; next: look at this path");
  CHECK(why_not_writable(path) == "No such file or directory");
  fs::create_directory(dir / "d");
  CHECK(message_of([&] { write_file_atomically(dir / "d", "x"); }) ==
        "cannot write " + (dir / "d").string() + ": Is a directory; next: look at this path");
  CHECK(why_not_writable(dir / "d") == "is a directory");
  CHECK_FALSE(why_not_writable(dir / "new").has_value());
  CHECK(dir.entries() == 1);  // nothing but d
}

TEST_CASE("a partial file of somebody else is not touched") {
  const TemporaryDirectory dir;
  const fs::path partial = (dir / "a").string() + "." + std::to_string(::getpid()) + ".partial";
  std::ofstream(partial) << "theirs";
  CHECK_THROWS_AS(write_file_atomically(dir / "a", "x"), Error);
  CHECK(read_file(partial) == "theirs");
}

TEST_CASE("links are followed and devices are not replaced") {
  const TemporaryDirectory dir;
  write_file_atomically(dir / "real", "old");
  fs::create_symlink("real", dir / "link");
  write_file_atomically(dir / "link", "new");
  CHECK(fs::is_symlink(dir / "link"));
  CHECK(read_file(dir / "real") == "new");

  fs::create_symlink("/dev/null", dir / "null");
  write_file_atomically(dir / "null", "x");
  CHECK(fs::is_character_file("/dev/null"));
  fs::create_symlink("/dev/full", dir / "full");
  CHECK(message_of([&] { write_file_atomically(dir / "full", "x"); }) ==
        "cannot write " + (dir / "full").string() +
            ": No space left on device; next: make room there, or name another directory");
}

TEST_CASE("a chain of own links is followed through directories, and a circle is refused") {
  const TemporaryDirectory dir;
  fs::create_directory(dir / "d");
  fs::create_directory(dir / "d/e");
  fs::create_symlink("d", dir / "to-d");
  fs::create_symlink("../../to-d/real", dir / "d/e/first");
  fs::create_symlink((dir / "to-d/e/first").string(), dir / "second");
  write_file_atomically(dir / "second", "new");
  CHECK(read_file(dir / "d/real") == "new");
  CHECK(fs::is_symlink(dir / "second"));
  CHECK(fs::is_symlink(dir / "d/e/first"));

  fs::create_symlink("circle", dir / "circle");
  CHECK(why_not_writable(dir / "circle") == "Too many levels of symbolic links");
}

TEST_CASE("another user's link is not followed") {
  const TemporaryDirectory dir;
  if (::geteuid() != 0) {
    MESSAGE("not root: no link of another user");
    return;
  }
  constexpr uid_t kOther = 65534;
  write_file_atomically(dir / "victim", "old");
  fs::create_symlink("victim", dir / "link");
  REQUIRE(::lchown((dir / "link").c_str(), kOther, kOther) == 0);
  const std::string why =
      "link is a symbolic link of another user (uid 65534); next: name the file that is meant by "
      "its own path";
  CHECK(why_not_writable(dir / "link") == why);
  CHECK(message_of([&] { write_file_atomically(dir / "link", "new"); }) ==
        "cannot write " + (dir / "link").string() + ": " + why);
  CHECK(read_file(dir / "victim") == "old");
  CHECK(dir.entries() == 2);

  // In front of the end of a path: where everybody may write, but not in a closed directory.
  fs::create_directory(dir / "real");
  fs::create_directory(dir / "around");
  fs::create_symlink("../real", dir / "around/in");
  REQUIRE(::lchown((dir / "around/in").c_str(), kOther, kOther) == 0);
  write_file_atomically(dir / "around/in/a", "x");
  CHECK(read_file(dir / "real/a") == "x");
  REQUIRE(::chmod((dir / "around").c_str(), 01777) == 0);
  CHECK_THROWS_AS(write_file_atomically(dir / "around/in/a", "y"), Error);
  CHECK(read_file(dir / "real/a") == "x");
}

TEST_CASE("a link to a journal is not followed") {
  const TemporaryDirectory dir;
  write_file_atomically(dir / "victim", "old");
  fs::create_symlink("victim", dir / "journal");
  CHECK_THROWS_AS(append_line_durably(dir / "journal", "line"), Error);
  CHECK(read_file(dir / "victim") == "old");
}

TEST_CASE("a block device is never written as a file") {
  const TemporaryDirectory dir;
  if (::mknod((dir / "disk").c_str(), S_IFBLK | 0600, makedev(7, 255)) != 0) {
    MESSAGE("not permitted to make a block device");
    return;
  }
  CHECK(why_not_writable(dir / "disk") == "is a block device, which holds no file of ours");
  CHECK_THROWS_AS(write_file_atomically(dir / "disk", "x"), Error);
}

TEST_CASE("a full disk keeps the old file") {
  const TemporaryDirectory dir;
  if (::mount("none", dir.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    MESSAGE("not permitted to mount a small file system: full disk not tested");
    return;
  }
  const std::string old(8192, 'o'), large(1 << 20, 'n');
  write_file_atomically(dir / "a", old);
  const std::string failed = message_of([&] { write_file_atomically(dir / "a", large); });
  const std::string kept = read_file(dir / "a");
  const long entries = dir.entries();
  const std::string torn = message_of([&] { append_line_durably(dir / "a", large); });
  const std::string after = read_file(dir / "a");
  append_line_durably(dir / "a", "line");
  const std::string appended = read_file(dir / "a");
  REQUIRE(::umount(dir.path().c_str()) == 0);
  CHECK(failed ==
        "cannot write " + (dir / "a").string() +
            ": No space left on device; next: make room there, or name another directory");
  CHECK(kept == old);
  CHECK(entries == 1);
  CHECK(torn == "cannot write " + (dir / "a").string() +
                    ": No space left on device; next: make room there, or name another directory");
  CHECK(after == old);  // no half line
  CHECK(appended == old + "line\n");
}

TEST_CASE("reading refuses what is no file of ours") {
  const TemporaryDirectory dir;
  CHECK_THROWS_AS(read_file(dir / "none"), UsageError);
  CHECK_THROWS_AS(read_file(dir.path()), UsageError);
  CHECK_THROWS_AS(sha256_hex_of_file(dir.path()), UsageError);
  CHECK_THROWS_AS(sha256_hex_of_file(dir / "none"), UsageError);
  write_file_atomically(dir / "a", "12345");
  CHECK(read_file(dir / "a", 5) == "12345");
  CHECK_THROWS_AS(read_file(dir / "a", 4), UsageError);
}

TEST_CASE("lines are appended") {
  const TemporaryDirectory dir;
  append_line_durably(dir / "j", "one");
  append_line_durably(dir / "j", "two");
  CHECK(read_file(dir / "j") == "one\ntwo\n");
  CHECK_THROWS_AS(append_line_durably(dir.path(), "x"), Error);
}

TEST_CASE("where a path ends: a name in an open directory") {
  const TemporaryDirectory dir;
  fs::create_directory(dir / "d");
  CHECK(locate(dir / "d").name == "d");
  CHECK(locate(dir / "d/").name == ".");
  CHECK(locate(dir / "d/new").name == "new");
  CHECK(locate("/").name == ".");
  CHECK(locate("").name == ".");
  CHECK_THROWS_WITH_AS(locate(dir / "none/new"), "No such file or directory", Error);
  CHECK_FALSE(locate(dir / "d").kernels_link);
  CHECK(locate("/proc/self/fd/1").kernels_link);
}

TEST_CASE("forty links are followed, as by the kernel, and the next is refused") {
  const TemporaryDirectory dir;
  fs::create_symlink("real", dir / "0");
  for (int i = 1; i <= 40; ++i)
    fs::create_symlink(std::to_string(i - 1), dir / std::to_string(i).c_str());
  CHECK(locate(dir / "39").name == "real");
  CHECK_THROWS_WITH_AS(locate(dir / "40"), "Too many levels of symbolic links", Error);
}

namespace {

// Another user for a while, as root can be where it has not been taken away.
class AsUser {
 public:
  explicit AsUser(uid_t uid) : is_other_(::seteuid(uid) == 0) {}
  ~AsUser() {
    if (is_other_ && ::seteuid(0) != 0) std::abort();
  }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;
  bool reaches(const fs::path& directory) const {
    return is_other_ && ::faccessat(AT_FDCWD, directory.c_str(), X_OK, AT_EACCESS) == 0;
  }

 private:
  bool is_other_;
};

}  // namespace

TEST_CASE("a link of root leads on for everybody, a link of a third user does not") {
  const TemporaryDirectory dir;
  constexpr uid_t kMe = 65534, kThird = 1;
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
  fs::create_symlink("real", dir / "of-root");
  fs::create_symlink("real", dir / "of-third");
  fs::create_symlink("real", dir / "mine");
  if (::geteuid() != 0 || ::lchown((dir / "of-third").c_str(), kThird, kThird) != 0 ||
      ::lchown((dir / "mine").c_str(), kMe, kMe) != 0) {
    MESSAGE("not root: no link of another user");
    return;
  }
  const AsUser me(kMe);
  if (!me.reaches(dir.path())) {
    MESSAGE("cannot be another user, or that one cannot enter the directory for temporary files");
    return;
  }
  CHECK(locate(dir / "of-root").name == "real");
  CHECK(locate(dir / "mine").name == "real");
  CHECK_THROWS_WITH_AS(locate(dir / "of-third"), doctest::Contains("(uid 1)"), Error);
}

TEST_CASE("in a directory that everybody writes to only its owner's links lead on") {
  const TemporaryDirectory dir;
  constexpr uid_t kOther = 65534;
  fs::create_directory(dir / "real");
  fs::create_directory(dir / "around");
  fs::create_symlink("../real", dir / "around/in");
  if (::geteuid() != 0) {
    MESSAGE("not root: no link of another user");
    return;
  }
  REQUIRE(::lchown((dir / "around/in").c_str(), kOther, kOther) == 0);
  REQUIRE(::chmod((dir / "around").c_str(), 01777) == 0);
  CHECK_THROWS_AS(locate(dir / "around/in/a"), Error);
  REQUIRE(::chown((dir / "around").c_str(), kOther, kOther) == 0);
  CHECK(locate(dir / "around/in/a").name == "a");
  CHECK_THROWS_AS(locate(dir / "around/in"), Error);  // at the end it never does
}
