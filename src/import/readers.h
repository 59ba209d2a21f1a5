#pragma once

#include "import/program_output.h"

// One reader for each form of output; read_program_output() chooses.
namespace cb {

// The table of HPL, of hpcc's section HPL and of rocHPL-MxP: "T/V N NB P Q Time Gflops".
ProgramOutput read_hpl_table(Program program, std::string_view text, const std::string& source);
// The block of NVIDIA's HPL-MxP: "GFLOPS = …, per GPU = …".
ProgramOutput read_mxp_block(std::string_view text, const std::string& source);
// The summary of HPCG 3: lines "Section::key=value".
ProgramOutput read_hpcg(std::string_view text, const std::string& source);

}  // namespace cb
