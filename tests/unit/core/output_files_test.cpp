#include "core/output_files.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/unit/core/temp_directory.h"

using namespace cb;
