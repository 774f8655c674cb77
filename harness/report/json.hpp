// SPDX-License-Identifier: Apache-2.0
// The machine's view of a run and of the lists: JSON text with a stable order of keys and cases.
#pragma once

#include <string>
#include <vector>

#include "harness/run/environment.hpp"
#include "harness/run/result.hpp"

namespace w4 {

// "w4check.run/1". The same seed gives the same text but for seconds, wall_s and started.
std::string run_json(const RunResult&, const Environment&);

// {"name": [{...}]}
std::string list_json(const std::string& name, const std::vector<Evidence>& rows);

// Any document made of evidence values.
std::string document_json(const Evidence&);

// Evidence as indented JSON, for people (-v).
std::string evidence_text(const Evidence&, int indent);

}  // namespace w4
