#include "campaign/launcher.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "campaign/command_line.h"
#include "campaign/plan.h"
#include "core/inherited.h"

using namespace cb;

namespace {

const std::vector<HostSlots> kTwo{{"a", 2}, {"b", 2}};

std::string command(const LaunchSetup& setup, const std::vector<HostSlots>& hosts, int ranks,
                    const std::map<std::string, std::string>& environment = {}) {
  return shell_text(launch_command(setup, hosts, ranks, environment, {"cb", "fake"}));
}

std::optional<std::string> no_environment(const std::string&) { return std::nullopt; }

}  // namespace

TEST_CASE("mpirun") {
  const LaunchSetup setup{Launcher::mpirun};
  CHECK(command(setup, kTwo, 0) == "mpirun --host a:2,b:2 -np 4 cb fake");
  CHECK(command(setup, kTwo, 1) == "mpirun --host a:1,b:1 -np 2 --bind-to none cb fake");
  CHECK(command(setup, kTwo, 3) ==
        "mpirun --host a:3,b:3 -np 6 --oversubscribe --mca mpi_yield_when_idle 1 --bind-to none "
        "cb fake");
  CHECK(command(setup, {{"a", 1}, {"b", 8}}, 0) == "mpirun --host a:1,b:8 -np 9 cb fake");
  CHECK(
      command({Launcher::mpirun, {"--mca", "x", "y"}, true}, {{"a", 2}}, 2, {{"NCCL_X", "a b"}}) ==
      "mpirun --allow-run-as-root --host a:2 -np 2 -x 'NCCL_X=a b' --mca x y cb fake");
}

TEST_CASE("mpirun of MPICH and Intel MPI") {
  LaunchSetup setup{.launcher = Launcher::mpirun, .as_root = true, .hydra = true};
  CHECK(command(setup, kTwo, 0) == "mpirun -hosts a,b -ppn 2 -np 4 cb fake");
  CHECK(command(setup, kTwo, 1) == "mpirun -hosts a,b -ppn 1 -np 2 -bind-to none cb fake");
  CHECK(command(setup, {{"a", 2}}, 3) == "mpirun -hosts a -ppn 3 -np 3 -bind-to none cb fake");
  CHECK(command(setup, {{"a", 1}, {"b", 8}}, 0) == "mpirun -hosts a:1,b:8 -np 9 cb fake");
  setup.arguments = {"-iface", "eth0"};
  CHECK(command(setup, {{"a", 2}}, 2, {{"NCCL_X", "a b"}}) ==
        "mpirun -hosts a -ppn 2 -np 2 -genv NCCL_X 'a b' -iface eth0 cb fake");
  const auto argv = launch_command(setup, kTwo, 0, {}, {"cb", "fake"}).argv;
  CHECK(launched_hosts(argv, Launcher::mpirun) == std::vector<std::string>{"a", "b"});
  CHECK(bad_launcher_arguments({"-genv", "LD_PRELOAD", "x.so"}));
  CHECK_FALSE(bad_launcher_arguments({"-genv", "NCCL_DEBUG", "INFO"}));
  for (const char* option : {"--genv", "-GENV", "-env"})
    CHECK(bad_launcher_arguments({option, "LD_PRELOAD", "x.so"}));
  CHECK(bad_launcher_arguments({"-genv=LD_PRELOAD=x.so"}));
  CHECK(bad_launcher_arguments({"--Env=LD_PRELOAD"}));
  const auto taken = [](const std::string& words) {
    return launcher_arguments(Launcher::mpirun,
                              [&](const std::string&) { return std::optional(words); });
  };
  CHECK_THROWS_AS(taken("-genv HF_TOKEN hunter2"), UsageError);
  CHECK_THROWS_AS(taken("--GENV=HF_TOKEN=hunter2"), UsageError);
  CHECK(taken("-genvlist HF_TOKEN").size() == 2);
}

namespace {

class ProgramFolder {
 public:
  ProgramFolder() { REQUIRE(::mkdtemp(name_) != nullptr); }
  ~ProgramFolder() { std::filesystem::remove_all(name_); }
  ProgramFolder(const ProgramFolder&) = delete;
  ProgramFolder& operator=(const ProgramFolder&) = delete;
  std::filesystem::path path() const { return name_; }

 private:
  char name_[24] = "/tmp/cb-program-XXXXXX";
};

// Asks about an mpirun with this text, or that leads to a file of this name.
template <typename Question>
auto ask_of_mpirun(const std::string& text, const std::string& target, const Question& question) {
  const ProgramFolder dir;
  const auto file = dir.path() / (target.empty() ? "mpirun" : target);
  std::ofstream(file) << text;
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  if (!target.empty()) std::filesystem::create_symlink(target, dir.path() / "mpirun");
  return question([&](const std::string& name) -> std::optional<std::string> {
    if (name == "PATH") return "/nowhere:" + dir.path().string();
    return std::nullopt;
  });
}

bool taken_for_hydra(const std::string& text, const std::string& target = "") {
  return ask_of_mpirun(text, target, mpirun_is_hydra);
}

size_t piece_of(const LaunchSetup& setup, const std::string& target = "") {
  return ask_of_mpirun("\x7f", target, [&](const Environment& environment) {
    return input_piece(setup, environment);
  });
}

}  // namespace

