//! What an operation does, and the reasons for it.

use std::fmt;

use tripipe_device::{Probe, identify};

/// What an operation does, on which device, and why; how long it should take, how long it took, and what bounds it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The number of the operation in its context: the operations of a context are numbered in the order in which they are
    /// made, and an operation that runs again keeps its number.
    pub id: u64,
    /// The operation and its size, e.g. `f32 product 512x512x256`.
    pub operation: String,
    /// The name of the device.
    pub device: String,
    /// The kernel, e.g. `tile 4x4`.
    pub kernel: String,
    /// The choices: tile, vector width, memory path, work-group, and so on.
    pub choices: Vec<Chosen>,
    /// The reason for this kernel, in one sentence.
    pub why: String,
    /// The basis of the choice: measured, published or guessed, and where.
    pub rests_on: String,
    /// The predicted time in seconds; `None` when the CPU path does it as a fallback.
    pub predicted: Option<Prediction>,
    /// The shortest time measured, in seconds: the device's own time on OpenCL, wall time on the CPU path.
    pub measured_seconds: Option<f64>,
    /// The number of runs that time is the shortest of; the first takes longer than others, as caches are cold then.
    pub measured_runs: u64,
    /// Whether the device is a virtual GPU, on which nothing can be measured.
    pub is_virtual: bool,
    /// The ceiling that bounds it; `None` when no ceiling is known or the CPU path does it as a fallback.
    pub bound: Option<Bound>,
    /// The next best choices, the best first.
    pub runners_up: Vec<RunnerUp>,
    /// Seconds to build the kernels, or to load them from the cache: before the first run, or during the first ones
    /// ([`crate::ContextBuilder::longest_build`]).
    pub build_seconds: Option<f64>,
    /// Seconds from the first call to its completion, once it has ended: longer than other calls, because the device then
    /// allocates memory and prepares launches.
    pub first_call_seconds: Option<f64>,
    /// For calls over the host's memory: the times of the CPU path, and of the device with the copies there and back,
    /// from the calls so far, and which of the two runs the next call.
    pub copied: Option<String>,
    /// The reason why it does not run on the requested device. Over imported memory that the host cannot access, it runs
    /// there nevertheless, if the device supports it.
    pub fallback: Option<String>,
}

/// A choice and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The name of the choice, e.g. `work-group`.
    pub what: &'static str,
    /// Its value, e.g. `16x8`.
    pub value: String,
}

/// The predicted time of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The predicted time in seconds.
    pub seconds: f64,
    /// How the prediction is derived.
    pub from: String,
    /// The share of the time in which the host works on calls, as the timing model has it; `None` if another source predicts.
    pub host_share: Option<f64>,
}

/// The ceiling that limits an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Its name: `multiply-adds`, `memory`, `launch`.
    pub ceiling: &'static str,
    /// Seconds the operation takes at that ceiling, with no other limit.
    pub seconds: f64,
    /// The value of the ceiling and its source.
    pub from: String,
}

