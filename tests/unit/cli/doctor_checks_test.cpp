// Both sides of every threshold of `doctor`.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "cli/doctor_checks.h"

using namespace cb;

namespace {

constexpr double kMiB = 1 << 20;

// A host with everything.
DoctorFacts good_facts() {
  return {.host = "node01",
          .shm_bytes = 64 * 1024 * kMiB,
          .memlock_bytes = std::numeric_limits<double>::infinity(),
          .rdma_devices = 8,
          .rdma_files = true,
          .rdma_opens = true,
          .verbs_library = true,
          .gpus = 8,
          .nvml_library = true,
          .cuda_library = true,
          .nccl = {.name = "NCCL 2.28.9"},
          .cublaslt = {.name = "/usr/lib/libcublasLt.so.13"},
          .cpus_online = 96,
          .cpus_allowed = 96,
          .memory_bytes = 1000 * kMiB,
          .clock_synchronised = true,
          .mpirun = "/usr/bin/mpirun",
          .mpi_library = "Open MPI v4.1.4",
          .srun = true,
          .srun_plugins = {{"none", "pmi2", "pmix"}},
          .own_name = {.seconds = 0.001, .known = true},
          .localhost = {.seconds = 0.001, .known = true}};
}

DoctorCheck check_of(const DoctorFacts& facts, const std::string& id) {
  const auto checks = doctor_checks(facts);
  const auto found = std::ranges::find(checks, id, &DoctorCheck::id);
  REQUIRE(found != checks.end());
  // What is not in order has a next step, and nothing else has one.
  const bool wrong = found->state == DoctorState::warn || found->state == DoctorState::fail;
  CHECK(found->next.empty() != wrong);
  return *found;
}

// The state of one check after one change of the host with everything.
template <typename Change>
std::string after(const std::string& id, Change change) {
  DoctorFacts facts = good_facts();
  change(facts);
  return doctor_state_name(check_of(facts, id).state);
}

}  // namespace

TEST_CASE("a host with everything passes every check") {
  for (const DoctorCheck& c : doctor_checks(good_facts())) CHECK(c.state == DoctorState::ok);
}

TEST_CASE("of a host of which nothing is known nothing passes") {
  for (const DoctorCheck& c : doctor_checks({.host = "node01"})) {
    CHECK_MESSAGE(c.state != DoctorState::ok, c.id);
    CHECK_FALSE(c.seen.empty());
  }
}

TEST_CASE("shared memory: a container's default fails, less than 1 GiB warns") {
  const auto with = [](double bytes) {
    return after("shared-memory", [=](DoctorFacts& f) { f.shm_bytes = bytes; });
  };
  CHECK(with(64 * kMiB) == "fail");
  CHECK(with(64 * kMiB + 1) == "warn");
  CHECK(with(1024 * kMiB - 1) == "warn");
  CHECK(with(1024 * kMiB) == "ok");
  CHECK(after("shared-memory", [](DoctorFacts& f) { f.shm_bytes = {}; }) == "fail");
}

TEST_CASE("locked memory matters where there is RDMA") {
  const auto with = [](double bytes, size_t devices) {
    return after("locked-memory", [=](DoctorFacts& f) {
      f.memlock_bytes = bytes;
      f.rdma_devices = devices;
    });
  };
  CHECK(with(1024 * kMiB - 1, 1) == "fail");
  CHECK(with(1024 * kMiB, 1) == "warn");
  CHECK(with(65536, 0) == "ok");
  CHECK(after("locked-memory", [](DoctorFacts& f) { f.memlock_bytes = {}; }) == "not checked");
}

TEST_CASE("RDMA devices need files, rights and the library") {
  CHECK(after("rdma", [](DoctorFacts& f) { f.rdma_devices = 0; }) == "not checked");
  CHECK(after("rdma", [](DoctorFacts& f) { f.rdma_files = false; }) == "fail");
  CHECK(after("rdma", [](DoctorFacts& f) { f.rdma_opens = false; }) == "fail");
  CHECK(after("rdma", [](DoctorFacts& f) { f.verbs_library = false; }) == "fail");
}

TEST_CASE("GPUs need both libraries of the driver, and the missing one is named") {
  CHECK(after("gpu-driver", [](DoctorFacts& f) { f.gpus = 0; }) == "not checked");
  DoctorFacts facts = good_facts();
  facts.cuda_library = false;
  CHECK(check_of(facts, "gpu-driver").seen.text() == "8 GPUs, but no libcuda.so.1");
  facts.nvml_library = false;
  CHECK(check_of(facts, "gpu-driver").seen.text() == "8 GPUs, but no libnvidia-ml.so.1");
  CHECK(check_of(facts, "gpu-driver").state == DoctorState::fail);
}