TEST_CASE("whose mpirun it is") {
  CHECK(taken_for_hydra("\x7f", "mpiexec.hydra"));
  CHECK(taken_for_hydra("#!/bin/sh\nexec mpiexec.hydra \"$@\"\n"));
  CHECK(taken_for_hydra("#!/bin/sh\nexport I_MPI_ROOT=/opt\n  exec mpiexec.hydra \"$@\"\n"));
  CHECK_FALSE(
      taken_for_hydra("#!/bin/sh\n  # not mpiexec.hydra: Open MPI\nexec orterun.real \"$@\"\n"));
  CHECK(taken_for_hydra(std::string("\x7f\0hydra_pmi_proxy", 17)));
  CHECK_FALSE(taken_for_hydra("\x7f"));
  CHECK_FALSE(taken_for_hydra("hydra_pmi_proxy", "orterun"));
  CHECK_FALSE(
      mpirun_is_hydra([](const std::string&) -> std::optional<std::string> { return "/nowhere"; }));
}

TEST_CASE("a site's script is what it starts") {
  const ProgramFolder site, real;
  const auto write = [](const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file) << text;
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  };
  const auto is_hydra = [&](const std::string& script) {
    write(site.path() / "mpirun", "#!/bin/sh\n" + script);
    return mpirun_is_hydra([&](const std::string& name) -> std::optional<std::string> {
      if (name == "PATH") return site.path().string() + ":" + real.path().string();
      return std::nullopt;
    });
  };
  write(real.path() / "mpiexec.hydra", "\x7f");
  std::filesystem::create_symlink("mpiexec.hydra", real.path() / "mpirun.mpich");
  write(real.path() / "orterun", "\x7f");
  std::filesystem::create_symlink("orterun", real.path() / "mpirun.openmpi");
  CHECK(is_hydra("exec mpirun.mpich \"$@\"\n"));
  CHECK(is_hydra("exec '" + (real.path() / "mpirun.mpich").string() + "' \"$@\"\n"));
  CHECK_FALSE(is_hydra("exec mpirun.openmpi \"$@\"\n"));
  CHECK_FALSE(is_hydra("# mpirun.mpich\nexec mpirun.openmpi \"$@\"\n"));
  CHECK_FALSE(is_hydra("exec mpirun \"$@\"\n"));  // itself
}

TEST_CASE("which launcher brings standard input whole") {
  CHECK(piece_of({.launcher = Launcher::mpirun}, "orterun") == 0);  // Open MPI up to 4
  CHECK(piece_of({.launcher = Launcher::mpirun}) == 4096);  // Open MPI 5, or a site's script
  CHECK(piece_of({.launcher = Launcher::mpirun}, "prterun") == 4096);
  CHECK(piece_of({.launcher = Launcher::mpirun, .hydra = true}) == 32768);
  CHECK(piece_of({.launcher = Launcher::srun}) == 0);
  CHECK(input_piece({.launcher = Launcher::mpirun},
                    [](const std::string&) -> std::optional<std::string> { return "/nowhere"; }) ==
        4096);
}

TEST_CASE("srun") {
  const LaunchSetup setup{Launcher::srun};
  CHECK(command(setup, kTwo, 0) ==
        "srun --mpi=pmix --nodes=2 --nodelist=a,b --ntasks=4 --ntasks-per-node=2 "
        "--kill-on-bad-exit=1 cb fake");
  CHECK(command(setup, {{"a", 8}}, 1, {{"X", "1"}}) ==
        "X=1 srun --mpi=none --nodes=1 --nodelist=a --ntasks=1 --ntasks-per-node=1 "
        "--kill-on-bad-exit=1 --cpu-bind=none cb fake");
  CHECK(command({Launcher::srun, {"--mpi=pmi2"}}, {{"a", 2}}, 4) ==
        "srun --nodes=1 --nodelist=a --ntasks=4 --ntasks-per-node=4 "
        "--kill-on-bad-exit=1 --overcommit --mpi=pmi2 cb fake");
  for (const std::vector<std::string>& plugin :
       std::vector<std::vector<std::string>>{{"--mpi=pmi2", "-v"}, {"--mpi", "pmi2", "-v"}})
    CHECK(command({Launcher::srun, plugin}, {{"a", 1}}, 1) ==
          "srun --mpi=none --nodes=1 --nodelist=a --ntasks=1 --ntasks-per-node=1 "
          "--kill-on-bad-exit=1 --cpu-bind=none -v cb fake");
}

