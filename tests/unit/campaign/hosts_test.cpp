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

TEST_CASE("a list of many hosts is read at once, and of too many not at all") {
  const Hosts hosts = parse_hosts("e[00001-88021]:2,e00007");
  REQUIRE(hosts.size() == 88021);
  CHECK(hosts[6] == HostSlots{"e00007", 3});
  CHECK(parse_hosts("a[1-60000],b[1-40000]").size() == 100000);
  for (const char* text : {"a[1-60000],b[1-40001]", "a[1-100000],b", "a[1-100001]"})
    CHECK_THROWS_AS_MESSAGE(parse_hosts(text), UsageError, text);
  CHECK_THROWS_WITH_AS(parse_hostfile("a[1-60000]\nb[1-60000]\n", "f"),
                       doctest::Contains("line 2  names more than 100000 hosts"), UsageError);
  CHECK_THROWS_AS(slurm({{"SLURM_JOB_ID", "1"},
                         {"SLURM_JOB_NODELIST", "a[1-60000],b[1-60000]"},
                         {"SLURM_TASKS_PER_NODE", "1(x60000),1(x60000)"}}),
                  UsageError);
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

TEST_CASE("bounds of names, slots and ranges, from both sides") {
  CHECK(parse_hosts("a:1,b:4096") == Hosts{{"a", 1}, {"b", 4096}});
  CHECK(parse_hosts(std::string(253, 'a')).size() == 1);
  CHECK_THROWS_AS(parse_hosts(std::string(254, 'a')), UsageError);
  CHECK_THROWS_AS(parse_hosts(".a"), UsageError);
  CHECK(parse_hosts("a.-_") == Hosts{{"a.-_", 1}});
  CHECK(parse_hosts("n[5-5]") == Hosts{{"n5", 1}});
  CHECK(parse_hosts("n[09-11]:2") == Hosts{{"n09", 2}, {"n10", 2}, {"n11", 2}});
  Problems problems;
  const auto size = [&](const char* text) {
    problems = {};
    const size_t n = expand_node_list(text, "x", problems).size();
    return problems.empty() ? n : 0;
  };
  CHECK(size("n[0-99999]") == 100000);
  CHECK(size("n[0-100000]") == 0);
  CHECK(size("a[1-250]b[1-400]") == 100000);
  CHECK(size("a[1-250]b[1-401]") == 0);
  CHECK(size("n[999999998-999999999]") == 2);
  CHECK(size("n[1000000000]") == 0);
  CHECK(size("n[]") == 0);
  CHECK(size("n[1-2]x]") == 0);
}

TEST_CASE("a hostfile's words and what is none of them") {
  CHECK(parse_hostfile("a\tslots=2  max-slots=3\r\n[1-2]b\n", "f") ==
        Hosts{{"a", 2}, {"1b", 1}, {"2b", 1}});
  CHECK(parse_hosts("a:4000,b,a:96") == Hosts{{"a", 4096}, {"b", 1}});
  CHECK_THROWS_WITH_AS(parse_hosts("a:4000,a:97"),
                       doctest::Contains("a has more than 4096 slots in all"), UsageError);
  CHECK(parse_hostfile("a,n[1-2] slots=3", "f") == Hosts{{"a", 1}, {"n1", 3}, {"n2", 3}});
  CHECK_THROWS_WITH_AS(parse_hostfile("a max=2", "f"), doctest::Contains("'max=2' is not known"),
                       UsageError);
}

TEST_CASE("Slurm's counts: repeated, none, more and fewer than hosts") {
  const auto with = [](const char* counts) {
    return slurm({{"SLURM_JOB_ID", "1"},
                  {"SLURM_JOB_NODELIST", "n[1-2]"},
                  {"SLURM_TASKS_PER_NODE", counts},
                  {"SLURM_JOB_CPUS_PER_NODE", "64(x2)"}});
  };
  CHECK(with("4(x2)") == Hosts{{"n1", 4}, {"n2", 4}});
  CHECK(with("4,8") == Hosts{{"n1", 4}, {"n2", 8}});
  for (const char* counts :
       {"4", "4(x3)", "4(x0),4,4", "4(x),4,4", "4(x),4", "4(x0),4", "0,1", "4(x100001)", ""})
    CHECK_THROWS_AS_MESSAGE(with(counts), UsageError, counts);
  CHECK_FALSE(slurm({{"SLURM_JOB_NODELIST", "n1"}}));
  CHECK_FALSE(slurm({{"SLURM_JOB_ID", "1"}}));
  CHECK(slurm({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_NODELIST", "n[1-2]"}}) ==
        Hosts{{"n1", 1}, {"n2", 1}});
}
