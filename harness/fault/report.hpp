// SPDX-License-Identifier: Apache-2.0
// The kill matrix as a table for people, and as a document for programs.
#pragma once

#include <string>
#include <vector>

#include "harness/fault/matrix.hpp"

namespace w4 {

std::string matrix_text(const FaultMatrix&, bool verbose);
// "w4check.faults/1": faults[]{id,class,report,expected_check,...}, matrix[]{fault,kernel,check,
// outcome,problem}; the healthy twin's cells have the fault null.
Evidence matrix_document(const FaultMatrix&);
// A row of `list faults`.
Evidence fault_row(const Fault&);

}  // namespace w4
