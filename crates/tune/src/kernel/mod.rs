//! A user's own kernel: the launch file whose table `[tune]` is searched, with all that it refers to.

mod best;
mod files;
mod hash;
mod wire;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tripipe_device::Probe;
use tripipe_launch::{Access, ChannelType, ExecuteError, Executor, NdRange, Program, ScalarType, Source};
use tripipe_launch_file::{
    ArrayShape, ComparedResult, FileError, Given, LaunchFile, Limits, Loaded, Memory, MemoryShape, Overrides,
    Signature, Tolerance, Tuning, TuningPoints, parse_combination,
};

pub use best::{BestParameters, KernelTable};
pub use files::{KernelFiles, Recorder};
use wire::Wire;

/// The family's name.
pub const FAMILY: &str = "kernel";
/// Contents of memory that the launch file leaves unwritten: NaN in every floating-point type.
pub(crate) const UNWRITTEN: u8 = 0xFF;
/// Candidates of larger spaces are not checked against the device before they are tried.
const CHECKED_MAX: usize = 20_000;

/// A kernel with a launch file, self-contained except for include files.
///
/// Its text names the launch file, the kernel, and a hash of the launch file, the program and all files that they
/// refer to: times of another version of the code are not mixed up with it. Of the table `[tune]`, only the first
/// candidate counts, so that times remain when values are added.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct KernelProblem {
    text: String,
    description: KernelDescription,
    first: String,
    reference: Option<KernelReference>,
    points: Arc<TuningPoints>,
}

/// What a [`KernelProblem`] is made of.
#[derive(Clone, Debug)]
pub struct KernelDescription {
    /// The launch file's name, in messages and in the problem's text.
    pub name: String,
    /// The text of the launch file.
    pub launch: String,
    /// What the command line sets in place of the launch file.
    pub overrides: Overrides,
    /// Further build options of the command line.
    pub flags: Vec<String>,
    /// The kernel's parameters.
    pub signature: Signature,
    /// The program's name in messages.
    pub program: String,
    /// The program.
    pub source: Source,
    /// The folder of the launch file, to which `-I` in its options is relative; a path that the compiler can find.
    pub folder: String,
    /// Further folders of include files, likewise.
    pub includes: Vec<String>,
    /// The contents of the include files, for the hash.
    pub included: Vec<u8>,
    /// The files that the launch file refers to.
    pub files: KernelFiles,
}

/// Results that those of candidates are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelReference {
    /// Who computed them, in words.
    pub by: String,
    /// The bytes of each memory object, by the argument's position.
    pub results: Vec<(usize, Vec<u8>)>,
}

/// A kernel that cannot be tuned.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum KernelError {
    /// The launch file is wrong.
    #[error(transparent)]
    File(#[from] FileError),
    /// No combination satisfies the conditions.
    #[error("{file}: no combination of the values of `[tune]` satisfies all conditions of `where`")]
    NoPoint {
        /// The launch file.
        file: String,
    },
    /// A parameter that nothing uses.
    #[error(
        "{file}: parameter `{name}` changes nothing: it occurs neither in {program} nor in a size or an option of the \
         launch file"
    )]
    Unused {
        /// The launch file.
        file: String,
        /// The parameter.
        name: String,
        /// The program.
        program: String,
    },
    /// Results of candidates that cannot be compared, because their sizes differ.
    #[error(
        "{file}: `{name}` has {first} elements with {first_text}, and {other} with {other_text}, so that candidates \
         cannot be compared by it; name what is compared in `[tune]`: compare = [\"sum({name})\"] compares its sum"
    )]
    Sizes {
        /// The launch file.
        file: String,
        /// The argument.
        name: String,
        /// Its elements with the first candidate.
        first: usize,
        /// The first candidate.
        first_text: String,
        /// Its elements with another candidate.
        other: usize,
        /// That candidate.
        other_text: String,
    },
    /// The results of the first candidate cannot be computed.
    #[error("{reason}")]
    Reference {
        /// The reason.
        reason: String,
    },
    /// Nothing that the kernel writes can be compared.
    #[error(
        "{file}: nothing can be compared: every buffer and image has access = \"read\"; the kernel's results need \
         another `access`, or `expect`"
    )]
    NoResult {
        /// The launch file.
        file: String,
    },
}

impl PartialEq for KernelProblem {
    /// By the text, which has a hash of all else.
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.reference == other.reference
    }
}

