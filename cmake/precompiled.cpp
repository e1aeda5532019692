// Intentionally empty: relucent_common_headers is the target whose precompiled headers others use.
