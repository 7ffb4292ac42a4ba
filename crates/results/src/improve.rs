//! `tripipe improve`: the steps from a kernel to a faster one.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kernel that was rewritten for some GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Improved {
    /// Its version of this form: [`Improved::VERSION`].
    pub version: u32,
    /// The kernel.
    pub kernel: String,
    /// The program's name.
    pub program: String,
    /// The GPUs.
    pub gpus: Vec<String>,
    /// Work-items of the original launch; of several launches, those of the first.
    pub global: [u64; 3],
    /// The number of launches, with repetitions; 1 unless the launch file has a list of them.
    #[serde(default = "one")]
    pub launches: u64,
    /// The original and the steps: one for each GPU, one step after the other. The first is the original.
    pub steps: Vec<ImprovementStep>,
    /// The original's time divided by that of the last step, on the GPU where that is the least; 1 if nothing gains.
    pub speedup: f64,
    /// What must hold for the results to be the same, in sentences.
    pub conditions: Vec<String>,
    /// What the host's code must change, in sentences.
    pub host: Vec<String>,
    /// What was tried and not applied.
    pub refused: Vec<RefusedRewrite>,
    /// Kernels that were priced.
    pub tried: u64,
    /// Whether the time limit ended the search.
    pub out_of_time: bool,
    /// Whether times are predictions of fewer steps than those of `simulate`, as the time limit left none for more.
    pub is_rough: bool,
    /// What else is to be said of the times, in sentences.
    pub notes: Vec<String>,
    /// The source of the original.
    pub original: String,
    /// The source after the last step.
    pub source: String,
    /// The difference between both in the unified format; empty if they are the same.
    pub diff: String,
    /// The launch file after the last step; `null` if the launch is the original's.
    pub launch: Option<String>,
}

/// Of results without the key.
fn one() -> u64 {
    1
}

impl Improved {
    /// The version of this form.
    pub const VERSION: u32 = 1;

    /// The steps on a GPU, the original first.
    pub fn steps_on<'s>(&'s self, gpu: &'s str) -> impl Iterator<Item = &'s ImprovementStep> {
        self.steps.iter().filter(move |step| step.gpu == gpu)
    }
}

/// A step on a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ImprovementStep {
    /// The rewrite's code, `original` for the original.
    pub name: String,
    /// What it changes; empty for the original.
    pub title: String,
    /// Why that is faster; empty for the original.
    pub why: String,
    /// The GPU.
    pub gpu: String,
    /// The predicted time in seconds.
    pub seconds: f64,
    /// The lowest and the highest time at which a measurement is expected, in seconds; `null` if no measurement of the
    /// GPU's family is published, so that it is not known.
    pub error_band: Option<[f64; 2]>,
    /// The original's time divided by this.
    pub speedup: f64,
    /// Registers of a work-item.
    pub registers: u32,
    /// Bytes of registers that a work-item spills.
    pub spill_bytes: u32,
    /// Words of the code, of all pipes.
    pub words: u64,
    /// What limits it: a pipe, a part of the memory, `latency` or `launch`.
    pub limiter: String,
    /// The work-group size.
    pub local: [u64; 3],
    /// Whether it computes what the original does: on all launches on which both ran.
    pub verified: bool,
    /// The number of these launches; 0 for the original.
    pub launches: u64,
    /// The number of values that were compared.
    pub values: u64,
    /// Whether the given launch was among them.
    pub given_launch: bool,
    /// The most that a floating-point result may deviate: this share of its value plus this share of the mean magnitude in its
    /// memory; 0 where results are the same.
    pub relative_error: f64,
}

/// A rewrite that was not applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RefusedRewrite {
    /// The rewrite's code.
    pub name: String,
    /// What it would change.
    pub title: String,
    /// Rewrites that were applied before it.
    pub depth: u64,
    /// `slower`, `wrong` (a counter-example was found), `rounding` (results would be rounded
    /// differently), `impossible` (it does not compile, or a GPU cannot run it) or `late`
    /// (the time limit was reached before it was verified).
    pub kind: String,
    /// Why, in a sentence.
    pub reason: String,
}
