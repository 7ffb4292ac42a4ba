//! The verdict on a device's results: a bug of the kernel, an allowed rounding difference, a device that computed what
//! the language does not allow, or no difference.
//!
//! A launch runs in the simulator three times: with all checks, plainly, and with the bounds of every differing number
//! ([`tripipe_simulate::bounds`]), which include its value in float64 arithmetic. [`reduce`] cuts a launch down as far
//! as the difference stays.

mod judge;
pub mod reduce;
pub mod rules;
mod statements;

use std::sync::Arc;

use tripipe_ir::diagnostic::Finding;
use tripipe_launch::Program;
use tripipe_launch_file::Loaded;
use tripipe_simulate::Options;

pub use judge::judge;

/// A launch with the results of a device as expectations.
#[derive(Clone, Debug)]
pub struct Case {
    /// The program, as OpenCL C if it can be had, so that build options are known.
    pub program: Arc<Program>,
    /// The arguments; [`tripipe_launch_file::LoadedMemory::expected`] is what the device computed.
    pub loaded: Loaded,
    /// Options of the simulator.
    pub options: Options,
    /// Build options, as far as they change what is allowed.
    pub build: String,
    /// The text of the program; empty for a module.
    pub source: String,
}

/// What is wrong with a launch's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The results are equal.
    Same,
    /// They differ as rounding may.
    Rounding,
    /// They differ where the language gives no bound.
    Open,
    /// The device computed what the language does not allow.
    Miscompiled,
    /// The kernel does something undefined.
    Bug,
}

impl Verdict {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Rounding => "rounding",
            Self::Open => "open",
            Self::Miscompiled => "miscompiled",
            Self::Bug => "bug",
        }
    }

    /// It as a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Same => "no difference: the device computed what the simulator computes",
            Self::Rounding => "allowed rounding: the results differ within what the language allows",
            Self::Open => "open: the results differ where the language gives no bound",
            Self::Miscompiled => "miscompiled: the device computed what the language does not allow",
            Self::Bug => "a bug of the kernel: what it does is undefined, so any result is allowed",
        }
    }
}

/// The verdict on a launch.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What it is.
    pub verdict: Verdict,
    /// The kernel.
    pub kernel: String,
    /// Work-items in each dimension.
    pub global: [u64; 3],
    /// Work-items of a work-group in each dimension.
    pub local: [u64; 3],
    /// Bugs of the kernel, and what differs; most severe first.
    pub findings: Vec<Finding>,
    /// Checks that were not possible, one sentence each.
    pub left_out: Vec<String>,
    /// The memory with known results.
    pub memory: Vec<JudgedMemory>,
}

/// The verdict on a buffer or an image.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedMemory {
    /// The argument's position.
    pub argument: usize,
    /// The argument's name.
    pub name: String,
    /// Numbers compared.
    pub numbers: usize,
    /// Numbers that differ from the simulator's.
    pub differing: usize,
    /// Of these, numbers within the bounds of the language.
    pub allowed: usize,
    /// Of these, numbers without a bound.
    pub open: usize,
    /// Of these, numbers that the language does not allow.
    pub wrong: usize,
    /// The first numbers that differ, the worst kind first.
    pub first: Vec<Number>,
}

/// A number that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Its byte offset.
    pub offset: usize,
    /// Its index in the memory's array.
    pub index: Vec<usize>,
    /// Whether it is allowed.
    pub kind: Kind,
    /// What the device computed, as text.
    pub device: String,
    /// What the simulator computes, as text.
    pub defined: String,
    /// What float64 arithmetic gives; `None` if the simulator does not write the number.
    pub exact: Option<f64>,
    /// The numbers that are allowed, if they are bounded.
    pub bounds: Option<[f64; 2]>,
    /// The work-item that writes it.
    pub work_item: Option<[u64; 3]>,
    /// Why it is open.
    pub cause: Option<String>,
}

/// Whether a number is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The language does not allow it.
    Wrong,
    /// The language gives no bound.
    Open,
    /// It is within the bounds.
    Allowed,
}
