// y = x W over half, one element of y a work-item.
//
// W is k x n, row-major: work-item j walks down column j, and its neighbours walk down the neighbouring columns beside it,
// so each row of W is read as whole lines. Every element of W is used once: the product can be no faster than memory.
//
// Lesson: two bytes a load. The load/store unit takes the same time for an instruction that loads 2 bytes as for one that
// loads 8 or 16, and x is loaded again for every element.

// Global size: n, rounded up to whole work-groups, x vectors.
kernel void gemv_naive(global const half *x, global const half *w, global half *y, const uint n, const uint k)
{
    const uint j = get_global_id(0);
    const uint i = get_global_id(1);
    if (j >= n)
        return;
    float sum = 0;
    for (uint l = 0; l < k; ++l)
        sum += vload_half(i * k + l, x) * vload_half(l * n + j, w);
    vstore_half(sum, i * n + j, y);
}