/// A choice that was not taken.
#[derive(Clone, Debug, PartialEq)]
pub struct RunnerUp {
    /// The kernel.
    pub kernel: String,
    /// The reason why it was not taken: its rate, or what it lacks.
    pub why_not: String,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} on {}", self.operation, self.device)?;
        if let Some(fallback) = &self.fallback {
            writeln!(f, "  fallback    {fallback}")?;
        }
        writeln!(f, "  kernel      {}", self.kernel)?;
        for Chosen { what, value } in &self.choices {
            writeln!(f, "  {what:<11} {value}")?;
        }
        writeln!(f, "  why         {}", self.why)?;
        if !self.rests_on.is_empty() {
            writeln!(f, "  based on    {}", self.rests_on)?;
        }
        if let Some(Prediction { seconds, from, host_share }) = &self.predicted {
            writeln!(f, "  predicted   {} ({from})", Time(*seconds))?;
            // On a device that is there, it can be measured.
            if let Some(share) = host_share.filter(|_| self.is_virtual) {
                writeln!(
                    f,
                    "  CPU load    {share:.2} CPU cores busy (predicted: the host launches, then waits)"
                )?;
            }
        }
        match self.measured_seconds {
            Some(seconds) if self.measured_runs > 1 => {
                writeln!(f, "  measured    {}, the shortest of {} runs", Time(seconds), self.measured_runs)?;
            }
            Some(seconds) => {
                writeln!(
                    f,
                    "  measured    {}, the only run so far; a first run takes longer",
                    Time(seconds)
                )?;
            }
            None if self.is_virtual => {}
            None => writeln!(f, "  measured    not yet: it has not run")?,
        }
        if let Some(Bound { ceiling, seconds, from }) = &self.bound {
            write!(f, "  ceiling     {ceiling}: {} ({from})", Time(*seconds))?;
            match self.measured_seconds {
                // A ratio that rounds to 100 % counts as reached.
                Some(measured) if *seconds <= 1.005 * measured => {
                    writeln!(f, ", {:.0} % of it reached", 100.0 * seconds / measured)?;
                }
                Some(_) if *ceiling == "memory" => {
                    writeln!(
                        f,
                        ", exceeded: the data stayed in a cache, or the ceiling was measured too low"
                    )?;
                }
                Some(_) => writeln!(f, ", exceeded: the ceiling was measured too low")?,
                None => writeln!(f)?,
            }
        }
        match (self.build_seconds, self.first_call_seconds) {
            (None, None) => {}
            (build, first) => {
                let build = build.map(|seconds| format!("{} to build or load the kernels", Time(seconds)));
                let first =
                    first.map(|seconds| format!("{} from the first call to its completion", Time(seconds)));
                let both: Vec<String> = build.into_iter().chain(first).collect();
                writeln!(f, "  start-up    {}", both.join(", then "))?;
            }
        }
        if let Some(copied) = &self.copied {
            writeln!(f, "  host memory {copied}")?;
        }
        for RunnerUp { kernel, why_not } in &self.runners_up {
            writeln!(f, "  runner-up   {kernel}: {why_not}")?;
        }
        Ok(())
    }
}

/// Seconds with a suitable unit and three digits.
pub(crate) struct Time(pub(crate) f64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            seconds if seconds >= 1.0 => (seconds, "s"),
            seconds if seconds >= 1e-3 => (seconds * 1e3, "ms"),
            seconds => (seconds * 1e6, "us"),
        };
        let decimals = if value >= 100.0 {
            0
        } else if value >= 10.0 {
            1
        } else {
            2
        };
        write!(f, "{value:.decimals$} {unit}")
    }
}

/// The peak rates of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceilings {
    /// Operations per second in the type of the computation; a multiply-add is 2.
    pub operations_per_second: f64,
    /// Bytes per second between the processor and its memory.
    pub bytes_per_second: f64,
    /// Seconds for an empty launch; 0 when unknown.
    pub launch_seconds: f64,
    /// The source of the figures.
    pub from: String,
}

/// The type of an operation's multiply-adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `float`
    F32,
    /// `double`, which only the CPU path computes in.
    F64,
    /// `half`
    F16,
    /// Bytes, with the dot product if available.
    I8,
    /// 16-bit integers.
    I16,
}

