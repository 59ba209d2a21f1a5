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

TEST_CASE("the variables that mpirun gives its ranks, in both ways of telling it") {
  const Words hydra{"mpirun", "-hosts", "a", "-genv", "X", "1 2", "cb", "tcp"};
  CHECK(sets_variable(hydra, "X", "1 2"));
  CHECK_FALSE(sets_variable(hydra, "X", "1"));
  CHECK_FALSE(sets_variable(hydra, "a", "-genv"));
  CHECK(launched_hosts(hydra, Launcher::mpirun) == Words{"a"});
  CHECK(sets_variable({"mpirun", "-x", "X=1", "cb", "tcp"}, "X", "1"));
  CHECK_FALSE(sets_variable({"mpirun", "-x", "X=1", "cb", "tcp"}, "X", "2"));
}

TEST_CASE("the fingerprint's command names neither the program's place nor the directory's") {
  CHECK(placeless({"mpirun", "/opt/clusterbench", "io", "--dir", "/d/scratch", "--json",
                   "/d/records/001-a.json.3.partial"},
                  "io", "records/001-a.json") == Words{"mpirun", "clusterbench", "io", "--dir",
                                                       "DIR/scratch", "--json",
                                                       "records/001-a.json"});
}

TEST_CASE("options at the end of the command, and what is no measuring command") {
  const auto options = [](const Words& argv) { return measuring_options(argv, "tcp"); };
  CHECK(*options({"cb", "tcp"}) == std::map<std::string, std::string>{});
  CHECK(*options({"cb", "tcp", "--verify"}) ==
        std::map<std::string, std::string>{{"verify", "true"}});
  CHECK(*options({"cb", "tcp", "--no-direct"}) ==
        std::map<std::string, std::string>{{"direct", "false"}});
  CHECK(*options({"cb", "tcp", "--a=", "--b", "c"}) ==
        std::map<std::string, std::string>{{"a", ""}, {"b", "c"}});
  CHECK_FALSE(options({"tcp"}));
  CHECK_FALSE(options({"cb", "tcp", "word"}));
  CHECK_FALSE(options({}));
  CHECK(*options({"mpirun", "--mca", "tcp", "cb", "tcp", "--size", "1K"}) ==
        std::map<std::string, std::string>{{"size", "1K"}});
}

TEST_CASE("the hosts that a launcher was given") {
  CHECK(launched_hosts({"mpirun", "--host"}, Launcher::mpirun).empty());
  CHECK(launched_hosts({"mpirun", "--host", "a:2"}, Launcher::mpirun) == Words{"a"});
  CHECK(launched_hosts({"mpirun", "--host", "a", "--host", "b"}, Launcher::mpirun) == Words{"a"});
  CHECK(launched_hosts({"srun", "--host", "a"}, Launcher::srun).empty());
  CHECK(launched_hosts({"mpirun", "--nodelist=a"}, Launcher::mpirun).empty());
}

TEST_CASE("a command that is none of this tool's, or writes no document, keeps its words") {
  CHECK(placeless({"x", "y"}, "tcp", "r") == Words{"x", "y"});
  CHECK(placeless({"/opt/cb", "tcp"}, "tcp", "r") == Words{"clusterbench", "tcp"});
  CHECK(placeless({"/opt/cb", "tcp", "--json", "/d/records/a.json"}, "tcp", "r") ==
        Words{"clusterbench", "tcp", "--json", "r"});
}
