/* Include LOOPS once for each set of instructions: NAME(x), TARGET, LANES floats in a vector, and tiles of HIGH rows by
   WIDE vectors. x_512, x_256 and x_128 are then defined; `widest` (_widest.h) says which of them the processor can run. */

#if defined(__x86_64__)
#define NAME(x) x##_512
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,avx2")))
#define LANES 16
#define WIDE 2
#define HIGH 8
#include LOOPS
#include "_unset.h"
#define NAME(x) x##_256
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define WIDE 3
#define HIGH 4
#include LOOPS
#include "_unset.h"
#endif
#define NAME(x) x##_128
#define TARGET
#define LANES 4
#define WIDE 2
#define HIGH 4
#include LOOPS
#include "_unset.h"
