"""How Numba compiles the kernels: functions linked into their callers, the cache, operators resolved once."""
