/* Return the bits of the widest vectors that the processor has, at most `bits`, and at least 128. */
static int widest(int bits) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    int narrow = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    int wide = narrow && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    return bits >= 512 && wide ? 512 : bits >= 256 && narrow ? 256 : 128;
#else
    (void)bits;
    return 128;
#endif
}
