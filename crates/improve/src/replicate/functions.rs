//! The functions of OpenCL C, as far as replication knows them.

/// What becomes of a call with vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FunctionKind {
    /// It exists for vectors, component by component.
    Elementwise,
    /// Not of the language: a function of the source.
    Own,
    /// Barriers, atomics, and functions whose work-items act together.
    Refused,
}

const ELEMENTWISE: &[&str] = &[
    "abs",
    "abs_diff",
    "add_sat",
    "sub_sat",
    "hadd",
    "rhadd",
    "clamp",
    "mad_hi",
    "mad_sat",
    "mad24",
    "mul24",
    "max",
    "min",
    "mul_hi",
    "rotate",
    "clz",
    "popcount",
    "fabs",
    "fma",
    "mad",
    "fmax",
    "fmin",
    "floor",
    "ceil",
    "round",
    "rint",
    "trunc",
    "sqrt",
    "rsqrt",
    "cbrt",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "pow",
    "powr",
    "mix",
    "step",
    "smoothstep",
    "sign",
    "degrees",
    "radians",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "fmod",
    "fdim",
    "hypot",
    "maxmag",
    "minmag",
    "copysign",
    "native_cos",
    "native_divide",
    "native_exp",
    "native_exp2",
    "native_exp10",
    "native_log",
    "native_log2",
    "native_log10",
    "native_powr",
    "native_recip",
    "native_rsqrt",
    "native_sin",
    "native_sqrt",
    "native_tan",
    "half_cos",
    "half_divide",
    "half_exp",
    "half_exp2",
    "half_exp10",
    "half_log",
    "half_log2",
    "half_log10",
    "half_powr",
    "half_recip",
    "half_rsqrt",
    "half_sin",
    "half_sqrt",
    "half_tan",
];

const REFUSED: &[&str] = &[
    "barrier",
    "mem_fence",
    "read_mem_fence",
    "write_mem_fence",
    "atom",
    "sub_group",
    "work_group",
    "async_work_group",
    "wait_group_events",
    "prefetch",
    "printf",
    "read_image",
    "write_image",
    "intel_sub_group",
    "qcom_",
    "arm_dot",
    "vstore",
    "enqueue_",
];

/// Whether a function computes from numbers or from vectors of them, component by component.
pub(crate) fn is_elementwise(name: &str) -> bool {
    ELEMENTWISE.contains(&name) || conversion(name).is_some()
}

/// What becomes of a call of `name`.
pub(super) fn kind(name: &str) -> FunctionKind {
    if is_elementwise(name) {
        return FunctionKind::Elementwise;
    }
    if REFUSED.iter().any(|start| name.starts_with(start)) {
        FunctionKind::Refused
    } else {
        FunctionKind::Own
    }
}

/// Whether trailing scalars are allowed beside a vector as the first argument.
pub(super) fn takes_scalars(name: &str) -> bool {
    ["clamp", "max", "min"].contains(&name)
}

/// The type and the suffix of `convert_uchar_sat`.
pub(super) fn conversion(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix("convert_")?;
    let end = rest.find('_').unwrap_or(rest.len());
    (!rest[..end].ends_with(|letter: char| letter.is_ascii_digit())).then(|| rest.split_at(end))
}

/// Whether a function tells about the work-item.
pub(super) fn is_work_item(name: &str) -> bool {
    ["get_local_", "get_group_", "get_num_", "get_global_", "get_enqueued_", "get_sub_group"]
        .iter()
        .any(|start| name.starts_with(start))
        || name == "get_work_dim"
}