TEST_CASE("NCCL is missed where there are GPUs, and only there") {
  const auto without = [](size_t gpus) {
    return after("nccl", [=](DoctorFacts& f) {
      f.nccl = {.reason = "too old"};
      f.gpus = gpus;
    });
  };
  CHECK(without(1) == "warn");
  CHECK(without(0) == "not checked");
  CHECK(check_of(good_facts(), "nccl").seen.text() == "NCCL 2.28.9 opens");
}

TEST_CASE("cuBLAS is missed where there are GPUs, and only there") {
  const auto without = [](size_t gpus) {
    return after("cublas", [=](DoctorFacts& f) {
      f.cublaslt = {.reason = "no such file"};
      f.gpus = gpus;
    });
  };
  CHECK(without(1) == "warn");
  CHECK(without(0) == "not checked");
  CHECK(check_of(good_facts(), "cublas").seen.text() == "/usr/lib/libcublasLt.so.13 opens");
}

TEST_CASE("a library that opens too slowly need not be installed once more") {
  DoctorFacts facts = good_facts();
  facts.cublaslt = {.reason = "does not open within 5 s", .slow = true};
  CHECK(check_of(facts, "cublas").next.text().starts_with("run it again"));
  facts.cublaslt.slow = false;
  CHECK(check_of(facts, "cublas").next.text().starts_with("install cuBLAS"));
}

TEST_CASE("a driver that does not answer is named in place of a library") {
  DoctorFacts facts = good_facts();
  facts.driver_hangs = true;
  facts.cublaslt = {.reason = "not chosen"};
  CHECK(check_of(facts, "gpu-driver").state == DoctorState::fail);
  CHECK(check_of(facts, "gpu-driver").next.text().find("dmesg") != std::string::npos);
  CHECK(check_of(facts, "cublas").state == DoctorState::warn);
  CHECK(check_of(facts, "cublas").next.text().find("dmesg") != std::string::npos);
  facts.nccl = {.reason = "not tried", .slow = true};
  CHECK(check_of(facts, "nccl").next.text().find("dmesg") != std::string::npos);
}

TEST_CASE(
    "a driver's library that is of no use says why, and a library beside it has its own step") {
  DoctorFacts facts = good_facts();
  facts.driver_unfit = "/stubs/libcuda.so.1 tells no version";
  facts.nccl = {.reason = "NCCL is not there"};
  const DoctorCheck seen = check_of(facts, "gpu-driver");
  CHECK(seen.state == DoctorState::fail);
  CHECK(seen.seen.text().find("/stubs/libcuda.so.1 tells no version") != std::string::npos);
  CHECK(seen.next.text().find("stubs") != std::string::npos);
  CHECK(seen.next.text().find("dmesg") == std::string::npos);
  CHECK(check_of(facts, "nccl").next.text().starts_with("install NCCL"));
  facts.cuda_library = false;  // it did not open, for that reason
  facts.driver_unfit = "libcuda.so.1: no such file";
  CHECK(check_of(facts, "gpu-driver").seen.text() == "8 GPUs, but libcuda.so.1: no such file");
  CHECK(check_of(facts, "gpu-driver").next.text().find("--gpus all") != std::string::npos);
}

TEST_CASE("a host whose driver gets no module of this program cannot measure its GPUs") {
  DoctorFacts facts = good_facts();
  facts.no_module = true;
  facts.driver = "11.4";
  CHECK(check_of(facts, "gpu-driver").state == DoctorState::fail);
  CHECK(check_of(facts, "gpu-driver").seen.text().find("CUDA 11.4") != std::string::npos);
  CHECK(check_of(facts, "nccl").state == DoctorState::ok);
}

TEST_CASE("modules that hang are named in place of a library") {
  DoctorFacts facts = good_facts();
  facts.modules_hang = true;
  facts.nccl = {.reason = "not tried", .slow = true};
  CHECK(check_of(facts, "gpu-driver").state == DoctorState::fail);
  for (const char* id : {"gpu-driver", "nccl"})
    CHECK(check_of(facts, id).next.text().find("the folder of clusterbench") != std::string::npos);
}

