// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "juno/decision.h"

namespace juno {
namespace {

struct Rule {
  std::string_view part;  ///< a whole dot-separated part of the name, or its end if it starts with '*'
  Operation operation;
};

// Parts of tensor names that are not plain matrix products. A weight that nobody lists here is one.
constexpr std::array kRules = std::to_array<Rule>({
    {"token_embd", Operation::get_rows},
    {"per_layer_token_embd", Operation::get_rows},
    {"position_embd", Operation::get_rows},
    {"token_types", Operation::get_rows},
    {"embed_tokens", Operation::get_rows},
    {"attn_rel_b", Operation::get_rows},
    {"ffn_gate_tid2eid", Operation::get_rows},
    {"d2t", Operation::get_rows},
    {"*_exps", Operation::mul_mat_id},
    {"*_chexps", Operation::mul_mat_id},
    {"*_norm", Operation::other},
    {"*_norm_2", Operation::other},
    {"*_scale", Operation::other},
    {"rope_freqs", Operation::other},
    {"ssm_conv1d", Operation::other},
    {"ssm_a", Operation::other},
    {"ssm_d", Operation::other},
    {"conv1d", Operation::other},
    {"attn_sinks", Operation::other},
    {"bias", Operation::other},
    {"exp_probs_b", Operation::other},
});

bool matches(std::string_view part, std::string_view pattern) noexcept {
  if (pattern.starts_with('*')) return part.ends_with(pattern.substr(1));
  return part == pattern;
}

}  // namespace

std::string_view to_string(Operation operation) noexcept {
  switch (operation) {
    case Operation::mul_mat: return "MUL_MAT";
    case Operation::mul_mat_id: return "MUL_MAT_ID";
    case Operation::get_rows: return "GET_ROWS";
    case Operation::other: return "other";
  }
  return "unknown";
}

Operation operation_of(std::string_view tensor_name) noexcept {
  for (std::string_view rest = tensor_name; !rest.empty();) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    for (const Rule& rule : kRules) {
      // "bias" anywhere but at the end would be a name we do not know; it still is no product.
      if (matches(part, rule.part)) return rule.operation;
    }
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  return Operation::mul_mat;
}

}  // namespace juno
