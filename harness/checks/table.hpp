// SPDX-License-Identifier: Apache-2.0
// The functions behind the table of checks, one declaration each.
#pragma once

#include "harness/checks/rig.hpp"

namespace w4 {

Verdict address_code(Rig&);
Verdict address_scale(Rig&);
Verdict address_zero(Rig&);
Verdict address_x(Rig&);

Verdict value_table(Rig&);
Verdict value_activation(Rig&);

Verdict exact_zero(Rig&);
Verdict exact_onehot(Rig&);
Verdict exact_dense24(Rig&);
Verdict exact_stride11(Rig&);
Verdict exact_block11(Rig&);
Verdict exact_samesign(Rig&);
Verdict exact_special(Rig&);

Verdict bound_d(Rig&);
Verdict bound_r(Rig&);
Verdict contract_bits(Rig&);

Verdict effect_written(Rig&);
Verdict effect_guard(Rig&);
Verdict effect_inputs(Rig&);
Verdict effect_repeat(Rig&);
Verdict effect_batch(Rig&);
Verdict effect_rowlocal(Rig&);
Verdict effect_m0(Rig&);
Verdict effect_stride(Rig&);
Verdict effect_state(Rig&);
Verdict effect_threads(Rig&);

Verdict dispatch_path(Rig&);
Verdict dispatch_bits(Rig&);
Verdict dispatch_symbol(Rig&);

Verdict reject_reason(Rig&);
Verdict reject_nowrite(Rig&);

}  // namespace w4