TEST_CASE("limits of processors and memory warn") {
  CHECK(after("processors", [](DoctorFacts& f) { f.cpu_quota = 95.5; }) == "warn");
  CHECK(after("processors", [](DoctorFacts& f) { f.cpu_quota = 96; }) == "ok");
  CHECK(after("processors", [](DoctorFacts& f) { f.cpus_allowed = 95; }) == "warn");
  CHECK(after("memory", [](DoctorFacts& f) { f.memory_limit_bytes = 899 * kMiB; }) == "warn");
  CHECK(after("memory", [](DoctorFacts& f) { f.memory_limit_bytes = 900 * kMiB; }) == "ok");
}

TEST_CASE("clock, MPI and Slurm") {
  CHECK(after("clock", [](DoctorFacts& f) { f.clock_synchronised = false; }) == "warn");
  CHECK(after("clock", [](DoctorFacts& f) { f.clock_synchronised = {}; }) == "not checked");
  CHECK(after("mpi", [](DoctorFacts& f) { f.mpirun = ""; }) == "ok");  // srun is there
  CHECK(after("mpi", [](DoctorFacts& f) { f.mpirun = "", f.srun = false; }) == "warn");
  CHECK(after("mpi", [](DoctorFacts& f) { f.mpi_library = ""; }) == "fail");
  CHECK(after("pmix", [](DoctorFacts& f) { f.srun = false; }) == "not checked");
  CHECK(after("pmix", [](DoctorFacts& f) { f.srun_plugins = {{"none", "pmi2"}}; }) == "warn");
  CHECK(after("pmix", [](DoctorFacts& f) { f.srun_plugins = {{"pmix_v4"}}; }) == "ok");
  CHECK(after("pmix", [](DoctorFacts& f) { f.srun_plugins = {}; }) == "warn");
}

TEST_CASE("where the user names a plugin of srun, only that one counts") {
  const auto with = [](const std::string& plugin) {
    DoctorFacts facts = good_facts();
    facts.srun_plugin = plugin;
    facts.srun_arguments = "-v --mpi=" + plugin;
    return check_of(facts, "pmix");
  };
  CHECK(with("pmi2").state == DoctorState::ok);
  CHECK(with("none").state == DoctorState::warn);
  const DoctorCheck typo = with("pmi");
  CHECK(typo.state == DoctorState::fail);
  CHECK(typo.seen.text() ==
        "CLUSTERBENCH_SRUN_ARGS is \"-v --mpi=pmi\", and srun has no plugin pmi; it has: none pmi2 "
        "pmix");
  CHECK(typo.next.text().starts_with("unset CLUSTERBENCH_SRUN_ARGS"));
}

TEST_CASE("GPUs of which NVML says nothing cannot be measured, and its reason is shown") {
  DoctorFacts facts = good_facts();
  facts.nvml_fault = "nvmlInit_v2: Driver/library version mismatch";
  facts.nvml_opens = true;
  CHECK(check_of(facts, "gpu-driver").state == DoctorState::fail);
  CHECK(check_of(facts, "gpu-driver").seen.text() ==
        "8 GPUs, but nvmlInit_v2: Driver/library version mismatch");
  CHECK(check_of(facts, "gpu-driver").next.text().starts_with("run nvidia-smi"));
  facts.nvml_hangs = true;
  CHECK(check_of(facts, "gpu-driver").next.text().find("hangs needs a restart") !=
        std::string::npos);
  facts.nvml_hangs = facts.nvml_opens = false;
  facts.nvml_fault = "NVML does not open: file too short";
  CHECK(check_of(facts, "gpu-driver").next.text().find("--gpus all") != std::string::npos);
  facts.named_nvml = "/x/nvml.so";
  CHECK(check_of(facts, "gpu-driver").next.text() ==
        "unset CLUSTERBENCH_NVML_LIBRARY, or correct it: it names /x/nvml.so");
}

TEST_CASE("GPUs that could not be read are not called absent") {
  DoctorFacts facts = good_facts();
  facts.gpus = 0;
  facts.gpus_unread = "nvmlDeviceGetCount_v2: Unknown Error";
  CHECK(check_of(facts, "gpu-driver").state == DoctorState::fail);
  for (const char* id : {"nccl", "cublas"}) {
    CHECK(check_of(facts, id).state == DoctorState::not_checked);
    CHECK(check_of(facts, id).seen.text() == "not tried: the GPUs could not be read");
  }
}

