#include "campaign/command_line.h"

#include <doctest/doctest.h>

using namespace cb;

using Words = std::vector<std::string>;

TEST_CASE("the options of the measuring command are found behind the launcher's") {
  const Words argv{"mpirun",
                   "--host",
                   "a:1,b:1",
                   "--mca",
                   "btl",
                   "tcp",
                   "--bind-to",
                   "none",
                   "/opt/clusterbench",
                   "tcp",
                   "--size",
                   "4K,1M",
                   "--offset=-1",
                   "--no-direct",
                   "--verify",
                   "--json",
                   "/d/records/x.json.1.partial"};
  const auto options = measuring_options(argv, "tcp");
  REQUIRE(options);
  CHECK(*options == std::map<std::string, std::string>{{"size", "4K,1M"},
                                                       {"offset", "-1"},
                                                       {"direct", "false"},
                                                       {"verify", "true"},
                                                       {"json", "/d/records/x.json.1.partial"}});
  CHECK_FALSE(measuring_options(argv, "gemm"));
  CHECK(launched_hosts(argv, Launcher::mpirun) == Words{"a", "b"});
  CHECK(launched_hosts({"srun", "--nodelist=a,b", "x", "tcp"}, Launcher::srun) == Words{"a", "b"});
  CHECK(launched_hosts({"x", "tcp"}, Launcher::none).empty());
}

TEST_CASE("the fingerprint's command names neither the program's place nor the directory's") {
  CHECK(placeless({"mpirun", "/opt/clusterbench", "io", "--dir", "/d/scratch", "--json",
                   "/d/records/001-a.json.3.partial"},
                  "io", "records/001-a.json") == Words{"mpirun", "clusterbench", "io", "--dir",
                                                       "DIR/scratch", "--json",
                                                       "records/001-a.json"});
}
