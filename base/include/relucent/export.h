#pragma once

/// Marks what librelucent's users may link against; everything else is hidden.
#define RELUCENT_API __attribute__((visibility("default")))
