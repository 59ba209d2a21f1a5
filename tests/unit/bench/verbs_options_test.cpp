// What --memory gpu says where there is no GPU, and --rails where it names hosts beside the job.
#include <doctest/doctest.h>

#include "bench/cases.h"
#include "bench/network/verbs/memory.h"
#include "bench/network/verbs/rails.h"
#include "bench/network/verbs/setup.h"
#include "tests/unit/bench/case_runner.h"
#include "tests/unit/sys/tree.h"

using namespace cb;

namespace {

// Two hosts, n0 and n1, with the same ports each.
Run nics_of_two(std::vector<ParamValue> rails) {
  const test::Tree tree("rdma_ib");
  Params params;
  params.set_list("rails", std::move(rails));
  return run_on(2, nics_case(), params, tree.fs());
}

std::string note_of_rails(const Run& run) {
  std::string out;
  for (const Said& note : run.records.at(0).notes)
    if (note.text().find("--rails") != std::string::npos) out += note.text();
  return out;
}

}  // namespace

TEST_CASE("GPUs are there, or it is said why not and what to do") {
  const verbs::Gpus gpus = verbs::visible_gpus();
  CHECK(gpus.absent.empty() == !gpus.pci_addresses.empty());
  if (!gpus.absent.empty()) CHECK(gpus.absent.text().find("--memory host") != std::string::npos);
}

TEST_CASE("ports named for a host that a campaign has left out are nothing to the others") {
  std::vector<RdmaPort> ports(2);
  ports[0].device = "mlx5_0";
  ports[1].device = "mlx5_1";
  const std::vector<std::string> hosts = {"n1", "n2"};
  const auto chosen = [&](const std::vector<std::string>& asked, const char* host) {
    Problems problems;
    std::string out;
    for (const RdmaPort& p : verbs::choose_rails(asked, ports, host, hosts, problems))
      out += p.device + " ";
    return problems.empty() ? out : problems.text();
  };
  const std::vector<std::string> three = {"n1:mlx5_0", "n2:mlx5_1", "n3:mlx5_0"};
  CHECK(chosen(three, "n1") == "mlx5_0 ");
  CHECK(chosen(three, "n2") == "mlx5_1 ");
  // A host whose name is wrong has none.
  CHECK(chosen({"n1:mlx5_0", "n22:mlx5_1"}, "n2").find("n22:mlx5_1") != std::string::npos);
  CHECK(chosen({"mlx5_0", "n22:mlx5_1"}, "n2").find("n22:mlx5_1") != std::string::npos);
  CHECK(chosen({"mlx5_1:1"}, "n1").find("mlx5_1:1") != std::string::npos);  // one port: no number
  // A port's number that is none, and no host.
  CHECK(chosen({"n1:mlx5_0", "mlx5_1:l"}, "n1").find("mlx5_1:l is not known") != std::string::npos);
}

TEST_CASE("hosts of --rails that are not of the job are told in the record") {
  const std::vector<std::string> hosts = {"n1", "n2"}, three = {"n1:x", "n3:x", "n2:x", "n3:y"};
  CHECK(verbs::hosts_beside(three, hosts) == "n3");
  CHECK(verbs::hosts_beside({"auto", "mlx5_0", "mlx5_1:1", "n1:mlx5_0:1"}, hosts).empty());
  CHECK(verbs::hosts_beside({"a:x", "b:x", "c:x", "d:x", "e:x", "f:x", "g:x", "h:x", "i:x"},
                            hosts) == "a, b, c, d, e, f, g, h and 1 more");
  const verbs::Setup setup{.notes = verbs::notes_of_rails(three, hosts)};
  Record record;
  setup.describe(record);
  CHECK(record.notes == std::vector<Said>{said("verbs.hosts_beside", "n3")});
}

TEST_CASE("nics measures without the host that a campaign has left out, and names it") {
  const Run two = nics_of_two({"n0:mlx5_0", "n1:mlx5_0", "n2:mlx5_0", "n3:mlx5_2", "n2:mlx5_2"});
  CHECK(two.thrown == std::vector<std::string>{"", ""});
  CHECK(note_of_rails(two) == "--rails names ports of hosts that take no part in this job: n2, n3");
  CHECK(note_of_rails(nics_of_two({"n0:mlx5_0", "n1:mlx5_2"})).empty());
}

TEST_CASE("nics reads different numbers of ports, but not where a wrong name may be the cause") {
  const Run unequal = nics_of_two({"n0:mlx5_0", "n0:mlx5_2", "n1:mlx5_0"});
  CHECK(unequal.thrown == std::vector<std::string>{"", ""});
  CHECK(note_of_rails(unequal).empty());
  const Run wrong = nics_of_two({"n0:mlx5_0", "n0:mlx5_2", "n1:mlx5_0", "n11:mlx5_2"});
  REQUIRE(wrong.records.empty());
  for (const std::string& text : wrong.thrown) {
    CHECK(text.find("n0 has 2 of them") != std::string::npos);
    CHECK(text.find("n1 has 1 of them") != std::string::npos);
    CHECK(text.find("and n11 is not of this job: mend the name") != std::string::npos);
  }
}
