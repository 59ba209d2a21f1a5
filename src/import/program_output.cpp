#include "import/program_output.h"

#include "import/readers.h"

namespace cb {

ProgramOutput read_program_output(Program program, std::string_view text,
                                  const std::string& source) {
  switch (program) {
    case Program::hpl:
      return read_hpl_table(program, text, source);
    case Program::hpl_mxp:
      return text.find("HPL MxP Result") != std::string_view::npos
                 ? read_mxp_block(text, source)
                 : read_hpl_table(program, text, source);
    case Program::hpcg:
      return read_hpcg(text, source);
  }
  throw Error("no such program");
}

}  // namespace cb