impl fmt::Display for KernelProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl KernelProblem {
    /// A kernel to tune, and its candidates ([`Tuning::points`]).
    ///
    /// # Errors
    /// There is no candidate, a parameter changes nothing, or the results of candidates cannot be compared.
    pub fn new(description: KernelDescription, points: TuningPoints) -> Result<Self, KernelError> {
        let name = &description.name;
        let first = points.texts.first().cloned().ok_or(KernelError::NoPoint { file: name.clone() })?;
        let hash = description.hash(&first);
        let spaceless = |text: &str| text.split_whitespace().collect::<Vec<_>>().join("_");
        let text = format!("{FAMILY} {}:{} {hash}", spaceless(name), description.signature.kernel);
        let problem = Self { text, description, first, reference: None, points: Arc::new(points) };
        let file = problem.launch_file(&problem.first)?;
        if let Some(tuning) = &file.tuning {
            problem.check_parameters(tuning)?;
            problem.check_results(&file, tuning)?;
        }
        Ok(problem)
    }

    /// The same with results that those of candidates are compared with. Without them, the device itself computes them
    /// with the first candidate.
    #[must_use]
    pub fn with_reference(self, reference: KernelReference) -> Self {
        Self { reference: Some(reference), ..self }
    }

    /// What it is made of.
    pub fn description(&self) -> &KernelDescription {
        &self.description
    }

    /// The first candidate.
    pub fn first(&self) -> &str {
        &self.first
    }

    /// The candidates; none on the side of a worker, which is told what to measure.
    pub fn points(&self) -> &TuningPoints {
        &self.points
    }

    /// The results that those of candidates are compared with, if they are known beforehand.
    pub fn reference(&self) -> Option<&KernelReference> {
        self.reference.as_ref()
    }

    /// Bytes of the files and of the results, which a worker gets.
    pub fn size(&self) -> usize {
        let results = self.reference.iter().flat_map(|reference| &reference.results);
        self.description.files.size() + results.map(|(_, bytes)| bytes.len()).sum::<usize>()
    }

    /// Whether results are compared with those of the first candidate.
    ///
    /// # Errors
    /// None in practice: the launch file has been read before.
    pub fn needs_reference(&self) -> Result<bool, FileError> {
        Ok(!Self::compared(&self.launch_file(&self.first)?).is_empty())
    }

    /// What results are compared with, in words.
    ///
    /// # Errors
    /// None in practice: the launch file has been read before.
    pub fn judge(&self) -> Result<String, FileError> {
        let file = self.launch_file(&self.first)?;
        let by = match &self.reference {
            _ if !self.needs_reference()? => None,
            Some(reference) => Some(format!("{} in {}", self.first, reference.by)),
            None => Some(format!("{} on the device itself", self.first)),
        };
        let expected = "what the launch file expects".to_owned();
        Ok(match by {
            None => expected,
            Some(by) if expects(&file) => format!("{expected}, and with those of {by}"),
            Some(by) => format!("those of {by}"),
        })
    }

    /// The results of the first candidate on the simulator.
    ///
    /// # Errors
    /// It cannot be run there.
    pub fn results_of_first(&self, simulator: &mut dyn Executor) -> Result<KernelReference, KernelError> {
        let failed = |error: ExecuteError| KernelError::Reference { reason: error.to_string() };
        let file = self.launch_file(&self.first)?;
        let compared = Self::compared(&file);
        let mut loaded = self.load(&file)?;
        for memory in &mut loaded.memory {
            let bytes = memory.array.bytes().unwrap_or(0);
            memory.initial.get_or_insert_with(|| vec![UNWRITTEN; bytes]);
        }
        let staged = loaded.stage(simulator, Arc::new(self.program(&file))).map_err(failed)?;
        simulator.run(std::slice::from_ref(&staged.launch)).map_err(failed)?;
        let mut results = Vec::new();
        for memory in
            staged.memory.iter().filter(|memory| compared.iter().any(|(index, _)| *index == memory.argument))
        {
            results.push((memory.argument, memory.read(simulator).map_err(failed)?.bytes));
        }
        Ok(KernelReference { by: "the simulator".to_owned(), results })
    }

    /// Whether it needs include files, which only this machine has.
    ///
    /// # Errors
    /// None in practice: the launch file has been read before.
    pub fn has_includes(&self) -> Result<bool, FileError> {
        let own = self.launch_file(&self.first)?;
        Ok(!self.description.included.is_empty() || !own.options.includes.is_empty())
    }