TEST_CASE("GPUs that NVML has lost or lacks are counted and named") {
  const SilentGpus two{.count = 2, .addresses = "0000:9b:00.0, 0000:bb:00.0", .why = "GPU is lost"};
  const auto with = [&](SilentGpus DoctorFacts::*silent) {
    DoctorFacts facts = good_facts();
    facts.*silent = two;
    return check_of(facts, "gpu-driver");
  };
  CHECK(with(&DoctorFacts::lost).state == DoctorState::fail);
  CHECK(with(&DoctorFacts::lost).seen.text() ==
        "2 of 8 GPUs do not answer (0000:9b:00.0, 0000:bb:00.0): GPU is lost");
  CHECK(with(&DoctorFacts::lost).next.text().find("container") == std::string::npos);
  CHECK(with(&DoctorFacts::unlisted).state == DoctorState::fail);
  CHECK(with(&DoctorFacts::may_be_lost).state == DoctorState::fail);
  for (const auto silent : {&DoctorFacts::not_given, &DoctorFacts::not_driven})
    CHECK(with(silent).state == DoctorState::warn);
  CHECK(with(&DoctorFacts::not_given).seen.text() ==
        "8 GPUs on PCI, and NVML lacks 2 of them (0000:9b:00.0, 0000:bb:00.0): GPU is lost");
  CHECK(with(&DoctorFacts::of_machines).state == DoctorState::ok);
}

TEST_CASE("what fails comes before GPUs that may be meant for others") {
  DoctorFacts facts = good_facts();
  facts.not_given = {.count = 1, .addresses = "0000:9b:00.0", .why = "not given"};
  facts.unusable_modules = "a module is damaged";
  CHECK(check_of(facts, "gpu-driver").seen.text().find("0000:9b:00.0") != std::string::npos);
  facts.no_module = true;
  CHECK(check_of(facts, "gpu-driver").state == DoctorState::fail);
}

TEST_CASE("a host whose GPUs are all for virtual machines has none to measure") {
  DoctorFacts facts = good_facts();
  facts.gpus = 0;
  facts.of_machines = {.count = 8, .addresses = "0000:9b:00.0", .why = "vfio-pci has it"};
  CHECK(check_of(facts, "gpu-driver").state == DoctorState::not_checked);
  CHECK(check_of(facts, "gpu-driver").seen.text() ==
        "8 GPUs, and none for this host: vfio-pci has it");
}

TEST_CASE("a library of MPI or a CUDA module that a variable names is named") {
  DoctorFacts facts = good_facts();
  facts.mpi_library = "none";
  facts.mpi_unopened = "/x/libmpi.so: no such file (CLUSTERBENCH_MPI_LIBRARY is set)";
  facts.named_mpi = "/x/libmpi.so";
  CHECK(check_of(facts, "mpi").seen.text().find("/x/libmpi.so: no such file") != std::string::npos);
  CHECK(check_of(facts, "mpi").next.text() ==
        "unset CLUSTERBENCH_MPI_LIBRARY, or correct it: it names /x/libmpi.so");
  facts.no_module = true;
  facts.driver = "12.8";
  facts.named_module = "/x/libclusterbench_cuda13.so";
  CHECK(check_of(facts, "gpu-driver").seen.text().find("CLUSTERBENCH_CUDA_MODULE names needs") !=
        std::string::npos);
  CHECK(check_of(facts, "gpu-driver").next.text() ==
        "unset CLUSTERBENCH_CUDA_MODULE, or correct it: it names /x/libclusterbench_cuda13.so");
}

TEST_CASE("a variable that names the driver's library is mended first") {
  DoctorFacts facts = good_facts();
  facts.driver_unfit = "/x/libcuda.so.1: file too short";
  facts.named_driver = "/x/libcuda.so.1";
  for (const bool opens : {false, true}) {
    facts.cuda_library = opens;
    CHECK(check_of(facts, "gpu-driver").next.text() ==
          "unset CLUSTERBENCH_CUDA_LIBRARY, or correct it: it names /x/libcuda.so.1");
  }
}

TEST_CASE("a file of a CUDA module that is damaged is named, and unpacked again") {
  DoctorFacts facts = good_facts();
  facts.unusable_modules = "the CUDA module /x/libclusterbench_cuda13.so does not open";
  for (const bool none : {false, true}) {
    facts.no_module = none;
    const DoctorCheck seen = check_of(facts, "gpu-driver");
    CHECK(seen.state == (none ? DoctorState::fail : DoctorState::warn));
    CHECK(seen.seen.text() ==
          "8 GPUs, but the CUDA module /x/libclusterbench_cuda13.so does not open");
    CHECK(seen.next.text().starts_with("unpack the archive"));
  }
}

