//! Models of CPU cores.

use std::sync::LazyLock;

use crate::load::read_all;
use crate::sourced::Sourced;

/// Every file of `data/cpu/`, by its name without ending.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/cpus.rs"));

static CPUS: LazyLock<Vec<Cpu>> = LazyLock::new(|| read_all(FILES, Cpu::from_toml));

/// Whether a core waits for the operands of an instruction before it looks at the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueOrder {
    /// It waits.
    InOrder,
    /// Later instructions go ahead.
    OutOfOrder,
}

impl IssueOrder {
    /// Every order with the word the data files use for it.
    pub(crate) const WORDS: &'static [(&'static str, Self)] =
        &[("in-order", Self::InOrder), ("out-of-order", Self::OutOfOrder)];
}

/// A CPU core. Pipes take one operation per clock each; latencies are in clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Cpu {
    /// The name of its file: `cortex-a15`.
    pub id: String,
    /// Arm's name: `Cortex-A15`.
    pub name: String,
    /// Lowest usual clock in MHz.
    pub min_mhz: Sourced<f64>,
    /// Highest usual clock in MHz.
    pub max_mhz: Sourced<f64>,
    /// In order or not.
    pub order: Sourced<IssueOrder>,
    /// Instructions that it issues in a clock.
    pub issue_width: Sourced<f64>,
    /// Pipes for simple integer operations.
    pub integer_pipes: Sourced<f64>,
    /// Pipes for integer multiplication.
    pub multiply_pipes: Sourced<f64>,
    /// Loads in a clock.
    pub load_pipes: Sourced<f64>,
    /// Stores in a clock.
    pub store_pipes: Sourced<f64>,
    /// Whether loads and stores compete for the same pipes.
    pub loads_share_stores_pipes: Sourced<bool>,
    /// Pipes for floats and NEON.
    pub vector_pipes: Sourced<f64>,
    /// Bits that each of these pipes computes in a clock.
    pub vector_bits: Sourced<f64>,
    /// The share of its issue slots and pipes that compiled code keeps busy while it waits for nothing.
    pub issue_efficiency: Sourced<f64>,
    /// Simple integer operation.
    pub integer: Sourced<f64>,
    /// Integer multiplication of 32 bits.
    pub multiply: Sourced<f64>,
    /// Load that hits the L1.
    pub load: Sourced<f64>,
    /// Addition of floats.
    pub float_add: Sourced<f64>,
    /// Multiplication of floats.
    pub float_multiply: Sourced<f64>,
    /// Multiply-add of floats.
    pub float_multiply_add: Sourced<f64>,
    /// Load that hits the L2.
    pub l2_hit: Sourced<f64>,
    /// Bytes of a line of its caches.
    pub line_bytes: Sourced<f64>,
    /// Bytes of the L1 for data.
    pub l1_data_bytes: Sourced<f64>,
    /// Ways of the L1 for data.
    pub l1_data_ways: Sourced<f64>,
    /// Bytes of the L2.
    pub l2_bytes: Sourced<f64>,
    /// Ways of the L2.
    pub l2_ways: Sourced<f64>,
    /// 10^9 bytes per second that one core streams from DRAM.
    pub one_core_gb_s: Sourced<f64>,
}

/// All built-in CPU models, by name of file.
pub fn cpus() -> &'static [Cpu] {
    &CPUS
}

/// The CPU model of a name of file, such as `cortex-a15`; `None` if there is none.
pub fn find_cpu(id: &str) -> Option<&'static Cpu> {
    cpus().iter().find(|cpu| cpu.id.eq_ignore_ascii_case(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_built_in_and_reads() {
        for cpu in cpus() {
            assert_eq!(cpu.name.to_lowercase(), cpu.id, "named after its core");
            assert!(cpu.min_mhz.value < cpu.max_mhz.value, "{}", cpu.id);
            assert!(cpu.l1_data_bytes.value < cpu.l2_bytes.value, "{}", cpu.id);
            assert!(cpu.issue_efficiency.value <= 1.0, "{}", cpu.id);
        }
    }

    /// GCC's description of the pipeline: three issue slots, two simple pipes, one multiplier.
    #[test]
    fn the_a15_is_the_one_of_gcc() {
        let a15 = find_cpu("cortex-a15").unwrap();
        assert_eq!(
            [&a15.issue_width, &a15.integer_pipes, &a15.multiply_pipes].map(|f| f.value),
            [3.0, 2.0, 1.0]
        );
        assert_eq!([&a15.multiply, &a15.load].map(|f| f.value), [3.0, 4.0]);
    }

    #[test]
    fn mistakes_are_located() {
        let (_, text) = FILES[0];
        let wrong = text.replace("issue_width = ", "issue_with = ");
        let error = Cpu::from_toml(&wrong, "a.toml").unwrap_err().to_string();
        assert!(error.starts_with("a.toml:") && error.contains("issue_width"), "{error}");
        let wrong = text.replace("min_mhz = ", "min_mhz = -");
        let error = Cpu::from_toml(&wrong, "a.toml").unwrap_err().to_string();
        assert!(error.contains("above 0"), "{error}");
    }
}
