#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "bench/external/program_input.h"
#include "bench/external/starter.h"

namespace cb {
namespace {

std::vector<std::string> first_words(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(line.substr(0, line.find(' ')));
  return out;
}

std::string joined_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace

TEST_CASE("a grid is as near to a square as the number allows, rows first") {
  const auto is = [](int64_t n, int64_t p, int64_t q) {
    const ProcessGrid g = grid_of_processes(n);
    return g.p == p && g.q == q;
  };
  CHECK(is(1, 1, 1));
  CHECK(is(2, 1, 2));
  CHECK(is(7, 1, 7));
  CHECK(is(8, 2, 4));
  CHECK(is(36, 6, 6));
  CHECK(is(48, 6, 8));
}

TEST_CASE("the order fills the share of memory in whole blocks") {
  CHECK(order_for_memory(8e8, 1, 100) == 10000);   // √(8·10⁸/8) = 10,000
  CHECK(order_for_memory(8e8, 0.8, 100) == 8900);  // √(0.8·10⁸) = 8,944
  CHECK(order_for_memory(8e8, 0.8, 192) == 8832);  // 46 · 192
  CHECK(order_for_memory(0, 0.8, 192) == 192);
}

TEST_CASE("HPL.dat has 31 lines in the order in which the program reads them") {
  const auto words = first_words(hpl_dat({.order = 5000, .block = 192, .grid = {2, 4}}));
  REQUIRE(words.size() == 31);
  CHECK(words[3] == "6");      // the screen
  CHECK(words[5] == "5000");   // N
  CHECK(words[7] == "192");    // NB
  CHECK(words[10] == "2");     // P
  CHECK(words[11] == "4");     // Q
  CHECK(words[12] == "16.0");  // a limit of zero would switch the check off
  CHECK(first_words(hpcc_input({.order = 1, .block = 1})).size() == 36);
  CHECK(first_words(hpcg_dat(104, 1860.2))[3] == "1861");
}

TEST_CASE("the launcher's command has all processes on all hosts") {
  StartRequest request{.starter = Starter::open_mpi,
                       .hosts = {"n1", "n2"},
                       .per_host = 8,
                       .program = {"/opt/xhpl", "-x"}};
  CHECK(joined_words(start_command(request)) ==
        "mpirun -np 16 --host n1:8,n2:8 --bind-to none /opt/xhpl -x");
  request.arguments = {"--map-by", "numa"};
  CHECK(joined_words(start_command(request)) ==
        "mpirun -np 16 --host n1:8,n2:8 --map-by numa /opt/xhpl -x");
  request.starter = Starter::hydra;
  request.arguments = {};
  CHECK(joined_words(start_command(request)) == "mpirun -np 16 -hosts n1,n2 -ppn 8 /opt/xhpl -x");
  request.starter = Starter::srun;
  CHECK(joined_words(start_command(request)) ==
        "srun --overlap --mpi=pmix --nodes=2 --nodelist=n1,n2 --ntasks=16 --ntasks-per-node=8 "
        "--kill-on-bad-exit=1 /opt/xhpl -x");
  request.plugin = "pmi2";
  CHECK(joined_words(start_command(request)).starts_with("srun --overlap --mpi=pmi2 --nodes=2 "));
  request.starter = Starter::none;
  request.arguments = {"--map-by"};
  CHECK(joined_words(start_command(request)) == "/opt/xhpl -x");
  request.starter = Starter::open_mpi;
  request.arguments = {};
  request.hosts = {"n1"};
  CHECK(joined_words(start_command(request)) ==
        "mpirun -np 8 --oversubscribe --bind-to none /opt/xhpl -x");
}

TEST_CASE("mpirun is told apart by its version") {
  CHECK(mpirun_kind("mpirun (Open MPI) 4.1.4\n") == Starter::open_mpi);
  CHECK(mpirun_kind("mpirun (PRRTE) 3.0\n") == Starter::open_mpi);
  CHECK(mpirun_kind("HYDRA build details:\n") == Starter::hydra);
  CHECK(mpirun_kind("Intel(R) MPI Library for Linux* OS\n") == Starter::hydra);
}

TEST_CASE("what a launcher left in the environment is not handed on, what the user set is") {
  ::setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  ::setenv("PMIX_RANK", "3", 1);
  ::setenv("PMIX_GDS_MODULE", "shmem2,hash", 1);
  ::setenv("OMPI_MCA_btl", "tcp,self", 1);
  ::setenv("PRTE_MCA_plm_ssh_agent", "/opt/agent", 1);
  const auto environment = start_environment({{"OMP_NUM_THREADS", "4"}});
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  ::unsetenv("PMIX_RANK");
  ::unsetenv("PMIX_GDS_MODULE");
  ::unsetenv("OMPI_MCA_btl");
  ::unsetenv("PRTE_MCA_plm_ssh_agent");
  const auto has = [&](const std::string& entry) {
    return std::find(environment.begin(), environment.end(), entry) != environment.end();
  };
  CHECK_FALSE(has("OMPI_COMM_WORLD_RANK=3"));
  CHECK_FALSE(has("PMIX_RANK=3"));
  CHECK_FALSE(has("PMIX_GDS_MODULE=shmem2,hash"));
  CHECK(has("OMPI_MCA_btl=tcp,self"));
  CHECK(has("PRTE_MCA_plm_ssh_agent=/opt/agent"));
  CHECK(has("OMP_NUM_THREADS=4"));
}

TEST_CASE("places in arguments are filled") {
  CHECK(joined_words(filled({"--n", "{n}", "--grid={p}x{q}", "{other}"},
                            {{"n", "4096"}, {"p", "2"}, {"q", "4"}})) ==
        "--n 4096 --grid=2x4 {other}");
}

}  // namespace cb
