// What measurements, jobs and loading write in English, by who writes it, with its Chinese.
#pragma once

#include <span>

#include "report/phrases.h"

namespace cb {

std::span<const Phrase> campaign_phrases();  // jobs, directory, re-measuring
std::span<const Phrase> host_phrases();      // info, gemm, bandwidth, burn on processors
std::span<const Phrase> gpu_phrases();       // all cases on GPUs, health, NVML
std::span<const Phrase> xid_phrases();       // what an Xid means
std::span<const Phrase> storage_phrases();   // io, gds, raw devices
std::span<const Phrase> network_phrases();   // mpi, tcp, verbs, hangs
std::span<const Phrase> suspect_phrases();   // locate

}  // namespace cb
