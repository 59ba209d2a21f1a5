#pragma once

#include <string>

#include "core/error.h"
#include "sys/mpi/api.h"

// The one header through which MPI is called.
namespace cb::mpi {

// Throws Error with MPI's own text unless rc is MPI_SUCCESS.
void check(int rc, const char* call);

// True if this process was started by a launcher (mpirun, srun) that MPI_Init can join. Looks only
// at the environment.
bool launched();

// "mpirun", "srun" or "none", from the environment.
std::string launcher_name();

// This process's rank as the launcher tells it before MPI_Init, 0 without a launcher.
int launched_rank();

// For messages: "node7 rank 3", or the host alone without a launcher.
std::string process_name();

// Throws UsageError if this process is alone although its launcher started several, or may have:
// then each of them thinks so, and would measure by itself. Says the likely cause and what to do.
void require_company(int ranks);

// Name and version of the MPI library, "Open MPI v4.1.4", "none" without one. Opens it, and needs
// no MPI_Init.
std::string library_name();

// "Open MPI v4.1.4 (/usr/lib/libmpi.so.40)".
std::string library_and_path();

// The library of a launched process, "none" of one that nobody launched: it needs none.
std::string joined_library_name();

// Whether more ranks than processors are on a host, as the launcher tells it (null if it does not).
bool share_processors(const char* ranks_on_host, long processors);

// MPI_Init and MPI_Finalize. MPI's error handler is set to return codes. Throws UsageError where
// the launcher's library cannot be opened.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

// A duplicate of MPI_COMM_WORLD, freed with the object; errors come back as return codes.
class WorldCopy {
 public:
  WorldCopy();
  ~WorldCopy();
  WorldCopy(const WorldCopy&) = delete;
  WorldCopy& operator=(const WorldCopy&) = delete;
  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// A part of MPI_COMM_WORLD, freed with the object; errors come back as return codes.
class Communicator {
 public:
  // Collective: the ranks that give the same colour, ordered by `key`.
  static Communicator split_world(int colour, int key);
  ~Communicator();
  Communicator(Communicator&& other) noexcept : comm_(other.comm_) { other.comm_ = MPI_COMM_NULL; }
  Communicator& operator=(Communicator&&) = delete;
  MPI_Comm get() const { return comm_; }

 private:
  Communicator() = default;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// Ends every process of the job with this exit code, now. The only place that calls MPI_Abort;
// without MPI it is _exit().
[[noreturn]] void abort_job(int exit_code);

}  // namespace cb::mpi