    /// The launch file with the values of a candidate.
    ///
    /// # Errors
    /// The text is not one of its candidates, or a size is not possible.
    pub fn launch_file(&self, candidate: &str) -> Result<LaunchFile, FileError> {
        let KernelDescription { name, launch, overrides, signature, .. } = &self.description;
        let mut file = parse_combination(launch, name, overrides, candidate)?;
        file.kernel = Some(signature.kernel.clone());
        Ok(file)
    }

    /// The program as a candidate's launch file builds it.
    pub fn program(&self, file: &LaunchFile) -> Program {
        let KernelDescription { program, source, folder, includes, flags, overrides, .. } = &self.description;
        let within = |path: &str| std::path::Path::new(folder).join(path).display().to_string();
        let mut made = file.program(program.clone(), source.clone(), within);
        let is_tuned =
            |name: &str| file.tuning.iter().flat_map(|tuning| &tuning.dimensions).any(|one| one.name == name);
        for (name, value) in overrides.defines.iter().filter(|(name, _)| !is_tuned(name)) {
            made.defines.retain(|(known, _)| known != name);
            made.defines.push((name.clone(), value.clone()));
        }
        for folder in includes {
            made.options.extend(["-I".to_owned(), folder.clone()]);
        }
        made.options.extend(flags.iter().cloned());
        made
    }

    /// The arguments of a candidate's launch file, with the contents of the files.
    ///
    /// # Errors
    /// As [`LaunchFile::load`].
    pub fn load(&self, file: &LaunchFile) -> Result<Loaded, FileError> {
        let signatures = std::slice::from_ref(&self.description.signature);
        let mut file = file.clone();
        for entry in &mut file.arguments {
            let overridden = |name: &String| {
                self.description.overrides.numbers.iter().rev().find(|(known, _)| known == name)
            };
            if let (Given::Value { numbers, .. }, Some((_, number))) =
                (&mut entry.given, entry.name.as_ref().and_then(overridden))
            {
                numbers.fill(*number);
            }
        }
        file.load(signatures, &mut self.description.files.clone(), Limits::default())
    }

    /// The results that are compared with the reference, by argument; whether only by their sum. Empty if the launch
    /// file says what it expects, and names nothing else.
    pub fn compared(file: &LaunchFile) -> Vec<(usize, bool)> {
        let memory = || {
            file.arguments.iter().enumerate().filter_map(|(index, entry)| match &entry.given {
                Given::Memory(memory) => Some((index, entry, memory)),
                _ => None,
            })
        };
        let named = file.tuning.as_ref().map_or(&[][..], |tuning| &tuning.compare);
        if !named.is_empty() {
            let position = |one: &ComparedResult| {
                let found = memory().find(|(_, entry, _)| entry.name.as_deref() == Some(&one.name));
                found.map(|(index, ..)| (index, one.is_sum))
            };
            return named.iter().filter_map(position).collect();
        }
        if expects(file) {
            return Vec::new();
        }
        let written = memory().filter(|(.., memory)| memory.access != Access::Read);
        written.map(|(index, ..)| (index, false)).collect()
    }

    /// How far numbers of an argument may be from the reference: integers are equal, unless the file permits an
    /// absolute distance. Channels of images that stand for 0 to 1 or -1 to 1 may differ by one step, because devices round to
    /// them as they like (OpenCL 3.0, 8.3.1.1: within 0.6 of a step of the exact number).
    pub fn tolerance(file: &LaunchFile, argument: usize, array: &ArrayShape) -> Tolerance {
        use ChannelType::{SnormI8, SnormI16, UnormU8, UnormU16};

        let given = file.tuning.as_ref().and_then(|tuning| tuning.tolerance);
        let float = |relative, absolute| given.unwrap_or(Tolerance { relative, absolute, ulp: 0 });
        let channel = match file.arguments.get(argument).map(|entry| &entry.given) {
            Some(Given::Memory(Memory { shape: MemoryShape::Image { channel, .. }, .. })) => Some(channel),
            _ => None,
        };
        let is_rounded = matches!(channel, Some(SnormI8 | SnormI16 | UnormU8 | UnormU16));
        let step = if is_rounded { 1.0 } else { 0.0 };
        match array.element.scalar() {
            ScalarType::F16 => float(1e-2, 1e-3),
            ScalarType::F32 => float(1e-5, 1e-6),
            ScalarType::F64 => float(1e-12, 1e-12),
            _ => Tolerance { absolute: given.map_or(step, |given| given.absolute), relative: 0.0, ulp: 0 },
        }
    }

