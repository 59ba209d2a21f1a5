#include "bench/collectives/nccl/configuration.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace cb;

namespace {

void write_conf(const std::filesystem::path& file, const char* text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("what NCCL's configuration files set, the user's own first") {
  char name[] = "/tmp/cb_nccl_conf_XXXXXX";
  const std::filesystem::path root = ::mkdtemp(name);
  const char* home = std::getenv("HOME");
  const std::string before = home == nullptr ? "/" : home;
  ::unsetenv("NCCL_CONF_FILE");
  ::setenv("HOME", "/home/anna", 1);
  CHECK(nccl::configuration_text(FsRoot(root)).empty());
  write_conf(root / "etc/nccl.conf", "# site\nNCCL_IB_HCA=mlx5\nnonsense\nNCCL_ALGO=Ring\n");
  CHECK(nccl::configuration_text(FsRoot(root)) ==
        "/etc/nccl.conf: NCCL_IB_HCA=mlx5 NCCL_ALGO=Ring");
  write_conf(root / "home/anna/.nccl.conf", "NCCL_ALGO=Tree\n");
  CHECK(nccl::configuration_text(FsRoot(root)) ==
        "/home/anna/.nccl.conf: NCCL_ALGO=Tree; /etc/nccl.conf: NCCL_IB_HCA=mlx5 NCCL_ALGO=Ring");
  // What is not NCCL's, and what looks like a secret, is nobody's business.
  write_conf(root / "etc/nccl.conf",
             "AWS_SECRET_ACCESS_KEY=topsecret123\nmy api_token = hunter2\nNCCL_X_TOKEN=hunter3\n"
             "NCCL_ALGO=Ring\n");
  CHECK(nccl::configuration_text(FsRoot(root)) ==
        "/home/anna/.nccl.conf: NCCL_ALGO=Tree; /etc/nccl.conf: NCCL_X_TOKEN=[redacted] "
        "NCCL_ALGO=Ring");
  CHECK(nccl::configuration_text(FsRoot(root), true) ==
        "/home/anna/.nccl.conf: NCCL_ALGO=[redacted]; /etc/nccl.conf: NCCL_X_TOKEN=[redacted] "
        "NCCL_ALGO=[redacted]");
  write_conf(root / "etc/nccl.conf", "NCCL_IB_HCA=mlx5\nNCCL_ALGO=Ring\n");
  // NCCL_CONF_FILE takes the place of the file at home.
  ::setenv("NCCL_CONF_FILE", "/opt/nccl.conf", 1);
  write_conf(root / "opt/nccl.conf", "# nothing\n");
  CHECK(nccl::configuration_text(FsRoot(root)) ==
        "/opt/nccl.conf: sets nothing; /etc/nccl.conf: NCCL_IB_HCA=mlx5 NCCL_ALGO=Ring");
  // What does not end, or is too large, is no file of settings.
  std::filesystem::remove(root / "opt/nccl.conf");
  REQUIRE(::mkfifo((root / "opt/nccl.conf").c_str(), 0600) == 0);
  const std::string site = "/etc/nccl.conf: NCCL_IB_HCA=mlx5 NCCL_ALGO=Ring";
  CHECK(nccl::configuration_text(FsRoot(root)) == site);
  std::filesystem::remove(root / "opt/nccl.conf");
  write_conf(root / "opt/nccl.conf", ("NCCL_ALGO=" + std::string(70000, 'x')).c_str());
  CHECK(nccl::configuration_text(FsRoot(root)) == site);
  ::unsetenv("NCCL_CONF_FILE");
  ::setenv("HOME", before.c_str(), 1);
  std::filesystem::remove_all(root);
}
