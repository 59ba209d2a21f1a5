#pragma once

#include <string>

#include "core/error.h"
#include "sys/mpi/api.h"

// The one header through which MPI is called.
namespace cb::mpi {

// Throws Error with MPI's own text.
[[noreturn]] void throw_failure(int rc, const char* call);

// Throws Error with MPI's own text unless rc is MPI_SUCCESS.
inline void check(int rc, const char* call) {
  if (rc != MPI_SUCCESS) throw_failure(rc, call);
}

// True if a launcher that MPI_Init can join (mpirun, srun) started this process. Reads only the
// environment.
bool launched();

// Returns "mpirun", "srun" or "none", from the environment.
std::string launcher_name();

// Returns this process's rank as the launcher states it before MPI_Init; 0 without a launcher.
int launched_rank();

// Names this process in messages: "node7 rank 3", or only the host without a launcher.
std::string process_name();

// Throws UsageError if this process is alone although its launcher started several, or may have:
// each of them would then measure by itself. Says the likely cause and what to do.
void require_launched_ranks(int ranks);

// Returns name and version of the MPI library, "Open MPI v4.1.4", or "none". Opens the library;
// does not need MPI_Init.
std::string library_name();

// Returns why library_name() is "none"; empty if it is not.
Said why_no_library();

// Returns "Open MPI v4.1.4 (/usr/lib/libmpi.so.40)".
std::string library_and_path();

// Returns the library of a launched process; "none" for a process without a launcher, which needs
// no library.
std::string joined_library_name();

// True if a host has more ranks than processors. `ranks_on_host` is the launcher's text; null if it
// does not say.
bool share_processors(const char* ranks_on_host, long processors);

// MPI_Init and MPI_Finalize. Sets MPI's error handler to return codes. Throws UsageError if the
// launcher's library cannot be opened.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

// A duplicate of MPI_COMM_WORLD, freed with the object. Errors are returned as codes.
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

// A part of a communicator, freed with the object, or MPI_COMM_WORLD. Errors are returned as codes.
class Communicator {
 public:
  // MPI_COMM_WORLD itself. What is begun there and left unfinished, the next one there finds.
  static Communicator world();
  // Collective over `whole`. Ranks with the same colour get one communicator, in the order of
  // `key`.
  static Communicator split(MPI_Comm whole, int colour, int key);
  static Communicator split_world(int colour, int key);
  ~Communicator();
  Communicator(Communicator&& other) noexcept : comm_(other.comm_) { other.comm_ = MPI_COMM_NULL; }
  Communicator& operator=(Communicator&&) = delete;
  MPI_Comm get() const { return comm_; }

 private:
  Communicator() = default;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// Ends every process of the job with this exit code immediately. The only place that calls
// MPI_Abort; without MPI it calls _exit().
[[noreturn]] void abort_job(int exit_code);

}  // namespace cb::mpi
