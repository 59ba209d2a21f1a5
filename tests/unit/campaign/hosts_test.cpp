#include "campaign/hosts.h"

#include <map>

#include <doctest/doctest.h>

using namespace cb;

namespace {

using Hosts = std::vector<HostSlots>;

std::optional<Hosts> slurm(std::map<std::string, std::string> variables) {
  return slurm_hosts([variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

}  // namespace

TEST_CASE("lists of hosts with slots") {
  CHECK(parse_hosts("a:2,b:4,c") == Hosts{{"a", 2}, {"b", 4}, {"c", 1}});
  CHECK(parse_hosts("n[01-03]:8") == Hosts{{"n01", 8}, {"n02", 8}, {"n03", 8}});
  CHECK(parse_hosts("10.0.0.1:2") == Hosts{{"10.0.0.1", 2}});
  CHECK(parse_hosts("a,b,a") == Hosts{{"a", 2}, {"b", 1}});
}

TEST_CASE("every mistake in a list is named") {
  for (const char* text : {"", "a,", "a:0", "a:x", "a:4097", "-a", "../a", "a b", "n[3-1]", "n[1",
                           "n]", "n[a-b]", "n[1-999999999]", "a;reboot"}) {
    CHECK_THROWS_AS_MESSAGE(parse_hosts(text), UsageError, text);
  }
  try {
    parse_hosts("a:x,-b,c:0");
    FAIL("accepted");
  } catch (const UsageError& e) {
    CHECK(e.problems().list.size() == 3);
  }
}

TEST_CASE("Slurm's node lists keep leading zeros") {
  Problems problems;
  const auto expand = [&](const char* text) { return expand_node_list(text, "x", problems); };
  CHECK(expand("node[008-011,7],login") ==
        std::vector<std::string>{"node008", "node009", "node010", "node011", "node7", "login"});
  CHECK(expand("r[1-2]n[1-2]") == std::vector<std::string>{"r1n1", "r1n2", "r2n1", "r2n2"});
  CHECK(expand("node[001-128]").size() == 128);
  CHECK(problems.empty());
}

TEST_CASE("hostfiles: Open MPI's, plain lists, node lists, comments") {
  CHECK(parse_hostfile("# all\na slots=8 max_slots=9\n\nb:2 # half\nn[1-2] slots=4\r\n", "f") ==
        Hosts{{"a", 8}, {"b", 2}, {"n1", 4}, {"n2", 4}});
  CHECK(parse_hostfile("a\na\nb\n", "f") == Hosts{{"a", 2}, {"b", 1}});
  CHECK_THROWS_WITH_AS(parse_hostfile("a\nb slots=x\nc slot=2\n", "f"), doctest::Contains("line 2"),
                       UsageError);
  CHECK_THROWS_WITH_AS(parse_hostfile("a\nb slots=x\nc slot=2\n", "f"), doctest::Contains("line 3"),
                       UsageError);
  CHECK_THROWS_WITH_AS(parse_hostfile("# none\n", "f"), doctest::Contains("names no host"),
                       UsageError);
}

TEST_CASE("the hosts of a Slurm allocation") {
  CHECK_FALSE(slurm({}));
  CHECK(slurm({{"SLURM_JOB_ID", "1"},
               {"SLURM_JOB_NODELIST", "n[1-4]"},
               {"SLURM_TASKS_PER_NODE", "2(x3),1"}}) ==
        Hosts{{"n1", 2}, {"n2", 2}, {"n3", 2}, {"n4", 1}});
  CHECK(slurm({{"SLURM_JOB_ID", "1"},
               {"SLURM_JOB_NODELIST", "n1"},
               {"SLURM_JOB_CPUS_PER_NODE", "64"}}) == Hosts{{"n1", 64}});
  CHECK_THROWS_AS(slurm({{"SLURM_JOB_ID", "1"},
                         {"SLURM_JOB_NODELIST", "n[1-4]"},
                         {"SLURM_TASKS_PER_NODE", "2(x3)"}}),
                  UsageError);
}
