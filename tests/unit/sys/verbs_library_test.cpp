// libibverbs is opened when it is first called; each case below is a process of its own, which
// opens it anew.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "core/error.h"
#include "sys/net/verbs.h"

using namespace cb;

namespace {

std::string stand_in(const std::string& name) {
  const char* build = std::getenv("CLUSTERBENCH_BUILD_DIR");
  REQUIRE(build != nullptr);
  return std::string(build) + "/fake/" + name + ".so";
}

std::string said_by_child(const std::string& library, const std::function<void()>& action) {
  ::setenv("CLUSTERBENCH_VERBS_LIBRARY", library.c_str(), 1);
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "fine";
}

// What `action` says in a process whose libibverbs is `library`; "fine" if nothing.
std::string with_library(const std::string& library, const std::function<void()>& action) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = said_by_child(library, action);
    ::_exit(::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  char text[1024];
  const ssize_t got = ::read(ends[0], text, sizeof text);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return {text, static_cast<size_t>(got < 0 ? 0 : got)};
}

void open_fake() { verbs::open_device("fake0"); }

enum class How { plain, relaxed, dma_buf };

void register_fake(How how) {
  const verbs::ContextPtr device = verbs::open_device("fake0");
  const verbs::PdPtr domain(ibv_alloc_pd(device.get()));
  int data = 0;
  if (how == How::dma_buf)
    verbs::register_dma_buf(domain.get(), 0, &data, sizeof data, false, "fake0");
  else
    verbs::register_memory(domain.get(), &data, sizeof data, how == How::relaxed, "fake0");
}

}  // namespace

TEST_CASE("a host without libibverbs says that, and not that it has no device") {
  const std::string none = with_library("/nowhere/libibverbs.so.1", open_fake);
  CHECK(none.starts_with("libibverbs cannot be opened: /nowhere/libibverbs.so.1: "));
  CHECK(none.find("next: install it on this host") != std::string::npos);
  CHECK(none.find("CLUSTERBENCH_VERBS_LIBRARY") != std::string::npos);
  const std::string other =
      with_library(stand_in("fake_verbs"), [] { verbs::open_device("mlx5_7"); });
  CHECK(other.starts_with("mlx5_7: libibverbs does not know this device"));
}

TEST_CASE("each call says why there is no libibverbs, not the first alone") {
  const auto twice = [] {
    CHECK_THROWS_AS(open_fake(), Error);
    open_fake();
  };
  CHECK(with_library("/nowhere/libibverbs.so.1", twice).starts_with("libibverbs cannot be opened"));
}

TEST_CASE("a library that is another one is refused by what it lacks") {
  CHECK(with_library("libm.so.6", open_fake).find("has no ibv_get_device_list") !=
        std::string::npos);
}

TEST_CASE("calls reach the library that was opened") {
  CHECK(with_library(stand_in("fake_verbs"), open_fake) == "fine");
  for (const How how : {How::plain, How::relaxed, How::dma_buf})
    CHECK(with_library(stand_in("fake_verbs"), [how] { register_fake(how); }) == "fine");
}

TEST_CASE("what an old libibverbs lacks is named when it is needed") {
  const std::string old = stand_in("fake_verbs_old");
  CHECK(with_library(old, open_fake) == "fine");
  CHECK(with_library(old, [] { register_fake(How::plain); }) == "fine");
  CHECK(with_library(old, [] {
          register_fake(How::relaxed);
        }).starts_with(old + " has no ibv_reg_mr_iova2: it is too old; next: "));
  CHECK(with_library(old, [] {
          register_fake(How::dma_buf);
        }).starts_with(old + " has no ibv_reg_dmabuf_mr: it is too old; next: "));
}

TEST_CASE("why libibverbs does not open is said in Chinese too") {
  const std::string said = with_library("/dev/null", [] {
    try {
      open_fake();
    } catch (const Error& e) {
      throw Error(e.said().in(Lang::zh));
    }
  });
  CHECK_MESSAGE(said.find("/dev/null：不是普通文件（已设置 CLUSTERBENCH_VERBS_LIBRARY）") !=
                    std::string::npos,
                said);
}
