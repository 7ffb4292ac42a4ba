//! How far a kernel reaches in the buffers of a guessed launch, so that they are as large as it needs.

use std::sync::Arc;

use tripipe_ir::Kernel;
use tripipe_ir::front::spirv::Loaded;
use tripipe_launch::Program;
use tripipe_launch_file::{Limits, Signature};
use tripipe_simulate::{Options, Simulator};

use super::template::LaunchTemplate;
use super::workload::{GUESS_MOST, LIMIT_STEPS, described_bytes};
use super::{Built, Description};

/// Most runs: what a kernel reads of a larger buffer may be an index that reaches further.
const ROUNDS: usize = 4;

impl Description {
    /// For each argument of a kernel, the bytes that its buffer needs so that the kernel stays within it; 0 where the
    /// guess without that is large enough, and where it ends in a rim ([`LaunchTemplate::is_rim`]). What is known so far, if
    /// the memory gets too large or the launch cannot run.
    pub(super) fn reach(&self, program: &Program, loaded: &Loaded, kernel: &Kernel) -> Vec<u64> {
        let kernels = loaded.module.kernels.iter().map(Signature::of).collect();
        let built = Built { program: Arc::new(program.clone()), kernels };
        let mut reach = vec![0; kernel.parameters.len()];
        for _ in 0..ROUNDS {
            let Some(more) = self.reach_beyond(&built, kernel, &reach) else { break };
            let Ok(template) = LaunchTemplate::new(kernel, &self.options) else { break };
            let both = reach.iter().zip(more).enumerate().map(|(index, (known, more))| match more {
                more if template.is_rim(index, more) => *known,
                more => more.max(*known),
            });
            let both: Vec<u64> = both.collect();
            if both == reach || self.guessed_bytes(kernel, &both).is_none_or(|bytes| bytes > GUESS_MOST) {
                break;
            }
            reach = both;
        }
        reach
    }

    fn guessed_bytes(&self, kernel: &Kernel, reach: &[u64]) -> Option<u64> {
        described_bytes(&self.guess(kernel, 1, reach).ok()?.0)
    }

    /// How far the kernel reaches beyond the buffers of a guess; `None` if it cannot run.
    fn reach_beyond(&self, built: &Built, kernel: &Kernel, reach: &[u64]) -> Option<Vec<u64>> {
        let (mut file, _) = self.guess(kernel, 1, reach).ok()?;
        file.kernel = Some(kernel.name.clone());
        let limits = Limits { bytes: GUESS_MOST };
        let loaded = self.load_file(&file, built, limits).ok()?;
        let mut simulator = Simulator::new(Options { steps: LIMIT_STEPS, ..Options::default() });
        let staged = loaded.stage(&mut simulator, Arc::clone(&built.program)).ok()?;
        simulator.reach(&staged.launch, GUESS_MOST).ok()
    }
}
