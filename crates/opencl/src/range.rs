//! Checks whether a kernel can run an index range on a device.

use thiserror::Error;
use tripipe_device::Probe;
use tripipe_launch::NdRange;

/// Why a kernel cannot run a range.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RangeError {
    /// A global size of 0.
    #[error("the global size is 0 in dimension {dimension}")]
    EmptyGlobal {
        /// The dimension, from 0.
        dimension: usize,
    },
    /// A local size of 0.
    #[error("the local size is 0 in dimension {dimension}")]
    EmptyLocal {
        /// The dimension, from 0.
        dimension: usize,
    },
    /// A local size in a dimension that the range does not have.
    #[error("the local size is {size} in dimension {dimension}, the range has {dimensions} dimensions")]
    Dimension {
        /// The dimension, from 0.
        dimension: usize,
        /// The local size in that dimension.
        size: usize,
        /// Number of dimensions of the range.
        dimensions: usize,
    },
    /// Global sizes or offsets beyond the device's address width.
    #[error("more work-items than {bits} bits can count")]
    Overflow {
        /// The device's address width.
        bits: u32,
    },
    /// The local size is over the device's limit in one dimension.
    #[error("the local size {size} in dimension {dimension} is over the device's {limit}")]
    LocalExtent {
        /// The dimension, from 0.
        dimension: usize,
        /// The local size in that dimension.
        size: usize,
        /// `CL_DEVICE_MAX_WORK_ITEM_SIZES` in that dimension.
        limit: usize,
    },
    /// The work-group is too large for this kernel.
    #[error("a work-group of {size} work-items is over the kernel's {limit}")]
    GroupSize {
        /// Work-items of a group.
        size: usize,
        /// `CL_KERNEL_WORK_GROUP_SIZE`.
        limit: usize,
    },
    /// The local size does not divide the global size.
    #[error(
        "the local size {local} does not divide the global size {global} in dimension {dimension}, and the \
         program was not built for non-uniform work-groups"
    )]
    NotDivisible {
        /// The dimension, from 0.
        dimension: usize,
        /// The global size in that dimension.
        global: usize,
        /// The local size in that dimension.
        local: usize,
    },
    /// The kernel was compiled for one work-group size only.
    #[error("the kernel was compiled for work-groups of {}x{}x{} only", required[0], required[1], required[2])]
    Required {
        /// `reqd_work_group_size`.
        required: [usize; 3],
    },
    /// The arguments and the kernel itself use more local memory than the device has.
    #[error("{bytes} bytes of local memory are more than the device's {limit}")]
    LocalMemory {
        /// Bytes per work-group.
        bytes: u64,
        /// The device's local memory.
        limit: u64,
    },
}

/// A kernel's requirements for its range.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GroupRules {
    /// Largest work-group in work-items; 0 if the driver does not report it.
    pub(crate) max_group: usize,
    /// The only allowed work-group size, if there is one.
    pub(crate) required: Option<[usize; 3]>,
    /// Whether the last work-group of a row may be smaller.
    pub(crate) non_uniform: bool,
}

/// Checks `range` against the device and the kernel.
pub(crate) fn check(range: &NdRange, probe: &Probe, rules: &GroupRules) -> Result<(), RangeError> {
    let dimensions = range.dimensions();
    let global = range.global_size();
    let offset = range.global_offset();
    if let Some(dimension) = global[..dimensions].iter().position(|size| *size == 0) {
        return Err(RangeError::EmptyGlobal { dimension });
    }
    let bits = if probe.address_bits == 32 { 32 } else { 64 };
    let countable = |size: u128| size <= 1u128 << bits;
    let each = (0..dimensions).all(|d| countable(global[d] as u128 + offset[d] as u128));
    if !each || range.work_items().is_none_or(|all| !countable(all as u128)) {
        return Err(RangeError::Overflow { bits });
    }

    let Some(local) = range.local_size() else {
        return match rules.required {
            Some(required) => Err(RangeError::Required { required }),
            None => Ok(()),
        };
    };
    for (dimension, &size) in local.iter().enumerate() {
        if size == 0 {
            return Err(RangeError::EmptyLocal { dimension });
        }
        if dimension >= dimensions && size != 1 {
            return Err(RangeError::Dimension { dimension, size, dimensions });
        }
        let limit = probe.max_work_item_sizes[dimension];
        if limit > 0 && size > limit {
            return Err(RangeError::LocalExtent { dimension, size, limit });
        }
    }
    if let Some(required) = rules.required
        && required != local
    {
        return Err(RangeError::Required { required });
    }
    let limit = if rules.max_group > 0 { rules.max_group } else { probe.max_work_group_size };
    let size = local.iter().try_fold(1usize, |all, size| all.checked_mul(*size)).unwrap_or(usize::MAX);
    if limit > 0 && size > limit {
        return Err(RangeError::GroupSize { size, limit });
    }
    if !rules.non_uniform {
        for dimension in 0..dimensions {
            let (global, local) = (global[dimension], local[dimension]);
            if !global.is_multiple_of(local) {
                return Err(RangeError::NotDivisible { dimension, global, local });
            }
        }
    }
    Ok(())
}

/// Checks local memory: `kernel` bytes declared in the kernel and `arguments` bytes of local arguments.
pub(crate) fn check_local_memory(kernel: u64, arguments: u64, probe: &Probe) -> Result<(), RangeError> {
    let bytes = kernel.saturating_add(arguments);
    let limit = probe.local_memory_bytes;
    if limit > 0 && bytes > limit { Err(RangeError::LocalMemory { bytes, limit }) } else { Ok(()) }
}

