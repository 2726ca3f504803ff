// SPDX-License-Identifier: Apache-2.0
// The links of this machine's file system, for what no agent may touch (protection/protection.h).
#pragma once

#include <string>

#include "protection/protection.h"

namespace baton::main {

class FileLinks final : public protection::Links {
 public:
  std::string resolved(const std::string& path) const override;
};

}  // namespace baton::main
