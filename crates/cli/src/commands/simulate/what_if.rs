//! Changes of a GPU, a launch or a program, to be priced.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use tripipe_device::nearest::nearest;
use tripipe_device::{Gpu, GpuChange, GpuChangeError};
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
    /// Another GPU.
    Gpu(GpuChange),
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
        let fits = |sizes: &[usize]| sizes.len() <= 3 && !sizes.contains(&0);
        if let Some(local) =
            changes.iter().find(|change| matches!(change, Change::Local(sizes) if !fits(sizes)))
        {
            return Err(format!("{local}: want 1 to 3 extents of at least 1 work-item"));
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
        if name.trim() == "local" {
            let size = value.trim().parse().map_err(|_| format!("{text}: want a whole number"))?;
            return Ok(Self::Local(vec![size]));
        }
        text.parse().map(Self::Gpu).map_err(|error| match error {
            GpuChangeError::Unknown { name, .. } => {
                let near = nearest(&name.to_lowercase(), CHANGES.into_iter());
                let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                format!("`{name}`: {wanted}{near}")
            }
            error => error.to_string(),
        })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gpu(change) => change.fmt(f),
            Self::Local(sizes) => {
                let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
                write!(f, "local={}", sizes.join(","))
            }
            Self::Define(name, value) => write!(f, "-D {name}={value}"),
        }
    }
}

impl Change {
    /// Whether two changes set the same thing.
    fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Define(name, _), Self::Define(other, _)) => name == other,
            (Self::Gpu(change), Self::Gpu(other)) => {
                std::mem::discriminant(change) == std::mem::discriminant(other)
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
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
            match change {
                Change::Gpu(change) => change.apply(&mut changed)?,
                Change::Local(sizes) => local.clone_from(sizes),
                Change::Define(..) => {}
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
        assert!(matches!(all.changes[2], Change::Gpu(GpuChange::L2(524_288, _))));
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
