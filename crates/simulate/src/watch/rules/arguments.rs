//! Uses of arguments that contradict their declarations.

use tripipe_ir::diagnostic::{Rule, Severity};

/// Read-only memory is written.
pub const READ_ONLY_WRITE: Rule = Rule {
    code: "read-only-write",
    severity: Severity::Error,
    title: "memory that was declared read-only is written",
    what: "
A write to a buffer or image that the launch makes read-only (`CL_MEM_READ_ONLY`), to constant memory, or to an argument
that the kernel declares as a pointer to `const`.",
    why: "
Drivers rely on it. They place such memory where it cannot be written, read it through caches that writes bypass, skip
copying it back, and let launches that only read it overlap.",
    example: "
__kernel void scale(__global const float *in, __global float *out) {
    int i = get_global_id(0);
    __global float *work = (__global float *)in;  // casts const away
    work[i] *= 2.0f;
    out[i] = work[i];
}",
    instead: "
__kernel void scale(__global const float *in, __global float *out) {
    int i = get_global_id(0);
    out[i] = 2.0f * in[i];
}",
    remark: "Or drop `const`, and make the buffer with `CL_MEM_READ_WRITE`.",
    exceptions: "
In C a cast may remove the `const` of a parameter if the object itself can be written. The declaration is still wrong:
remove it.",
    source: "
- OpenCL API 3.0, 5.2.1 Creating Buffer Objects: writing to an object made with `CL_MEM_READ_ONLY` is undefined.
- OpenCL C 3.0, 6.7.3: writing to the constant address space is illegal. C99, 6.7.3, paragraph 5: the same for objects
  defined `const`.",
    ..Rule::CHECK
};

/// Write-only memory is read.
pub const WRITE_ONLY_READ: Rule = Rule {
    code: "write-only-read",
    severity: Severity::Error,
    title: "memory that was declared write-only is read",
    what: "
A read of a buffer or image that the launch makes write-only (`CL_MEM_WRITE_ONLY`). `+=` reads, and so do atomics.
Writing one component of a vector, or a bit field, is not a read, although the compiler loads the others and stores
them again.",
    why: "
Drivers rely on it. They need not copy the contents to the device, and may map the memory so that reads return nothing
useful.",
    example: "
__kernel void accumulate(__global const float *in, __global float *out) {  // out: CL_MEM_WRITE_ONLY
    int i = get_global_id(0);
    out[i] += in[i];
}",
    advice: "Make the buffer with `CL_MEM_READ_WRITE`, or write without reading.",
    instead: "
__kernel void sum(__global const float *a, __global const float *b, __global float *out) {
    int i = get_global_id(0);
    out[i] = a[i] + b[i];
}",
    exceptions: "When the application's flag differs from that of the checked launch.",
    source: "
- OpenCL API 3.0, 5.2.1 Creating Buffer Objects: reading from an object made with `CL_MEM_WRITE_ONLY` is undefined.",
    ..Rule::CHECK
};

/// Two arguments share memory.
pub const ALIASING_ARGUMENTS: Rule = Rule {
    code: "aliasing-arguments",
    severity: Severity::Warning,
    title: "two arguments share memory that is written, against their `restrict` or `const`",
    what: "
Two buffer arguments whose bytes overlap, because they are the same buffer, overlapping sub-buffers or made of the
same host memory, while the kernel writes one of them, and either has `restrict`, or only one has `const`.",
    why: "
Compilers use `restrict`: they keep values in registers, move reads past writes, and read through caches that do not see
the writes. `const` lets them do less, but says that what is read there stays as it is. Even without either, the order in
which work-items read and write the shared bytes is undefined.",
    example: "
__kernel void blur(__global const float *restrict in, __global float *restrict out, int n) {
    int i = get_global_id(0);
    out[i] = 0.5f * (in[i] + in[min(i + 1, n - 1)]);  // launched with the same buffer for in and out
}",
    advice: "Give the result a buffer of its own. Where every work-item reads only what it writes, use one argument.",
    instead: "
__kernel void halve(__global float *a) {
    int i = get_global_id(0);
    a[i] = 0.5f * a[i];
}",
    exceptions: "
When `const` only says that nothing is written through that argument, and every work-item reads only its own elements.",
    source: "
- C99, 6.7.3.1: the meaning of `restrict`.
- OpenCL API 3.0, 5.2.1 Creating Buffer Objects: overlapping sub-buffers and buffers over the same host memory are
  undefined unless only read.",
    ..Rule::CHECK
};

/// An argument is not used.
pub const UNUSED_ARGUMENT: Rule = Rule {
    code: "unused-argument",
    severity: Severity::Note,
    title: "an argument is never used",
    what: "An argument of the kernel that no instruction uses.",
    why: "
Usually it is a leftover, or another argument is used by mistake. An unused buffer must still be passed and may be
copied to the device needlessly.",
    example: "
__kernel void copy(__global const float *in, __global float *out, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < width)  // height is meant
        out[y * width + x] = in[y * width + x];
}",
    instead: "
__kernel void copy(__global const float *in, __global float *out, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        out[y * width + x] = in[y * width + x];
}",
    exceptions: "When several kernels share one list of arguments on purpose, or a `-D` option switches its use off.",
    source: "- None: it is allowed, and may be intended.",
    ..Rule::CHECK
};

/// The elements of a buffer are not of the type that the kernel points to.
pub const ARGUMENT_TYPE: Rule = Rule {
    code: "argument-type",
    severity: Severity::Warning,
    title: "a buffer has elements of another type than its argument points to",
    what: "
A buffer whose elements are declared, by a launch file or as an array of NumPy, with a type of another size or kind than
that which the kernel's argument points to: `double` or `int` for `float *`.",
    why: "
OpenCL passes bytes, and converts nothing. The kernel reads the bits of one type as another, and often only half of the
elements, or past the end.",
    example: "
__kernel void scale(__global const float *in, __global float *out) {  // in: elements of int
    int i = get_global_id(0);
    out[i] = 2.0f * in[i];
}",
    advice: "Convert the elements, with NumPy by `a.astype(numpy.float32)`, or declare the argument with their type.",
    instead: "
__kernel void scale(__global const int *in, __global float *out) {
    int i = get_global_id(0);
    out[i] = 2.0f * in[i];
}",
    exceptions: "
When the kernel reinterprets the bits on purpose. Signed and unsigned integers of one size are not distinguished, nor is
`half` from 16-bit integers, which hold it where a language has no such type; arguments that point to `char` or `uchar`,
and buffers of bytes from a `file`, have no type.",
    source: "
- OpenCL API 3.0, 5.2.1 Creating Buffer Objects: a buffer is a number of bytes, accessed through the kernel's pointer.",
    ..Rule::CHECK
};
