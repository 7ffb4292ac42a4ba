//! Changes of a GPU, a launch or a program, to be priced.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use tripipe_device::Gpu;
use tripipe_device::nearest::nearest;
use tripipe_timing::{Options, Prediction};

use crate::launch_input::{Description, DriverBuild, Trial, Workload};

/// The changes of one option on the command line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WhatIf {
    pub(super) changes: Vec<Change>,
}

/// A change.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// The GPU's clock in MHz.
    Clock(u32),
    /// Shader cores.
    Cores(u32),
    /// Bytes of the L2, and the number as written.
    L2(u64, String),
    /// Nominal memory bandwidth in GB/s.
    Bandwidth(f64),
    /// The most registers that the compiler may use for a work-item.
    Registers(u32),
    /// The work-group size.
    Local(Vec<usize>),
    /// A macro definition.
    Define(String, String),
}

/// The names of changes in an option.
pub(crate) const CHANGES: [&str; 6] = ["clock", "cores", "l2", "bandwidth", "registers", "local"];

impl FromStr for WhatIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut changes: Vec<Change> = Vec::new();
        for part in text.split(',').map(str::trim) {
            // More extents of a work-group size.
            if let (Some(Change::Local(sizes)), Ok(size)) = (changes.last_mut(), part.parse()) {
                sizes.push(size);
                continue;
            }
            changes.push(part.parse()?);
        }
        for change in &changes {
            change.check()?;
        }
        Ok(Self { changes })
    }
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(definition) = text.strip_prefix("-D") {
            let definition = definition.trim();
            let (name, value) = definition.split_once('=').unwrap_or((definition, "1"));
            if name.is_empty() {
                return Err("want -D NAME or -D NAME=VALUE".to_owned());
            }
            return Ok(Self::Define(name.to_owned(), value.to_owned()));
        }
        let wanted = "want clock=MHZ, cores=N, l2=BYTES, bandwidth=GB/s, registers=N, local=N[,N[,N]] or -D NAME=VALUE";
        let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}`: {wanted}"))?;
        let (name, value) = (name.trim(), value.trim());
        let whole = || value.parse::<u32>().map_err(|_| format!("{name}={value}: want a whole number"));
        match name {
            "clock" => Ok(Self::Clock(whole()?)),
            "cores" => Ok(Self::Cores(whole()?)),
            "registers" => Ok(Self::Registers(whole()?)),
            "local" => Ok(Self::Local(vec![whole()? as usize])),
            "bandwidth" => match value.parse() {
                Ok(number) => Ok(Self::Bandwidth(number)),
                Err(_) => Err(format!("bandwidth={value}: want a number of GB/s")),
            },
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
                let bytes =
                    bytes.ok_or_else(|| format!("l2={value}: want a number of bytes, such as 512K or 2M"))?;
                Ok(Self::L2(bytes, value.to_owned()))
            }
            _ => {
                let near = nearest(&name.to_lowercase(), CHANGES.into_iter());
                let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                Err(format!("`{name}`: {wanted}{near}"))
            }
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock(mhz) => write!(f, "clock={mhz}"),
            Self::Cores(cores) => write!(f, "cores={cores}"),
            Self::L2(_, written) => write!(f, "l2={written}"),
            Self::Bandwidth(rate) => write!(f, "bandwidth={rate}"),
            Self::Registers(count) => write!(f, "registers={count}"),
            Self::Local(sizes) => {
                let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
                write!(f, "local={}", sizes.join(","))
            }
            Self::Define(name, value) => write!(f, "-D {name}={value}"),
        }
    }
}

impl Change {
    /// Whether the value is plausible at all.
    fn check(&self) -> Result<(), String> {
        let within =
            |fits: bool, range: &str| if fits { Ok(()) } else { Err(format!("{self}: want {range}")) };
        match self {
            Self::Clock(mhz) => within((1..=10_000).contains(mhz), "1 to 10000 MHz"),
            Self::Cores(cores) => within((1..=128).contains(cores), "1 to 128 cores"),
            Self::L2(bytes, _) => within((4 << 10..=1 << 30).contains(bytes), "4K to 1024M"),
            Self::Bandwidth(rate) => within((0.1..=10_000.0).contains(rate), "0.1 to 10000 GB/s"),
            Self::Registers(count) => within(*count > 0, "at least 1 register"),
            Self::Local(sizes) => {
                within(sizes.len() <= 3 && !sizes.contains(&0), "1 to 3 extents of at least 1 work-item")
            }
            Self::Define(..) => Ok(()),
        }
    }

    /// Whether two changes set the same thing.
    fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Define(name, _), Self::Define(other, _)) => name == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// Changes a GPU.
    fn apply(&self, gpu: &mut Gpu) -> Result<()> {
        match self {
            Self::Clock(mhz) => gpu.configuration.clock_mhz.value = *mhz,
            Self::Cores(cores) => gpu.configuration.cores.value = *cores,
            Self::L2(bytes, _) => gpu.memory.l2_bytes.value = *bytes,
            Self::Bandwidth(rate) => gpu.configuration.dram_gb_s_peak.value = *rate,
            Self::Registers(count) => {
                let most = gpu.registers.max.value;
                if *count > most {
                    bail!("a work-item has at most {most} registers on {}", gpu.name());
                }
                gpu.registers.max.value = *count;
            }
            Self::Local(_) | Self::Define(..) => {}
        }
        Ok(())
    }
}

/// One or several changes together, and the program if they change it.
pub(super) struct Variant {
    pub(super) name: String,
    changes: Vec<Change>,
    rebuilt: Option<(Description, DriverBuild)>,
}

impl Variant {
    /// Each change alone, and all together if there are several that do not contradict each other; the program is built
    /// for a GPU.
    ///
    /// # Errors
    /// The program does not build with a definition.
    pub(super) fn of(changes: &[&Change], description: &Description, gpu: &Gpu) -> Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        for change in changes {
            all.push(Self::new(change.to_string(), vec![(*change).clone()], description, gpu)?);
        }
        let contradict = changes
            .iter()
            .enumerate()
            .any(|(index, change)| changes[..index].iter().any(|other| change.conflicts(other)));
        if changes.len() > 1 && !contradict {
            let together = changes.iter().map(|change| (*change).clone()).collect();
            all.push(Self::new("all together".to_owned(), together, description, gpu)?);
        }
        Ok(all)
    }

    fn new(name: String, changes: Vec<Change>, description: &Description, gpu: &Gpu) -> Result<Self> {
        let mut changed = None;
        for change in &changes {
            if let Change::Define(name, value) = change {
                changed = Some(changed.as_ref().unwrap_or(description).defining(name, value)?);
            }
        }
        let rebuilt = changed.map(|changed| {
            let build =
                changed.as_driver(gpu).map_err(|error| error.context(format!("--what-if \"{name}\"")))?;
            Ok::<_, anyhow::Error>((changed, build))
        });
        Ok(Self { name, changes, rebuilt: rebuilt.transpose()? })
    }

    /// The time of a launch with the changes.
    ///
    /// # Errors
    /// The GPU cannot run it then.
    pub(super) fn predict(
        &self,
        gpu: &'static Gpu,
        workload: &Workload<'_>,
        options: &Options,
    ) -> Result<Prediction> {
        let mut changed = gpu.clone();
        let mut local = Vec::new();
        for change in &self.changes {
            change.apply(&mut changed)?;
            if let Change::Local(sizes) = change {
                local.clone_from(sizes);
            }
        }
        let trial = Trial { gpu: (changed != *gpu).then(|| Arc::new(changed)), local, effect: None };
        let Some((description, build)) = &self.rebuilt else {
            return Ok(workload.predict(gpu, &trial, options)?.prediction);
        };
        let name = &workload.kernel().name;
        let kernel = build.loaded.module.kernel(name);
        let kernel = kernel.ok_or_else(|| anyhow!("the program has no kernel `{name}` then"))?;
        let workload = Workload::new(description, build, kernel, workload.limit_steps())?;
        Ok(workload.predict(gpu, &trial, options)?.prediction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read() {
        let all: WhatIf =
            "clock=800,cores=10,l2=512K,bandwidth=20.5,registers=4,local=16,8,-D X=4".parse().unwrap();
        let shown: Vec<String> = all.changes.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            ["clock=800", "cores=10", "l2=512K", "bandwidth=20.5", "registers=4", "local=16,8", "-D X=4"]
        );
        assert!(matches!(all.changes[2], Change::L2(524_288, _)));
        assert_eq!("-DX".parse::<WhatIf>().unwrap().changes, [Change::Define("X".into(), "1".into())]);
    }

    #[test]
    fn impossible_changes_are_refused() {
        for (text, words) in [
            ("clok=800", "`clock`"),
            ("clock", "want clock=MHZ"),
            ("clock=fast", "whole number"),
            ("clock=0", "1 to 10000"),
            ("cores=1000", "1 to 128"),
            ("l2=3T", "512K"),
            ("l2=1", "4K"),
            ("bandwidth=nan", "GB/s"),
            ("local=1,2,3,4", "1 to 3"),
            ("local=0", "at least 1"),
            ("16,8", "want clock=MHZ"),
            ("-D =3", "-D NAME"),
        ] {
            let error = text.parse::<WhatIf>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