TEST_CASE("without a launcher the program is started as it is") {
  CHECK(command({Launcher::none}, {{"a", 8}}, 0) == "cb fake");
  CHECK(command({Launcher::none}, {{"a", 8}}, 1, {{"X", "it's"}}) == "X='it'\\''s' cb fake");
}

TEST_CASE("what tells of a launched process is not handed to jobs, and a user's settings are") {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_UNIVERSE_SIZE", "OMPI_MCA_ess_base_vpid",
                           "PMIX_RANK", "PMIX_SERVER_URI3", "PMIX_GDS_MODULE", "PRTE_SHARED_FS",
                           "PMI_RANK", "PMI_FD", "MV2_COMM_WORLD_SIZE", "MVP_COMM_WORLD_LOCAL_RANK",
                           "MPIRUN_NPROCS", "MPISPAWN_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"})
    CHECK_MESSAGE(tells_of_process(name), name);
  for (const char* name :
       {"OMPI_MCA_btl", "OMPI_ALLOW_RUN_AS_ROOT", "PMIX_MCA_gds", "PRTE_MCA_plm_ssh_agent",
        "SLURM_JOB_ID", "SLURM_NODELIST", "HYDRA_BOOTSTRAP", "I_MPI_FABRICS", "PATH"})
    CHECK_FALSE_MESSAGE(tells_of_process(name), name);
}

TEST_CASE("what a launcher cannot do is said beforehand") {
  CHECK_FALSE(cannot_launch({Launcher::none}, {{"a", 8}}, 1));
  CHECK_FALSE(cannot_launch({Launcher::none}, {{"a", 8}}, 0));
  CHECK(cannot_launch({Launcher::none}, {{"a", 8}}, 2));
  CHECK(cannot_launch({Launcher::none}, kTwo, 1));
  CHECK_FALSE(cannot_launch({Launcher::mpirun}, kTwo, 100));
  CHECK_FALSE(cannot_launch({Launcher::srun}, {{"a", 1}, {"b", 2}}, 1));
  CHECK(cannot_launch({Launcher::srun}, {{"a", 1}, {"b", 2}}, 0));
}

TEST_CASE("names of launchers") {
  CHECK(choose_launcher("none", no_environment) == Launcher::none);
  CHECK_THROWS_WITH_AS(choose_launcher("mpirum", no_environment), doctest::Contains("mpirun"),
                       UsageError);
  const Environment empty_path = [](const std::string& name) -> std::optional<std::string> {
    if (name == "PATH") return "/nowhere";
    return std::nullopt;
  };
  CHECK(choose_launcher("auto", empty_path) == Launcher::none);
  CHECK_THROWS_WITH_AS(choose_launcher("mpirun", empty_path), doctest::Contains("not in the PATH"),
                       UsageError);
}

TEST_CASE("the command of a step") {
  const CaseInfo info{.name = "io",
                      .needs = {.directory = true},
                      .params = {{"direct", ParamType::flag}, {"size", ParamType::size}}};
  Step step{.id = "s", .case_name = "io"};
  step.params = {{"direct", {"false"}}, {"size", {"1K", "2K"}}, {"x", {"-1"}}};
  step.deadline_seconds = 90;
  const JobProgram program{"cb", "D/scratch", "D/records/001-s.json"};
  CHECK(shell_text({step_arguments(step, info, program)}) ==
        "cb io --no-direct --size 1K,2K --x=-1 --dir D/scratch --deadline 90s --no-color --json "
        "D/records/001-s.json");
  step.params["dir"] = {"/data"};
  CHECK(shell_text({step_arguments(step, info, program)}).find("scratch") == std::string::npos);
}

TEST_CASE("jobs in the order of steps, then hosts; one host needs no suffix") {
  Profile profile{.name = "p"};
  profile.steps = {{.id = "a"}, {.id = "b", .scope = Scope::cluster}};
  std::vector<std::string> names;
  for (const JobKey& key : plan_jobs(profile, {"n1", "n2"})) names.push_back(key.name);
  CHECK(names == std::vector<std::string>{"001-a@n1", "001-a@n2", "002-b"});
  CHECK(plan_jobs(profile, {"n1"})[0].name == "001-a");
  profile.steps[0].id = "../a";
  CHECK_THROWS_AS(plan_jobs(profile, {"n1"}), UsageError);
}

TEST_CASE("a fingerprint changes with command, tool and profile") {
  ToolInfo tool{.version = "1", .commit = "c"};
  const Command one{{"cb"}};
  const std::string base = fingerprint(one, tool, "p");
  CHECK(fingerprint(one, tool, "p") == base);
  CHECK(fingerprint({{"cb", "x"}}, tool, "p") != base);
  CHECK(fingerprint({{"cb"}, {{"A", "1"}}}, tool, "p") != base);
  CHECK(fingerprint(one, tool, "q") != base);
  tool.commit = "d";
  CHECK(fingerprint(one, tool, "p") != base);
}
