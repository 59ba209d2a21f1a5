#include "sys/mpi/mpi.h"

#include <atomic>
#include <csignal>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "sys/inventory/inventory.h"
#include "sys/mpi/find.h"
#include "sys/mpi/launched.h"

namespace cb::mpi {
namespace {

constexpr unsigned kAbortSeconds = 10;

std::atomic<bool> begun = false;  // MPI_Init was called; before that no library is needed

Launched launch() { return launched_by(own_surroundings()); }

// Returns the launcher's program, or its name in documents if the program is not known.
std::string starter() {
  const std::string file = launcher_above(own_surroundings()).file;
  return file.empty() ? launcher_name() : file;
}

// Sets variables that MPI_Init reads, unless the user has set them.
void settle_environment() {
  // No rank needs displays. hwloc's plugin would ask a name server for them, which may not answer.
  ::setenv("HWLOC_COMPONENTS", "-gl", 0);
  // mpirun trusts the number of slots that it is given. If there are more ranks than processors,
  // ranks that spin while they wait take ten times as long as ranks that yield.
  if (share_processors(std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE"), ::sysconf(_SC_NPROCESSORS_ONLN)))
    ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

void require_library() {
  if (api().abi != Abi::none) return;
  throw UsageError("clusterbench", process_name(),
                   fmt::format("was started by {}, whose MPI library cannot be opened: {}; next: "
                               "name the libmpi.so of that launcher in {}",
                               starter(), api().reason.text(), kLibraryVariable));
}

// Shortens "MPICH Version:      5.0.2" and "Open MPI v4.1.4, package: …" to a few words.
std::string short_name(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, text.find_first_of(",\n"))) {
    const bool blank = c == ' ' || c == '\t';
    if (!(blank && (out.empty() || out.back() == ' '))) out += blank ? ' ' : c;
  }
  if (const size_t word = out.find(" Version: "); word != std::string::npos)
    out.replace(word, std::string_view(" Version: ").size(), " ");
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace

void throw_failure(int rc, const char* call) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(rc, text, &length);
  throw Error(fmt::format("{} failed: {}", call, text));
}

bool share_processors(const char* ranks_on_host, long processors) {
  return ranks_on_host != nullptr && std::atol(ranks_on_host) > processors;
}

bool launched() { return launch().joins; }

std::string launcher_name() { return launcher_name_of(own_surroundings()); }

int launched_rank() { return launch().rank.number; }

std::string process_name() {
  return launched() ? fmt::format("{} rank {}", host_name(), launched_rank()) : host_name();
}

void require_launched_ranks(int ranks) {
  const Launched told = launch();
  if (ranks > 1 || !left_alone(told)) return;
  const bool counted = told.processes.number > 1;
  const Told& claim = counted ? told.processes : told.rank;
  std::string next = fmt::format(
      "if the launcher is of another MPI, name its libmpi.so in {}, or take that library's mpirun; "
      "to measure with one process start it without a launcher, or unset {} in an interactive "
      "shell",
      kLibraryVariable, claim.variable);
  if (claim.variable == "SLURM_STEP_NUM_TASKS")
    next =
        "start it with srun --mpi=pmix (srun --mpi=list names what there is), or with mpirun; "
        "in an interactive shell unset SLURM_STEP_NUM_TASKS";
  const std::string says = counted
                               ? fmt::format("{} processes", claim.number)
                               : fmt::format("rank {} and nothing says of how many", claim.number);
  throw UsageError(
      "clusterbench", process_name(),
      fmt::format("{} says {}, and this process finds itself alone: the launcher does not speak to "
                  "{}; next: {}",
                  claim.variable, says, library_and_path(), next));
}

std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  if (api().abi == Abi::none) return "none";
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "MPI";
  text[MPI_MAX_LIBRARY_VERSION_STRING - 1] = '\0';
  return short_name(text);  // the text ends here, whatever length the library states
}

Said why_no_library() { return api().reason; }

std::string library_and_path() { return fmt::format("{} ({})", library_name(), api().path); }

std::string joined_library_name() { return launched() ? library_name() : "none"; }

Session::Session() {
  require_library();
  settle_environment();
  begun = true;
  // Only the main thread calls MPI, but for MPI_Abort by the watchdog. Asking for threads would
  // cost Open MPI 4 its locks in each call (decision 0144).
  check(MPI_Init(nullptr, nullptr), "MPI_Init");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

Session::~Session() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) MPI_Finalize();
}

WorldCopy::WorldCopy() {
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

WorldCopy::~WorldCopy() { MPI_Comm_free(&comm_); }

Communicator Communicator::split(MPI_Comm whole, int colour, int key) {
  Communicator out;
  check(MPI_Comm_split(whole, colour, key, &out.comm_), "MPI_Comm_split");
  MPI_Comm_set_errhandler(out.comm_, MPI_ERRORS_RETURN);
  return out;
}

Communicator Communicator::split_world(int colour, int key) {
  return split(MPI_COMM_WORLD, colour, key);
}

Communicator Communicator::world() {
  Communicator out;
  out.comm_ = MPI_COMM_WORLD;
  return out;
}

Communicator::~Communicator() {
  if (comm_ != MPI_COMM_NULL && comm_ != MPI_COMM_WORLD) MPI_Comm_free(&comm_);
}

void abort_job(int exit_code) {
  // If MPI does not end the job either, or does not even answer, the kernel ends this process.
  std::signal(SIGALRM, SIG_DFL);
  alarm(kAbortSeconds);
  int initialized = 0;
  int finalized = 0;
  if (begun) {
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
  }
  if (initialized != 0 && finalized == 0) MPI_Abort(MPI_COMM_WORLD, exit_code);
  _exit(exit_code);
}

}  // namespace cb::mpi