TEST_CASE("a name that is found late costs every job of MPI that time") {
  const auto both = [](NameLookup DoctorFacts::*lookup, const std::string& id) {
    CHECK(after(id, [&](DoctorFacts& f) { (f.*lookup).seconds = 1.0; }) == "ok");
    CHECK(after(id, [&](DoctorFacts& f) { (f.*lookup).seconds = 1.01; }) == "warn");
    CHECK(after(id, [&](DoctorFacts& f) { (f.*lookup).seconds = {}; }) == "fail");
    CHECK(after(id, [&](DoctorFacts& f) { (f.*lookup).known = false; }) == "warn");
  };
  both(&DoctorFacts::own_name, "own-name");
  both(&DoctorFacts::localhost, "localhost");
}

TEST_CASE("a library of the driver that crashes the process is a matter of the driver") {
  DoctorFacts facts = good_facts();
  facts.nvml_fault = said("nvml.not_opened", said("dl.crashes", "libnvidia-ml.so.1", 11, "SEGV"));
  facts.nvml_library = false;
  const DoctorCheck nvml = check_of(facts, "gpu-driver");
  CHECK(nvml.state == DoctorState::fail);
  CHECK(nvml.seen.text() ==
        "8 GPUs, but NVML does not open: libnvidia-ml.so.1: a process that opens it crashes "
        "(signal 11, SEGV)");
  CHECK(nvml.next.text().find("install the driver again") != std::string::npos);
  facts.named_nvml = "/x/nvml.so";
  CHECK(check_of(facts, "gpu-driver").next.text().starts_with("unset CLUSTERBENCH_NVML_LIBRARY"));
  facts.cuda_library = false;
  facts.driver_unfit = said("dl.ends", "libcuda.so.1", 0);
  CHECK(check_of(facts, "gpu-driver").seen.text().starts_with("8 GPUs, but libcuda.so.1: "));
  CHECK(check_of(facts, "gpu-driver").next.text().find("install the driver again") !=
        std::string::npos);
}

TEST_CASE("an NVML that crashes or hangs is told where PCI shows no GPU") {
  DoctorFacts facts = good_facts();
  facts.gpus = 0;
  facts.gpus_unread = said("nvml.not_opened", said("dl.hangs", "libnvidia-ml.so.1", 8));
  CHECK(check_of(facts, "gpu-driver").state == DoctorState::fail);
  CHECK(check_of(facts, "gpu-driver").next.text().find("dmesg") != std::string::npos);
  facts.named_nvml = "/x/nvml.so";
  CHECK(check_of(facts, "gpu-driver").next.text().starts_with("unset CLUSTERBENCH_NVML_LIBRARY"));
  facts.gpus_unread = said("nvml.hangs", "nvmlInit_v2", 20);
  CHECK(check_of(facts, "gpu-driver").next.text().find("restart of the host") != std::string::npos);
}

TEST_CASE("other libraries that crash or hang: the file, and the variable that names it") {
  DoctorFacts facts = good_facts();
  facts.nccl = {.reason = said("dl.crashes", "libnccl.so.2", 11, "SEGV")};
  CHECK(check_of(facts, "nccl").next.text().starts_with("install NCCL"));
  facts.nccl.named = "/x/nccl.so";
  CHECK(check_of(facts, "nccl").next.text() ==
        "unset CLUSTERBENCH_NCCL_LIBRARY, or correct it: it names /x/nccl.so");
  facts.cublaslt = {.reason = said("dl.hangs", "libcublasLt.so.13", 8)};
  CHECK(check_of(facts, "cublas").next.text().starts_with("run it again"));
  facts.mpi_library = "";
  facts.mpi_unopened = said("dl.crashes", "libmpi.so.40", 11, "SEGV");
  const DoctorCheck mpi = check_of(facts, "mpi");
  CHECK(mpi.state == DoctorState::fail);
  CHECK(mpi.seen.text().find("libmpi.so.40: a process that opens it crashes") != std::string::npos);
  facts.named_mpi = "/x/libmpi.so";
  CHECK(check_of(facts, "mpi").next.text().starts_with("unset CLUSTERBENCH_MPI_LIBRARY"));
}

TEST_CASE("a module that hangs comes from a slow folder") {
  DoctorFacts facts = good_facts();
  facts.unusable_modules = said("gpu.module_shut", "/x/m.so", said("dl.hangs", "/x/m.so", 8));
  CHECK(check_of(facts, "gpu-driver").state == DoctorState::warn);
  CHECK(check_of(facts, "gpu-driver").next.text().find("slow file system") != std::string::npos);
}
