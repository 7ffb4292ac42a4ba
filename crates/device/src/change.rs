//! Changes of a GPU's configuration, as text: `clock=800,cores=7`.

use std::fmt;
use std::str::FromStr;

use crate::gpu::Gpu;
use crate::nearest::nearest;

/// A change of a GPU: another product with the same core, or a question.
#[derive(Clone, Debug, PartialEq)]
pub enum GpuChange {
    /// The GPU's clock in MHz: `clock=800`.
    Clock(u32),
    /// Shader cores: `cores=7`.
    Cores(u32),
    /// Bytes of the L2, and the number as written: `l2=512K`.
    L2(u64, String),
    /// Nominal memory bandwidth in GB/s: `bandwidth=51.2`.
    Bandwidth(f64),
    /// The most registers that the compiler may use for a work-item: `registers=8`.
    Registers(u32),
}

/// Why a text is not a [`GpuChange`], or why a GPU cannot have it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuChangeError {
    /// Not one of the changes.
    #[error("`{name}`: want clock=MHZ, cores=N, l2=BYTES, bandwidth=GB/s or registers=N{}",
        nearest.as_ref().map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?")))]
    Unknown {
        /// What is there instead.
        name: String,
        /// The most similar name of a change.
        nearest: Option<&'static str>,
    },
    /// A value that cannot be read, or is not plausible.
    #[error("{change}: want {wanted}")]
    Value {
        /// The change as written.
        change: String,
        /// What is wanted.
        wanted: &'static str,
    },
    /// More registers than a work-item can have.
    #[error("a work-item has at most {most} registers on {gpu}")]
    Registers {
        /// The GPU's limit.
        most: u32,
        /// The GPU.
        gpu: String,
    },
}

impl GpuChange {
    /// The names of changes.
    pub const NAMES: [&'static str; 5] = ["clock", "cores", "l2", "bandwidth", "registers"];

    /// Changes a GPU.
    ///
    /// # Errors
    /// [`GpuChangeError::Registers`].
    pub fn apply(&self, gpu: &mut Gpu) -> Result<(), GpuChangeError> {
        match self {
            Self::Clock(mhz) => gpu.configuration.clock_mhz.value = *mhz,
            Self::Cores(cores) => gpu.configuration.cores.value = *cores,
            Self::L2(bytes, _) => gpu.memory.l2_bytes.value = *bytes,
            Self::Bandwidth(rate) => gpu.configuration.dram_gb_s_peak.value = *rate,
            Self::Registers(count) => {
                let most = gpu.registers.max.value;
                if *count > most {
                    return Err(GpuChangeError::Registers { most, gpu: gpu.name().to_owned() });
                }
                gpu.registers.max.value = *count;
            }
        }
        Ok(())
    }

    /// Whether the value is plausible at all.
    fn check(self) -> Result<Self, GpuChangeError> {
        let (fits, wanted) = match &self {
            Self::Clock(mhz) => ((1..=10_000).contains(mhz), "1 to 10000 MHz"),
            Self::Cores(cores) => ((1..=128).contains(cores), "1 to 128 cores"),
            Self::L2(bytes, _) => ((4 << 10..=1 << 30).contains(bytes), "4K to 1024M"),
            Self::Bandwidth(rate) => ((0.1..=10_000.0).contains(rate), "0.1 to 10000 GB/s"),
            Self::Registers(count) => (*count > 0, "at least 1 register"),
        };
        if fits { Ok(self) } else { Err(GpuChangeError::Value { change: self.to_string(), wanted }) }
    }
}

impl FromStr for GpuChange {
    type Err = GpuChangeError;

    fn from_str(text: &str) -> Result<Self, GpuChangeError> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let (name, value) = (name.trim(), value.trim());
        let wrong = |wanted| GpuChangeError::Value { change: format!("{name}={value}"), wanted };
        let whole = || value.parse::<u32>().map_err(|_| wrong("a whole number"));
        let change = match name {
            "clock" => Self::Clock(whole()?),
            "cores" => Self::Cores(whole()?),
            "registers" => Self::Registers(whole()?),
            "bandwidth" => Self::Bandwidth(value.parse().map_err(|_| wrong("a number of GB/s"))?),
            "l2" => {
                let digits = value.trim_end_matches(|c: char| c.is_alphabetic());
                let unit: Option<u64> = match &value[digits.len()..] {
                    "" => Some(1),
                    "K" | "KiB" | "k" => Some(1 << 10),
                    "M" | "MiB" => Some(1 << 20),
                    _ => None,
                };
                let bytes =
                    digits.parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
                let bytes = bytes.ok_or_else(|| wrong("a number of bytes, such as 512K or 2M"))?;
                Self::L2(bytes, value.to_owned())
            }
            _ => {
                let nearest = nearest(&name.to_lowercase(), Self::NAMES.into_iter());
                return Err(GpuChangeError::Unknown { name: name.to_owned(), nearest });
            }
        };
        change.check()
    }
}

impl fmt::Display for GpuChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock(mhz) => write!(f, "clock={mhz}"),
            Self::Cores(cores) => write!(f, "cores={cores}"),
            Self::L2(_, written) => write!(f, "l2={written}"),
            Self::Bandwidth(rate) => write!(f, "bandwidth={rate}"),
            Self::Registers(count) => write!(f, "registers={count}"),
        }
    }
}
