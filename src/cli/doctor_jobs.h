#pragma once

#include <string>
#include <vector>

#include "cli/doctor_checks.h"
#include "cli/run_cmd_setup.h"
#include "core/messages/said.h"

// The jobs that `doctor` starts by a launcher. Each brings a document back among whatever else is
// on its standard output (core/document_lines.h): that a launcher ends with 0 says nothing of
// ranks.
namespace cb {

// The row mpi of this host, after a job of two ranks here: an mpirun and a library that opens are
// no job yet. `mpi` is the row before; it is ok.
DoctorCheck mpi_after_job(const DoctorCheck& mpi);

// What these hosts say of themselves, each in a job of one rank; up to 32 are asked at once. A host
// that does not answer has one row, reached.
std::vector<DoctorHost> hosts_asked(const Launching& launching,
                                    const std::vector<HostSlots>& hosts);

// The row listeners: every pair of the hosts exchanges data over ports that the kernel chooses, so
// that a firewall between them is found by what it does.
DoctorCheck listeners_of(const Launching& launching);

}  // namespace cb
