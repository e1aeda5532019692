#pragma once

/// Marks the symbols that librelucent exports; all others are hidden.
#define RELUCENT_API __attribute__((visibility("default")))
