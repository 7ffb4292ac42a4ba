//! What is checked: a launch, or several that run one after the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Result;
use tripipe_device::Gpu;
use tripipe_launch::{ExecuteError, NdRange};
use tripipe_launch_file::{LaunchFile, Limits, Loaded, Staged};
use tripipe_simulate::Simulator;
use tripipe_timing::{VirtualGpu, VirtualOptions};

use crate::launch_input::{Built, Description, LaunchArgument, Launches, Sequence};

/// Runs of a launch that repeats: the second one sees what the first one leaves.
const RUNS_MOST: usize = 2;

/// The launches of a file.
pub(super) enum Checked {
    One(Box<Description>),
    Several(Box<Sequence>),
}

impl Checked {
    /// # Errors
    /// As [`LaunchArgument::open_all`].
    pub(super) fn open(launch: &LaunchArgument) -> Result<Self> {
        Ok(match launch.open_all()? {
            Launches::One(description) => Self::One(description),
            Launches::Several(sequence) => Self::Several(sequence),
        })
    }

    /// The program, and the first launch.
    pub(super) fn description(&self) -> &Description {
        match self {
            Self::One(description) => description,
            Self::Several(sequence) => &sequence.description,
        }
    }

    pub(super) fn description_mut(&mut self) -> &mut Description {
        match self {
            Self::One(description) => description,
            Self::Several(sequence) => &mut sequence.description,
        }
    }

    /// The same with launches, without results to show or compare.
    ///
    /// # Errors
    /// As [`Description::with_launch`].
    pub(super) fn with_launches(self, gpu: Option<&Gpu>) -> Result<Self> {
        Ok(match self {
            Self::One(description) => {
                let mut description = description.with_launch(gpu)?;
                description.file.forget_results();
                Self::One(Box::new(description))
            }
            several @ Self::Several(_) => several,
        })
    }

    /// The launches, as the file describes them.
    pub(super) fn files(&self) -> Vec<&LaunchFile> {
        match self {
            Self::One(description) => vec![&description.file],
            Self::Several(sequence) => sequence.launches.launches.iter().map(|launch| &launch.file).collect(),
        }
    }

    /// The number of each launch as often as it is checked, in order.
    pub(super) fn order(&self) -> Vec<usize> {
        match self {
            Self::One(_) => vec![0],
            Self::Several(sequence) => {
                let launches = sequence.launches.launches.iter().enumerate();
                launches
                    .flat_map(|(index, launch)| std::iter::repeat_n(index, launch.repeat.min(RUNS_MOST)))
                    .collect()
            }
        }
    }

    /// What is not checked, in words.
    pub(super) fn left_out(&self) -> BTreeSet<String> {
        let Self::Several(sequence) = self else { return BTreeSet::new() };
        let launches = sequence.launches.launches.iter().filter(|launch| launch.repeat > RUNS_MOST);
        launches
            .map(|launch| format!("the runs of `{}` after the second, of {}", launch.name, launch.repeat))
            .collect()
    }

    /// The launches with the contents of their memory.
    ///
    /// # Errors
    /// As [`Description::load`].
    pub(super) fn load(&self, built: &Built, limits: Limits) -> Result<Vec<Loaded>> {
        match self {
            Self::One(description) => Ok(vec![description.load(built, limits)?]),
            Self::Several(sequence) => sequence.load(built, limits, false),
        }
    }

    /// The launches with their memory on the simulator.
    ///
    /// # Errors
    /// As [`tripipe_launch_file::Loaded::stage`].
    pub(super) fn stage(
        &self,
        loaded: Vec<Loaded>,
        built: &Built,
        simulator: &mut Simulator,
    ) -> Result<Vec<Staged>> {
        match self {
            Self::One(_) => {
                let program = || Arc::clone(&built.program);
                let staged = loaded.into_iter().map(|loaded| loaded.stage(simulator, program()));
                Ok(staged.collect::<Result<_, _>>()?)
            }
            Self::Several(sequence) => Ok(sequence.stage(loaded, built, simulator)?.launches),
        }
    }

    /// The range of a launch, in the work-groups that a GPU's driver chooses where the launch leaves that to it.
    ///
    /// # Errors
    /// The GPU cannot run the launch in its work-groups. What else it cannot run, the check reports itself.
    pub(super) fn range_on(&self, gpu: &'static Gpu, built: &Built, loaded: &Loaded) -> Result<NdRange> {
        let offered = self.description().offered(Some(gpu)).ok().flatten();
        let mut device = VirtualGpu::new(gpu, VirtualOptions { offered, ..VirtualOptions::default() });
        match device.with_local(&built.program, &loaded.kernel, loaded.range) {
            Err(error @ ExecuteError::Range { .. }) => Err(error.into()),
            range => Ok(range.unwrap_or(loaded.range)),
        }
    }
}
