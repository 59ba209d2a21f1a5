#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "core/messages/said.h"

// The part of MPI's C interface that this program calls, through a table that is filled at run
// time. The library is that of the job's launcher, and MPI has three binary interfaces: Open MPI's,
// MPICH's, and the standard's (MPI 5). The names are those of the standard. This header only
// replaces <mpi.h>: include "sys/mpi/mpi.h".
struct CbMpiComm;
struct CbMpiDatatype;
struct CbMpiOp;
struct CbMpiRequest;
struct CbMpiErrhandler;
using MPI_Comm = CbMpiComm*;
using MPI_Datatype = CbMpiDatatype*;
using MPI_Op = CbMpiOp*;
using MPI_Request = CbMpiRequest*;
using MPI_Errhandler = CbMpiErrhandler*;
// Its members differ between the interfaces: it has 20 bytes in MPICH, 24 in Open MPI, 32 in the
// standard. Read it with MPI_Get_count.
struct MPI_Status {
  alignas(8) unsigned char bytes[64];
};

// X(name, parameters, arguments)
#define CB_MPI_FUNCTIONS(X)                                                                        \
  X(MPI_Init, (int* c, char*** v), (c, v))                                                         \
  X(MPI_Initialized, (int* flag), (flag))                                                          \
  X(MPI_Finalized, (int* flag), (flag))                                                            \
  X(MPI_Finalize, (), ())                                                                          \
  X(MPI_Abort, (MPI_Comm comm, int code), (comm, code))                                            \
  X(MPI_Error_string, (int code, char* text, int* length), (code, text, length))                   \
  X(MPI_Get_library_version, (char* text, int* length), (text, length))                            \
  X(MPI_Comm_rank, (MPI_Comm comm, int* rank), (comm, rank))                                       \
  X(MPI_Comm_size, (MPI_Comm comm, int* size), (comm, size))                                       \
  X(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm * out), (comm, out))                                    \
  X(MPI_Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm* out), (comm, colour, key, out)) \
  X(MPI_Comm_free, (MPI_Comm * comm), (comm))                                                      \
  X(MPI_Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), (comm, handler))             \
  X(MPI_Barrier, (MPI_Comm comm), (comm))                                                          \
  X(MPI_Bcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm comm), (b, n, t, root, comm))   \
  X(MPI_Reduce,                                                                                    \
    (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm),           \
    (s, r, n, t, op, root, comm))                                                                  \
  X(MPI_Allreduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),      \
    (s, r, n, t, op, comm))                                                                        \
  X(MPI_Iallreduce,                                                                                \
    (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm, MPI_Request* q),     \
    (s, r, n, t, op, comm, q))                                                                     \
  X(MPI_Reduce_scatter_block,                                                                      \
    (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),                     \
    (s, r, n, t, op, comm))                                                                        \
  X(MPI_Gather,                                                                                    \
    (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root, MPI_Comm c),  \
    (s, n, t, r, m, u, root, c))                                                                   \
  X(MPI_Gatherv,                                                                                   \
    (const void* s, int n, MPI_Datatype t, void* r, const int* m, const int* d, MPI_Datatype u,    \
     int root, MPI_Comm c),                                                                        \
    (s, n, t, r, m, d, u, root, c))                                                                \
  X(MPI_Scatter,                                                                                   \
    (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root, MPI_Comm c),  \
    (s, n, t, r, m, u, root, c))                                                                   \
  X(MPI_Allgather,                                                                                 \
    (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c),            \
    (s, n, t, r, m, u, c))                                                                         \
  X(MPI_Alltoall,                                                                                  \
    (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c),            \
    (s, n, t, r, m, u, c))                                                                         \
  X(MPI_Alltoallv,                                                                                 \
    (const void* s, const int* n, const int* d, MPI_Datatype t, void* r, const int* m,             \
     const int* e, MPI_Datatype u, MPI_Comm c),                                                    \
    (s, n, d, t, r, m, e, u, c))                                                                   \
  X(MPI_Send, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c),                 \
    (b, n, t, to, tag, c))                                                                         \
  X(MPI_Recv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* st),     \
    (b, n, t, from, tag, c, st))                                                                   \
  X(MPI_Sendrecv,                                                                                  \
    (const void* s, int n, MPI_Datatype t, int to, int tag, void* r, int m, MPI_Datatype u,        \
     int from, int rtag, MPI_Comm c, MPI_Status* st),                                              \
    (s, n, t, to, tag, r, m, u, from, rtag, c, st))                                                \
  X(MPI_Isend,                                                                                     \
    (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* q),           \
    (b, n, t, to, tag, c, q))                                                                      \
  X(MPI_Irecv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* q),    \
    (b, n, t, from, tag, c, q))                                                                    \
  X(MPI_Iallgather,                                                                                \
    (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c,             \
     MPI_Request* q),                                                                              \
    (s, n, t, r, m, u, c, q))                                                                      \
  X(MPI_Ialltoall,                                                                                 \
    (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c,             \
     MPI_Request* q),                                                                              \
    (s, n, t, r, m, u, c, q))                                                                      \
  X(MPI_Ialltoallv,                                                                                \
    (const void* s, const int* n, const int* d, MPI_Datatype t, void* r, const int* m,             \
     const int* e, MPI_Datatype u, MPI_Comm c, MPI_Request* q),                                    \
    (s, n, d, t, r, m, e, u, c, q))                                                                \
  X(MPI_Ibcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request* q),            \
    (b, n, t, root, c, q))                                                                         \
  X(MPI_Igather,                                                                                   \
    (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root, MPI_Comm c,   \
     MPI_Request* q),                                                                              \
    (s, n, t, r, m, u, root, c, q))                                                                \
  X(MPI_Iscatter,                                                                                  \
    (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root, MPI_Comm c,   \
     MPI_Request* q),                                                                              \
    (s, n, t, r, m, u, root, c, q))                                                                \
  X(MPI_Ireduce,                                                                                   \
    (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c,               \
     MPI_Request* q),                                                                              \
    (s, r, n, t, op, root, c, q))                                                                  \
  X(MPI_Ireduce_scatter_block,                                                                     \
    (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request* q),        \
    (s, r, n, t, op, c, q))                                                                        \
  X(MPI_Test, (MPI_Request * q, int* flag, MPI_Status* st), (q, flag, st))                         \
  X(MPI_Get_count, (const MPI_Status* st, MPI_Datatype t, int* n), (st, t, n))

