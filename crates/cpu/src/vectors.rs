//! The vector instructions that the CPU path uses.

use std::sync::OnceLock;

use pulp::Arch;

/// Limits the vectors: `avx512`, `avx2` or `baseline`. Anything else, and what the machine lacks, is ignored.
const VARIABLE: &str = "TRIPIPE_CPU_VECTORS";

/// The widest vectors of this machine, or what the environment variable `TRIPIPE_CPU_VECTORS` limits them to.
pub(super) fn arch() -> Arch {
    static CHOSEN: OnceLock<Arch> = OnceLock::new();
    *CHOSEN.get_or_init(|| limited(std::env::var(VARIABLE).ok().as_deref()))
}

fn limited(to: Option<&str>) -> Arch {
    match to {
        Some("baseline") => Arch::Scalar,
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Some("avx2") => pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3),
        _ => Arch::new(),
    }
}

/// The vector instructions that the CPU path uses: `avx512`, `avx2`, `neon`, or `baseline` for what every machine of
/// this target has. The environment variable `TRIPIPE_CPU_VECTORS` limits them to a narrower kind; it is read once, at
/// the first operation.
pub fn vectors() -> &'static str {
    name(arch())
}

fn name(arch: Arch) -> &'static str {
    match arch {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Arch::V4(_) => "avx512",
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Arch::V3(_) => "avx2",
        #[cfg(target_arch = "aarch64")]
        Arch::Neon(_) => "neon",
        _ => "baseline",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_limited_to_a_kind_that_the_machine_has() {
        assert_eq!(name(limited(Some("baseline"))), "baseline");
        let widest = name(limited(None));
        assert_eq!(name(limited(Some("no such vectors"))), widest);
        #[cfg(target_arch = "x86_64")]
        {
            let has = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
            assert_eq!(name(limited(Some("avx2"))), if has { "avx2" } else { "baseline" });
            let wide = std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512bw");
            assert_eq!(widest == "avx512", has && wide);
        }
    }
}
