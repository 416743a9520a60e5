// SPDX-License-Identifier: Apache-2.0
#include "juno/decision.h"

#include <gtest/gtest.h>

#include "dispatch/isa_list.h"
#include "dispatch/registry.h"
#include "format/iq4_xs.h"
#include "layout/layout_list.h"
#include "pack/recipe_list.h"

namespace juno {
namespace {

constexpr std::uint32_t kIq4Xs = format::Iq4Xs::kGgufType;
constexpr std::uint32_t kF32 = 0;

Target scalar_target() { return {.machine = cpu::facts(), .enabled = true, .isa = "scalar", .verified = false}; }

Target target_for(const cpu::Facts& machine) {
  return {.machine = machine, .enabled = true, .isa = {}, .verified = false};
}

TensorFacts matrix(std::uint32_t type, std::uint64_t width, std::uint64_t rows,
                   Operation operation = Operation::mul_mat) {
  return {.name = "blk.0.attn_q.weight", .type = type, .shape = {width, rows, 1, 1}, .operation = operation};
}

TEST(Decide, CompilesAProduct) {
  const Decision decision = decide(matrix(kIq4Xs, 512, 65), scalar_target());
  EXPECT_TRUE(decision.compiled());
  EXPECT_EQ(decision.recipe->layout.name, "lut4");
  EXPECT_EQ(dispatch::kernel_id(*decision.kernel), "gemv.lut4.scalar");
  EXPECT_EQ(decision.packed_bytes, 2u * 2u * 8832u);
}

TEST(Decide, CompilesExperts) {
  TensorFacts experts = matrix(kIq4Xs, 512, 65, Operation::mul_mat_id);
  experts.shape[2] = 8;
  const Decision decision = decide(experts, scalar_target());
  EXPECT_TRUE(decision.compiled());
  EXPECT_EQ(decision.packed_bytes, 8u * 2u * 2u * 8832u);
}

TEST(Decide, ReasonsInTheirOrder) {
  const Target target = scalar_target();
  EXPECT_EQ(decide(matrix(kF32, 256, 64), target).reason, Reason::type);
  EXPECT_EQ(decide(matrix(kIq4Xs, 256, 64, Operation::get_rows), target).reason, Reason::operation);
  EXPECT_EQ(decide(matrix(kIq4Xs, 256, 64, Operation::other), target).reason, Reason::operation);
  EXPECT_EQ(decide(matrix(kIq4Xs, 200, 64), target).reason, Reason::shape);
  EXPECT_EQ(decide(matrix(kIq4Xs, 0, 64), target).reason, Reason::shape);
  EXPECT_EQ(decide(matrix(kIq4Xs, 256, 0), target).reason, Reason::shape);
  EXPECT_EQ(decide(matrix(kIq4Xs, std::uint64_t{1} << 59, 1), target).reason, Reason::shape);
  EXPECT_EQ(decide(matrix(kIq4Xs, 256, std::uint64_t{1} << 59), target).reason, Reason::shape);
  TensorFacts more = matrix(kIq4Xs, 256, 64);
  more.shape[2] = 0;
  EXPECT_EQ(decide(more, target).reason, Reason::shape);
  more.shape[2] = std::uint64_t{1} << 40;
  EXPECT_EQ(decide(more, target).reason, Reason::shape);
  more.shape = {256, 64, 1, 2};
  EXPECT_EQ(decide(more, target).reason, Reason::shape);
  Target off = target;
  off.enabled = false;
  EXPECT_EQ(decide(matrix(kIq4Xs, 256, 64), off).reason, Reason::engine_off);
}

TEST(Decide, TensorsThatAreNotChosen) {
  const auto reason = [](std::string_view only, std::string_view skip) {
    Target target = scalar_target();
    if (!only.empty()) target.only = Pattern::compile(only, "--only").value();
    if (!skip.empty()) target.skip = Pattern::compile(skip, "JUNO_SKIP").value();
    return decide(matrix(kIq4Xs, 256, 64), target);  // blk.0.attn_q.weight
  };
  EXPECT_TRUE(reason("attn_[qk]", "").compiled());
  EXPECT_TRUE(reason("", "ffn").compiled());
  EXPECT_TRUE(reason("attn", "ffn").compiled());
  const Decision left_out = reason("ffn", "");
  EXPECT_EQ(left_out.reason, Reason::not_chosen);
  EXPECT_NE(left_out.detail.find("--only"), std::string::npos) << left_out.detail;
  EXPECT_EQ(left_out.packed_bytes, 0u);
  const Decision skipped = reason("attn", "attn_q");
  EXPECT_EQ(skipped.reason, Reason::not_chosen);
  EXPECT_NE(skipped.detail.find("JUNO_SKIP"), std::string::npos) << skipped.detail;
  Target off = scalar_target();
  off.enabled = false;
  off.only = Pattern::compile("ffn", "--only").value();
  EXPECT_EQ(decide(matrix(kIq4Xs, 256, 64), off).reason, Reason::engine_off);
}

TEST(Decide, UnknownInstructionSetIsNamed) {
  Target target = scalar_target();
  target.isa = "mmx";
  const Decision decision = decide(matrix(kIq4Xs, 256, 64), target);
  EXPECT_EQ(decision.reason, Reason::no_kernel);
  EXPECT_NE(decision.detail.find("mmx"), std::string::npos);
}

TEST(Decide, ReferenceKernelsAreNotChosenForRealWork) {
  const Decision decision = decide(matrix(kIq4Xs, 256, 64), target_for({.architecture = "x86-64", .features = {}}));
  EXPECT_EQ(decision.reason, Reason::no_kernel);
  EXPECT_FALSE(decision.detail.empty());
}

TEST(Decide, MachinesWithoutTheRightSme) {
  EXPECT_TRUE(decide(matrix(kIq4Xs, 256, 64), target_for(cpu::sme2_machine())).compiled());
  cpu::Facts no_sme2 = cpu::sme2_machine();
  no_sme2.features = {cpu::Feature::dotprod, cpu::Feature::sme};
  const Decision without = decide(matrix(kIq4Xs, 256, 64), target_for(no_sme2));
  EXPECT_EQ(without.reason, Reason::no_kernel);
  EXPECT_EQ(without.detail, "no kernel for this CPU, which has no sme2");
  cpu::Facts short_vectors = cpu::sme2_machine();
  short_vectors.streaming_vector_bytes = 32;
  const Decision declined = decide(matrix(kIq4Xs, 256, 64), target_for(short_vectors));
  EXPECT_EQ(declined.reason, Reason::vector_size);
  EXPECT_EQ(declined.detail, "no kernel for streaming vectors of 256 bits, only for 512");
}

TEST(Decide, EveryReasonHasAName) {
  for (unsigned i = 0; i <= static_cast<unsigned>(Reason::no_memory); ++i) {
    EXPECT_NE(to_string(static_cast<Reason>(i)), "unknown") << i;
  }
}

TEST(Registry, RowsAreUniqueAndBelongToLayouts) {
  std::vector<std::string> ids;
  for (const kernel::KernelInfo& kernel : dispatch::registry()) {
    ids.push_back(dispatch::kernel_id(kernel));
    EXPECT_LE(ids.back().size(), 40u);
    EXPECT_TRUE(std::any_of(layout::kLayouts.begin(), layout::kLayouts.end(), [&](const layout::Info& info) {
      return info.fingerprint == kernel.layout_fingerprint && info.name == kernel.layout;
    })) << ids.back();
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

TEST(Registry, EveryLayoutHasASpecification) {
  for (const layout::Info& info : layout::kLayouts) {
    EXPECT_NE(dispatch::reference_kernel(info.fingerprint), nullptr) << info.name;
  }
  EXPECT_EQ(dispatch::reference_kernel(0), nullptr);
}

TEST(OperationOf, NamesOfRealModels) {
  EXPECT_EQ(operation_of("token_embd.weight"), Operation::get_rows);
  EXPECT_EQ(operation_of("per_layer_token_embd.weight"), Operation::get_rows);
  EXPECT_EQ(operation_of("output.weight"), Operation::mul_mat);
  EXPECT_EQ(operation_of("output_norm.weight"), Operation::other);
  EXPECT_EQ(operation_of("blk.3.attn_q.weight"), Operation::mul_mat);
  EXPECT_EQ(operation_of("blk.3.attn_q.bias"), Operation::other);
  EXPECT_EQ(operation_of("blk.3.attn_q_norm.weight"), Operation::other);
  EXPECT_EQ(operation_of("blk.3.ffn_gate_inp.weight"), Operation::mul_mat);
  EXPECT_EQ(operation_of("blk.3.ffn_gate_exps.weight"), Operation::mul_mat_id);
  EXPECT_EQ(operation_of("blk.3.ffn_up_shexp.weight"), Operation::mul_mat);
  EXPECT_EQ(operation_of("blk.3.ssm_conv1d.weight"), Operation::other);
  EXPECT_EQ(operation_of("blk.3.ssm_in.weight"), Operation::mul_mat);
  EXPECT_EQ(operation_of("rope_freqs.weight"), Operation::other);
  EXPECT_EQ(operation_of(""), Operation::mul_mat);
  EXPECT_EQ(operation_of("..."), Operation::mul_mat);
}

}  // namespace
}  // namespace juno