/// Whether a program built with `options` may have smaller work-groups at the edges: OpenCL C 2.0 or newer, if the
/// device supports it and the options do not forbid it, or Arm's extension.
pub(crate) fn allows_non_uniform(options: &str, probe: &Probe) -> bool {
    let words = || options.split_whitespace();
    if probe.allows_arms_non_uniform(words()) {
        return true;
    }
    let newer = words().any(
        |word| matches!(word.strip_prefix("-cl-std=CL"), Some(version) if version.starts_with(['2', '3'])),
    );
    newer && probe.non_uniform_work_groups && !words().any(|word| word == "-cl-uniform-work-group-size")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mali() -> Probe {
        Probe {
            address_bits: 64,
            max_work_group_size: 384,
            max_work_item_sizes: [384, 384, 384],
            local_memory_bytes: 32 << 10,
            non_uniform_work_groups: true,
            ..Probe::default()
        }
    }

    fn verdict(range: NdRange) -> Result<(), RangeError> {
        check(&range, &mali(), &GroupRules { max_group: 256, ..GroupRules::default() })
    }

    #[test]
    fn good_ranges_pass() {
        assert_eq!(verdict(NdRange::d1(17)), Ok(()));
        assert_eq!(verdict(NdRange::d2(64, 8).local(16, 4, 1)), Ok(()));
        assert_eq!(verdict(NdRange::d3(4, 4, 4).local(4, 4, 4)), Ok(()));
        assert_eq!(verdict(NdRange::d1(256).local(256, 1, 1)), Ok(()));
    }

    #[test]
    fn each_fault_has_its_error() {
        assert_eq!(verdict(NdRange::d2(4, 0)), Err(RangeError::EmptyGlobal { dimension: 1 }));
        assert_eq!(verdict(NdRange::d1(4).local(0, 1, 1)), Err(RangeError::EmptyLocal { dimension: 0 }));
        assert_eq!(
            verdict(NdRange::d1(10).local(4, 1, 1)),
            Err(RangeError::NotDivisible { dimension: 0, global: 10, local: 4 })
        );
        assert_eq!(
            verdict(NdRange::d1(257).local(257, 1, 1)),
            Err(RangeError::GroupSize { size: 257, limit: 256 })
        );
        assert_eq!(
            verdict(NdRange::d1(385).local(385, 1, 1)),
            Err(RangeError::LocalExtent { dimension: 0, size: 385, limit: 384 })
        );
        assert_eq!(
            verdict(NdRange::d1(8).local(4, 2, 1)),
            Err(RangeError::Dimension { dimension: 1, size: 2, dimensions: 1 })
        );
        assert_eq!(verdict(NdRange::d2(usize::MAX, 2)), Err(RangeError::Overflow { bits: 64 }));
        let far = NdRange::d1(2).offset(usize::MAX, 0, 0);
        assert_eq!(verdict(far), Err(RangeError::Overflow { bits: 64 }));
    }

    #[test]
    fn narrow_addresses_count_less() {
        let probe = Probe { address_bits: 32, ..mali() };
        let range = NdRange::d2(1 << 20, 1 << 13);
        assert_eq!(check(&range, &probe, &GroupRules::default()), Err(RangeError::Overflow { bits: 32 }));
    }

    #[test]
    fn a_required_group_size_is_the_only_one() {
        let rules = GroupRules { required: Some([8, 8, 1]), ..GroupRules::default() };
        assert_eq!(check(&NdRange::d2(16, 16).local(8, 8, 1), &mali(), &rules), Ok(()));
        for range in [NdRange::d2(16, 16), NdRange::d2(16, 16).local(4, 4, 1)] {
            assert_eq!(check(&range, &mali(), &rules), Err(RangeError::Required { required: [8, 8, 1] }));
        }
    }

    #[test]
    fn non_uniform_groups_need_language_and_device() {
        let mut probe = mali();
        assert!(!allows_non_uniform("", &probe));
        assert!(!allows_non_uniform("-cl-std=CL1.2", &probe));
        assert!(allows_non_uniform("-cl-std=CL2.0", &probe));
        assert!(allows_non_uniform("-DX=1 -cl-std=CL3.0 -cl-mad-enable", &probe));
        assert!(!allows_non_uniform("-cl-std=CL2.0 -cl-uniform-work-group-size", &probe));
        assert!(!allows_non_uniform("-cl-arm-non-uniform-work-group-size", &probe));
        probe.extensions.push("cl_arm_non_uniform_work_group_size".to_owned());
        assert!(allows_non_uniform("-cl-arm-non-uniform-work-group-size", &probe));
        probe.non_uniform_work_groups = false;
        assert!(!allows_non_uniform("-cl-std=CL3.0", &probe));
        let rules = GroupRules { non_uniform: true, ..GroupRules::default() };
        assert_eq!(check(&NdRange::d1(10).local(4, 1, 1), &mali(), &rules), Ok(()));
    }

    #[test]
    fn local_memory_is_counted_together() {
        assert_eq!(check_local_memory(1 << 10, 31 << 10, &mali()), Ok(()));
        assert_eq!(
            check_local_memory(1 << 10, 32 << 10, &mali()),
            Err(RangeError::LocalMemory { bytes: 33 << 10, limit: 32 << 10 })
        );
    }
}
