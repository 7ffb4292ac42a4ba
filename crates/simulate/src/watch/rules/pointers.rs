//! Invalid addresses.

use tripipe_ir::diagnostic::{Rule, Severity};

/// Memory is accessed through a null pointer.
pub const NULL_POINTER: Rule = Rule {
    code: "null-pointer",
    severity: Severity::Error,
    title: "memory is accessed through a null pointer",
    what: "
A read or write whose address was made from a null pointer: a buffer argument that the host left null, a pointer that
was set to 0, or an index added to either.",
    why: "
Address 0 is ordinary memory on some devices, so the access silently hits something else; on others the device faults.",
    example: "
__kernel void add_bias(__global float *a, __global const float *bias) {
    int i = get_global_id(0);
    a[i] += bias[i];  // the host passes no bias: NULL
}",
    advice: "Test an argument that may be null, or compile two kernels without the test.",
    instead: "
__kernel void add_bias(__global float *a, __global const float *bias) {
    int i = get_global_id(0);
    if (bias != 0)
        a[i] += bias[i];
}",
    exceptions: "When the application passes a buffer and the checked launch forgot it: give it to the launch.",
    source: "
- OpenCL C 3.0, 6.5.13 Indirection Operator: a null pointer is among the values that must not be dereferenced.",
    ..Rule::CHECK
};

/// Memory is accessed through an address that belongs to no living object.
pub const DANGLING_POINTER: Rule = Rule {
    code: "dangling-pointer",
    severity: Severity::Error,
    title: "memory is accessed through an address without an object",
    what: "
A read or write through an address that belongs to no live object of the work-item: of a variable whose block has
ended, of another work-item's private variable, of another work-group's local memory, of an object of an earlier
launch, or a number converted to a pointer.",
    why: "
The memory is used for something else by then. Private memory is not even shared: the same address means another
variable in every work-item.",
    example: "
__kernel void pick(__global int *out) {
    __private int *p;
    {
        int x = get_global_id(0);
        p = &x;
    }  // x ends here
    out[get_global_id(0)] = *p;
}",
    advice: "Let the object outlive all pointers to it, and share data through local memory or buffers.",
    instead: "
__kernel void pick(__global int *out) {
    int x = get_global_id(0);
    __private int *p = &x;
    out[get_global_id(0)] = *p;
}",
    exceptions: "
When a launch finds pointers in a buffer that the host put there (shared virtual memory) and the checked launch does not
have those objects.",
    source: "
- OpenCL C 3.0, 6.5.13 Indirection Operator: the address of an object after the end of its lifetime must not be
  dereferenced. 6.7.2 and 6.7.4: who can reach local and private memory.",
    ..Rule::CHECK
};

/// An access is not aligned to its type.
pub const MISALIGNED_ACCESS: Rule = Rule {
    code: "misaligned-access",
    severity: Severity::Error,
    title: "an access is not aligned to the size of its type",
    what: "
A read or write of a scalar or vector whose address is not a multiple of the type's size; vectors of three count as
four. Usually it is a pointer that was cast to a larger type, or an odd offset into a buffer of bytes.",
    why: "
Devices differ: some support it, some read the aligned word that contains the address and so the wrong bytes, some
fault. Compilers rely on the alignment as well, and join or split accesses accordingly.",
    example: "
__kernel void words(__global const uchar *bytes, __global uint *out) {
    int i = get_global_id(0);
    out[i] = *(__global const uint *)(bytes + i);  // aligned for every fourth i only
}",
    advice: "`vloadN` and `vstoreN` only ask for the alignment of one element.",
    instead: "
__kernel void words(__global const uchar *bytes, __global uint *out) {
    int i = get_global_id(0);
    out[i] = as_uint(vload4(0, bytes + i));
}",
    exceptions: "
When the launch makes a buffer start at an odd address that the application's allocator would not give. Buffers of an
OpenCL driver are aligned to every type.",
    source: "
- OpenCL C 3.0, 6.3.5 Alignment of Types: the behavior of an unaligned load or store is undefined. 6.4.5 Pointer
  Casting: a cast asserts the alignment, unchecked.",
    ..Rule::CHECK
};

/// A `vloadN` or `vstoreN` is not aligned to its element.
pub const MISALIGNED_VECTOR: Rule = Rule {
    code: "misaligned-vector",
    severity: Severity::Error,
    title: "vloadN or vstoreN is not aligned as it has to be",
    what: "
A call of `vloadN`, `vstoreN`, `vload_half` or `vstore_half` whose address is not a multiple of the element's size, or of
`vloada_halfN` or `vstorea_halfN` whose address is not a multiple of the whole vector's size (four elements for N = 3).",
    why: "
These functions do not need the alignment of the vector type, but they need the alignment above. With less alignment
the result is undefined: other bytes, or a fault.",
    example: "
__kernel void unpack(__global const uchar *bytes, __global float4 *out) {
    int i = get_global_id(0);
    // a header of 2 bytes, then floats
    out[i] = vload4(i, (__global const float *)(bytes + 2));
}",
    advice: "Read elements for which the address is aligned, and reinterpret them.",
    instead: "
__kernel void unpack(__global const uchar *bytes, __global float4 *out) {
    int i = get_global_id(0);
    out[i] = as_float4(vload16(i, bytes + 2));
}",
    exceptions: "
When the launch makes a buffer start at an odd address that the application's allocator would not give.",
    source: "- OpenCL C 3.0, 6.15.7 Vector Data Load and Store Functions: the alignment each function asks for.",
    ..Rule::CHECK
};

/// The computation of an address overflows.
pub const ADDRESS_OVERFLOW: Rule = Rule {
    code: "address-overflow",
    severity: Severity::Error,
    title: "signed arithmetic of an index overflows",
    what: "
A signed addition, subtraction or multiplication whose result does not fit its type and becomes part of an address.",
    why: "
Overflow of signed integers is undefined. Compilers use that: they widen the index to 64 bits as if it had not
wrapped, or use the wrapped value, which is negative. So one device works and another reads far outside the buffer. It
only happens with large data, which tests seldom have.",
    example: "
__kernel void clear(__global uchar *image, int pitch) {
    int x = get_global_id(0), y = get_global_id(1);
    image[y * pitch + x] = 0;  // does not fit an int from 2 GiB on
}",
    advice: "Widen before the multiplication.",
    instead: "
__kernel void clear(__global uchar *image, int pitch) {
    size_t x = get_global_id(0), y = get_global_id(1);
    image[y * pitch + x] = 0;
}",
    remark: "
On a GPU 64-bit arithmetic costs more: if every buffer stays below 2 GiB, check that on the host and keep `int`.",
    exceptions: "
Never by the language. Where wrapping is intended, as in a hash, compute it in `uint`, which wraps by definition.",
    source: "- C99, 6.5, paragraph 5: a result that its type cannot represent makes the behavior undefined.",
    ..Rule::CHECK
};
