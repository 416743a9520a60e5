// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/kernels_ran.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  juno::test::write_kernel_log();
  return status;
}
