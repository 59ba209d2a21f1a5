// What the values of cuFile's CUfileOpError mean.
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "sys/storage/cufile.h"

namespace cb::cufile {
namespace {

constexpr int kFirstError = 5001;

// From 5001 on, without a gap; empty where cufile.h of CUDA 13.0 has no value.
constexpr std::string_view kCufileErrors[] = {
    "nvidia-fs is not loaded",                                         // 5001
    "the driver's properties cannot be read",                          //
    "a property is out of its range",                                  //
    "nvidia-fs is of another version",                                 //
    "the version of nvidia-fs cannot be read",                         // 5005
    "the driver is closing",                                           //
    "GDS is not supported on this platform",                           //
    "not supported on this file",                                      //
    "GPU not supported",                                               //
    "nvidia-fs refused a call",                                        // 5010
    "CUDA driver error",                                               //
    "not an address of the GPU's memory",                              //
    "memory of a kind that is not supported",                          //
    "beyond the end of an allocation",                                 //
    "memory of another CUDA context",                                  // 5015
    "more than may be pinned",                                         //
    "beyond the end of what is registered",                            //
    "neither a file nor a block device",                               //
    "the file was opened with a flag that cuFile does not take",       //
    "the file was not opened for direct IO",                           // 5020
    "",                                                                //
    "invalid value",                                                   //
    "memory already registered",                                       //
    "memory not registered",                                           //
    "access to the driver or the file is denied",                      // 5025
    "the driver is already open",                                      //
    "file not registered",                                             //
    "file already registered",                                         //
    "GPU not found",                                                   //
    "internal error",                                                  // 5030
    "no further file descriptor",                                      //
    "",                                                                //
    "nvidia-fs cannot be set up",                                      //
    "cufile.json switches GDS off for this file",                      //
    "the batch was not taken",                                         // 5035
    "pinning the GPU's memory failed",                                 //
    "batch full",                                                      //
    "requests in a stream are not supported",                          //
    "internal error in setting up a batch",                            //
    "internal error in submitting a batch",                            // 5040
    "internal error in asking for a batch",                            //
    "internal error in cancelling a batch",                            //
    "no memory",                                                       //
    "input or output error",                                           //
    "internal error in registering memory",                            // 5045
    "internal error in a table of the library",                        //
    "invalid context",                                                 //
    "internal error of nvidia-fs",                                     //
    "compatibility mode is switched off and no direct path is there",  // 5049
};

}  // namespace

std::string error_text(int error) {
  const int at = error - kFirstError;
  const bool known = at >= 0 && at < static_cast<int>(std::size(kCufileErrors));
  const std::string_view text = known ? kCufileErrors[at] : "";
  return fmt::format("{} ({})", error, text.empty() ? "see cufile.h" : text);
}

}  // namespace cb::cufile