impl Ceilings {
    /// The ceilings of a phone GPU by its model: cores x clock x multiply-adds, and the nominal bandwidth of its
    /// memory, which no kernel fully reaches. `None` for a device without a model. The clock and the number of cores
    /// are those the device reports, if it does; an impossible clock, such as 1 MHz, is the model's.
    pub fn of_model(probe: &Probe, arithmetic: Arithmetic) -> Option<Self> {
        let found = identify(probe);
        let gpu = found.model?;
        let cores = found.cores.unwrap_or(gpu.configuration.cores.value);
        let clock_mhz = found.clock_mhz.unwrap_or(gpu.configuration.clock_mhz.value);
        let rates = &gpu.operations_per_clock_per_core;
        let rate = match arithmetic {
            Arithmetic::F32 => rates.fp32_fma.value,
            Arithmetic::F64 => return None,
            Arithmetic::F16 => rates.fp16_fma.value,
            Arithmetic::I8 if rates.int8_dot_mac.value > 0 => rates.int8_dot_mac.value,
            Arithmetic::I8 | Arithmetic::I16 => rates.int16_mul.value,
        };
        Some(Self {
            operations_per_second: 2.0 * f64::from(rate) * f64::from(cores) * f64::from(clock_mhz) * 1e6,
            bytes_per_second: gpu.configuration.dram_gb_s_peak.value * 1e9,
            launch_seconds: 0.0,
            from: format!("the model of {}, {cores} cores at {clock_mhz} MHz", gpu.name()),
        })
    }

    /// The ceiling that bounds work with this number of operations and bytes.
    pub fn bound(&self, operations: f64, bytes: f64) -> Bound {
        let each = [
            ("multiply-adds", operations / self.operations_per_second, self.operations_per_second, "GOP/s"),
            ("memory", bytes / self.bytes_per_second, self.bytes_per_second, "GB/s"),
        ];
        let [arithmetic, memory] = each;
        let (ceiling, seconds, rate, unit) = if memory.1 > arithmetic.1 { memory } else { arithmetic };
        if self.launch_seconds > seconds {
            return Bound { ceiling: "launch", seconds: self.launch_seconds, from: self.from.clone() };
        }
        Bound { ceiling, seconds, from: format!("{:.1} {unit}, {}", rate * 1e-9, self.from) }
    }
}

#[cfg(test)]
mod tests {
    use tripipe_device::Probe;

    use super::{Arithmetic, Bound, Ceilings, Explanation};

    /// The clock of the model stands in for one that cannot be true.
    #[test]
    fn a_clock_of_1_mhz_is_not_a_ceiling() {
        let ceiling = |clock_mhz| {
            let name = "QUALCOMM Adreno(TM) 650".to_owned();
            let probe = Probe { name, compute_units: 3, clock_mhz, ..Probe::default() };
            Ceilings::of_model(&probe, Arithmetic::F32).unwrap().operations_per_second
        };
        // 256 multiply-adds in 3 cores.
        let at = |clock_mhz: f64| 2.0 * 256.0 * 3.0 * clock_mhz * 1e6;
        assert_eq!([1, 0, 587, 670].map(ceiling), [587.0, 587.0, 587.0, 670.0].map(at));
    }

    fn bound(ceiling: &'static str, seconds: f64, measured: f64) -> String {
        let bound = Some(Bound { ceiling, seconds, from: "100.0 GOP/s, measured here".to_owned() });
        let explanation = Explanation {
            bound,
            measured_seconds: Some(measured),
            measured_runs: 3,
            ..Explanation::default()
        };
        let said = explanation.to_string();
        said.lines().find(|line| line.contains("ceiling  ")).unwrap_or_default().to_owned()
    }

    #[test]
    fn a_ceiling_is_reached_to_its_whole_or_was_too_low() {
        assert!(bound("multiply-adds", 1e-3, 2e-3).ends_with("measured here), 50 % of it reached"));
        assert!(bound("multiply-adds", 1e-3, 1e-3).ends_with(", 100 % of it reached"));
        for ceiling in ["multiply-adds", "launch"] {
            let said = bound(ceiling, 1e-3, 0.5e-3);
            assert!(said.ends_with(", exceeded: the ceiling was measured too low"), "{said}");
        }
        let said = bound("memory", 1.01e-3, 1e-3);
        assert!(
            said.ends_with(", exceeded: the data stayed in a cache, or the ceiling was measured too low")
        );
    }
}
