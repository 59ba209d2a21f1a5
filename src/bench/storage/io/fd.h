#pragma once

#include "core/descriptor.h"

namespace cb::io {

using Fd = Descriptor;

}  // namespace cb::io
