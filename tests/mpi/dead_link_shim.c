/* In front of libmpi: what rank DEAD_LINK sends as pages of kv-transfer is lost from its message DEAD_AFTER on, as where a
   link dies and nobody is told. */
#include <mpi.h>
#include <stdlib.h>

enum { kPageTag = 71, kNobodySends = 9999 };

static int is_dead(int tag) {
  static long messages;
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *link = getenv("DEAD_LINK"), *after = getenv("DEAD_AFTER");
  return tag == kPageTag && link != NULL && after != NULL && rank == atoi(link) && ++messages > atol(after);
}

int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  if (is_dead(tag)) return PMPI_Irecv(NULL, 0, MPI_BYTE, to, kNobodySends, comm, request);
  return PMPI_Isend(from, count, type, to, tag, comm, request);
}
