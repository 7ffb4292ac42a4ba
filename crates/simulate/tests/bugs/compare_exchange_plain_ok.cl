// The same, with a plain read before the first try and in each of them: whatever it gives, the exchange is only made if it
// is still there.
#define SUM(NAME, FIRST, AGAIN) \
    void NAME(volatile global float *sum, float value) { \
        union { uint bits; float number; } before, after, seen; \
        FIRST \
        do { \
            AGAIN \
            after.number = before.number + value; \
            seen.bits = atomic_cmpxchg((volatile global uint *)sum, before.bits, after.bits); \
        } while (seen.bits != before.bits); \
    }

SUM(read_once, seen.number = *sum;, before = seen;)
SUM(read_each, , before.number = *sum;)

kernel void compare_exchange_plain_ok(global const float *in, volatile global float *sums) {
    float value = in[get_global_id(0)];
    read_once(&sums[0], value);
    read_each(&sums[get_local_id(0)], value);
}