    /// The candidates that a device can run, as far as their work-groups show it, and how many it cannot.
    pub(crate) fn candidates(&self, probe: &Probe) -> Vec<String> {
        let texts = &self.points.texts;
        if texts.len() > CHECKED_MAX {
            return texts.clone();
        }
        let fits = |text: &&String| {
            self.launch_file(text).is_ok_and(|file| work_group_misfit(&file.range, probe).is_none())
        };
        texts.iter().filter(fits).cloned().collect()
    }

    fn check_parameters(&self, tuning: &Tuning) -> Result<(), KernelError> {
        let KernelDescription { name: file, launch, source, program, included, .. } = &self.description;
        // Include files may use any of them, and a module is compiled already.
        let Source::OpenClC(text) = source else { return Ok(()) };
        let text = text.to_string();
        if text.contains("#include") || !included.is_empty() {
            return Ok(());
        }
        // The launch file has each once in `[tune]`.
        let words = |text: &str, name: &str| {
            text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .filter(|word| *word == name)
                .count()
        };
        for dimension in tuning.dimensions.iter().filter(|dimension| dimension.is_macro()) {
            let name = &dimension.name;
            if words(&text, name) == 0 && words(launch, name) < 2 {
                let (file, program) = (file.clone(), program.clone());
                return Err(KernelError::Unused { file, name: name.clone(), program });
            }
        }
        Ok(())
    }

    /// Checks that there are results to compare, whose sizes do not depend on parameters. Each value is tried once.
    fn check_results(&self, first: &LaunchFile, tuning: &Tuning) -> Result<(), KernelError> {
        let file = || self.description.name.clone();
        let compared = Self::compared(first);
        if compared.is_empty() && !expects(first) {
            return Err(KernelError::NoResult { file: file() });
        }
        let elements = |file: &LaunchFile, index: usize| match &file.arguments[index].given {
            Given::Memory(Memory { shape: MemoryShape::Buffer { extents: Some(extents), .. }, .. }) => {
                Some(extents.iter().product::<usize>())
            }
            _ => None,
        };
        let chosen = tuning.chosen(&self.first).unwrap_or_default();
        for (dimension, one) in tuning.dimensions.iter().enumerate() {
            for value in 0..one.values.len() {
                let mut other = chosen.clone();
                other[dimension] = value;
                let other_text = tuning.text(&other);
                // What is not possible with this value alone is no candidate.
                let Ok(other) = self.launch_file(&other_text) else { continue };
                for (index, is_sum) in &compared {
                    let sizes = (elements(first, *index), elements(&other, *index));
                    if let ((Some(first_size), Some(other_size)), false) = (sizes, *is_sum)
                        && first_size != other_size
                    {
                        return Err(KernelError::Sizes {
                            file: file(),
                            name: first.arguments[*index]
                                .name
                                .clone()
                                .unwrap_or_else(|| format!("argument {index}")),
                            first: first_size,
                            first_text: self.first.clone(),
                            other: other_size,
                            other_text,
                        });
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether a launch file says what comes out.
fn expects(file: &LaunchFile) -> bool {
    let given = file.arguments.iter().map(|entry| &entry.given);
    given.into_iter().any(|given| matches!(given, Given::Memory(memory) if memory.expect.is_some()))
}

/// Why a device cannot run work-groups of this size; `None` if it can, or chooses itself.
pub(crate) fn work_group_misfit(range: &NdRange, probe: &Probe) -> Option<String> {
    let local = range.local_size()?;
    let items = local.iter().try_fold(1usize, |all, size| all.checked_mul(*size));
    let shown = || local.map(|size| size.to_string()).join("x");
    if probe.max_work_group_size > 0 && items.is_none_or(|items| items > probe.max_work_group_size) {
        let most = probe.max_work_group_size;
        return Some(format!(
            "work-groups of {} have more than {most} work-items, the device's limit",
            shown()
        ));
    }
    let over = local.iter().zip(probe.max_work_item_sizes).any(|(size, most)| most > 0 && *size > most);
    over.then(|| {
        let most = probe.max_work_item_sizes.map(|size| size.to_string()).join("x");
        format!("work-groups of {} exceed {most}, the device's limits", shown())
    })
}