namespace cb::mpi {

// Values that the standard leaves to each library.
struct Constants {
  MPI_Comm comm_world, comm_null;
  MPI_Request request_null;
  MPI_Errhandler errors_return;
  MPI_Status* status_ignore;
  void* in_place;
  MPI_Datatype byte, int_, unsigned_long_long, float_, double_;
  MPI_Datatype int8, uint8, int32, uint32, int64, uint64;
  MPI_Op max, min, sum, prod;
};

enum class Abi { none, open_mpi, mpich, standard };

struct Api {
#define CB_MPI_SLOT(name, parameters, arguments) int(*name) parameters;
  CB_MPI_FUNCTIONS(CB_MPI_SLOT)
#undef CB_MPI_SLOT
  Constants constants;
  Abi abi;
  std::string path;  // the library's path; empty if there is none
  Said reason;       // why there is no library; empty if there is one
};

// Opens the library of this process and publishes it in `published_api`. Never throws.
const Api& open_own();
extern std::atomic<const Api*> published_api;

// Returns the library of this process, which is opened at the first call. Without a library every
// function fails, except Initialized and Finalized, which answer no. Never throws. Inline, which a
// compiler left to itself forgets in long functions: calls that are timed come through here.
[[gnu::always_inline]] inline const Api& api() {
  const Api* const own = published_api.load(std::memory_order_acquire);
  return own != nullptr ? *own : open_own();
}

// Returns which interface a library has. The standard's is known by the name that it was built
// under (or by the file's), because it may be built on Open MPI's and show its objects too. The
// other two are known by their objects: Open MPI 1 also was libmpi.so.12.
Abi abi_of(std::string_view name, bool open_mpi_objects);

// Returns the table of one library and tries only `path`; for tests.
Api open_api(const std::string& path);

}  // namespace cb::mpi

#define CB_MPI_INLINE(name, parameters, arguments) \
  inline int name parameters { return ::cb::mpi::api().name arguments; }
CB_MPI_FUNCTIONS(CB_MPI_INLINE)
#undef CB_MPI_INLINE

#define MPI_SUCCESS 0
#define MPI_MAX_ERROR_STRING 1024            // the largest of the three interfaces
#define MPI_MAX_LIBRARY_VERSION_STRING 8192  // the largest of the three interfaces
#define MPI_COMM_WORLD (::cb::mpi::api().constants.comm_world)
#define MPI_COMM_NULL (::cb::mpi::api().constants.comm_null)
#define MPI_REQUEST_NULL (::cb::mpi::api().constants.request_null)
#define MPI_ERRORS_RETURN (::cb::mpi::api().constants.errors_return)
#define MPI_STATUS_IGNORE (::cb::mpi::api().constants.status_ignore)
#define MPI_IN_PLACE (::cb::mpi::api().constants.in_place)
#define MPI_BYTE (::cb::mpi::api().constants.byte)
#define MPI_INT (::cb::mpi::api().constants.int_)
#define MPI_UNSIGNED_LONG_LONG (::cb::mpi::api().constants.unsigned_long_long)
#define MPI_FLOAT (::cb::mpi::api().constants.float_)
#define MPI_DOUBLE (::cb::mpi::api().constants.double_)
#define MPI_INT8_T (::cb::mpi::api().constants.int8)
#define MPI_UINT8_T (::cb::mpi::api().constants.uint8)
#define MPI_INT32_T (::cb::mpi::api().constants.int32)
#define MPI_UINT32_T (::cb::mpi::api().constants.uint32)
#define MPI_INT64_T (::cb::mpi::api().constants.int64)
#define MPI_UINT64_T (::cb::mpi::api().constants.uint64)
#define MPI_MAX (::cb::mpi::api().constants.max)
#define MPI_MIN (::cb::mpi::api().constants.min)
#define MPI_SUM (::cb::mpi::api().constants.sum)
#define MPI_PROD (::cb::mpi::api().constants.prod)
