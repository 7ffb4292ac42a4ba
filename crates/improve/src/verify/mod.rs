//! The proof of a rewrite: original and changed kernel compute the same, and the changed one without a finding.
//!
//! Both run in the simulator with all checks: on the given launch if that takes seconds at most, and on launches
//! derived from it with other sizes (`sizes`) and other contents of memory (`contents`). A derived launch counts only
//! if the original kernel runs on it without an error.

mod contents;
mod run;
mod sizes;

use std::fmt;
use std::time::{Duration, Instant};

use tripipe_ir::diagnostic::{Finding, Severity};
use tripipe_launch::{ExecuteError, MemoryKind, ScalarType};
use tripipe_launch_file::{
    Comparison, Contents, FileError, Given, LaunchFile, Limits, MemoryShape, Number, Scalar, Tolerance,
};
use tripipe_simulate::watch::rules;

use crate::{HostChange, OpenFiles, Required, Subject, Target};
use contents::{GivenContents, Kind};
pub(crate) use run::computed;
use run::{OutputMemory, Ran, RunError, Runner};
use sizes::{Sizes, parts};

/// The given launch itself is among those of a proof if the original takes no longer with all checks.
const WHOLE: Duration = Duration::from_secs(3);

/// The most instructions of a derived launch, counted once for all work-items that run them together.
const DERIVED_STEPS: u64 = 4_000_000;

/// The most instructions of the given launch.
const GIVEN_STEPS: u64 = 100_000_000;

/// The rule that a launch breaks if it runs more instructions.
const TOO_LONG: &str = "infinite-loop";

/// Verifies rewrites of a kernel.
pub struct Verifier<'f> {
    files: &'f dyn OpenFiles,
    target: Option<&'f Target>,
    cases: Vec<Case>,
}

/// A launch, and what the original kernel left.
struct Case {
    launch: LaunchFile,
    kind: Kind,
    is_whole: bool,
    expected: Ran,
}

/// Why rewrites of a kernel cannot be verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The launch does not suit the kernel, or a file of it cannot be read.
    #[error(transparent)]
    Launch(#[from] FileError),
    /// The kernel does not compile, or cannot run.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// The original kernel does something undefined.
    #[error("the kernel itself is wrong: {}; `tripipe check` shows more", shown(finding))]
    Original {
        /// What.
        finding: Box<Finding>,
    },
    /// The kernel runs without an error on none of the launches that were tried.
    #[error("no launch was found that is small enough to verify rewrites and on which the kernel runs without an error{}",
        finding.as_ref().map(|finding| format!(": {}", shown(finding))).unwrap_or_default())]
    NoLaunch {
        /// The first error.
        finding: Option<Box<Finding>>,
    },
}

/// A finding in one line.
fn shown(finding: &Finding) -> String {
    let place =
        finding.location.as_ref().map(|location| format!("line {}: ", location.line)).unwrap_or_default();
    format!("{place}{} [{}]", finding.message.trim_end_matches('.'), finding.rule.code)
}

/// A proof.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The number of launches on which both kernels ran.
    pub launches: usize,
    /// The number of values that were compared.
    pub values: u64,
    /// Whether the given launch was among them.
    pub whole: bool,
    /// Launches that do not fulfil the conditions and were left out.
    pub left_out: usize,
}

impl Verified {
    /// Adds the launches of another proof of the same kernel.
    pub(crate) fn add(&mut self, other: &Self) {
        self.launches += other.launches;
        self.values += other.values;
        self.whole |= other.whole;
        self.left_out += other.left_out;
    }
}

/// Why a rewrite is refused.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CounterExample {
    /// A value differs.
    Differs {
        /// The launch of the original.
        launch: String,
        /// The argument whose memory it is in.
        memory: String,
        /// Its index in each dimension.
        index: Vec<usize>,
        /// The value of the original.
        expected: Scalar,
        /// The value of the changed kernel.
        found: Scalar,
        /// Differing values of this memory object.
        differing: usize,
    },
    /// The changed kernel does something wrong that the original does not.
    Finds {
        /// The launch of the original.
        launch: String,
        /// What.
        finding: Box<Finding>,
    },
    /// The changed kernel does not run.
    Fails {
        /// The launch of the original.
        launch: String,
        /// Why.
        reason: String,
    },
    /// No launch fulfils the conditions.
    NoLaunch,
    /// There was no time to run all launches.
    Late,
}

impl fmt::Display for CounterExample {
    /// A sentence without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs { launch, memory, index, expected, found, differing } => {
                let index: Vec<String> = index.iter().map(usize::to_string).collect();
                write!(
                    f,
                    "`{memory}[{}]` is {found} instead of {expected} ({differing} differ) on {launch}",
                    index.join("][")
                )
            }
            Self::Finds { launch, finding } => write!(f, "{} on {launch}", shown(finding)),
            Self::Fails { launch, reason } => write!(f, "{reason} on {launch}"),
            Self::NoLaunch => f.write_str("no launch that could be made fulfils its conditions"),
            Self::Late => f.write_str("there was no time to run all launches"),
        }
    }
}

impl<'f> Verifier<'f> {
    /// Runs the original kernel on launches. It is built for what the driver of the first target offers.
    ///
    /// # Errors
    /// The kernel cannot run, or does something undefined on the given launch, or on all that were tried.
    pub fn new(
        original: &Subject,
        targets: &'f [Target],
        files: &'f dyn OpenFiles,
    ) -> Result<Self, VerifyError> {
        Self::within(original, targets, files, Duration::MAX)
    }

    /// As [`Self::new`], with as many launches as run in `limit`; one is run in any case.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn within(
        original: &Subject,
        targets: &'f [Target],
        files: &'f dyn OpenFiles,
        limit: Duration,
    ) -> Result<Self, VerifyError> {
        Self::of_calls(original, &[], targets, files, limit)
    }

    /// As [`Self::within`], where other kernels of the source compute what is compared with, one after the other: each by
    /// its name, and the positions of its arguments among those of `original`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_calls(
        original: &Subject,
        calls: &[(String, Vec<usize>)],
        targets: &'f [Target],
        files: &'f dyn OpenFiles,
        limit: Duration,
    ) -> Result<Self, VerifyError> {
        let start = Instant::now();
        let target = targets.first();
        let mut runner = Runner::new(original.clone(), target, DERIVED_STEPS).with_calls(calls);
        let mut launch = original.launch.clone();
        launch.forget_results();
        let given = resolve(&mut launch, &mut runner, files)?;
        let sizes = Sizes::of(&launch);
        let mut verifier = Self { files, target, cases: Vec::new() };
        let mut first = None;
        // The largest launch so far, and how long it takes.
        let (mut largest, mut longest) = (1.0, Duration::MAX);
        // How long a launch takes that does not end.
        let mut endless = Duration::ZERO;
        for (index, values) in sizes.to_try().into_iter().enumerate() {
            let resized = sizes.apply(&launch, &values);
            for (number, kind) in Kind::ALL.into_iter().enumerate() {
                // All kinds on some sizes, one on each of the others.
                if index % 5 != 0 && number != index % 2 || start.elapsed() >= limit {
                    continue;
                }
                let mut resized = resized.clone();
                kind.fill(&mut resized, &given, (1 + index) as u64);
                let begin = Instant::now();
                let Some(ran) = verifier.add(&mut runner, resized, kind, false, &mut first)? else {
                    endless = endless.max(begin.elapsed());
                    continue;
                };
                if sizes.work(&values) > largest {
                    (largest, longest) = (sizes.work(&values), ran);
                }
            }
        }
        // Sizes 5, 7, 3, and 17, 33, 9, of which parts are launched.
        let is_wrong = verifier.cases.is_empty();
        let tried = sizes.to_try();
        let few = tried.iter().skip(3).step_by(2).take(2);
        let parts = few.flat_map(|values| parts(&sizes.apply(&launch, values)));
        for (index, mut other) in sizes.unequal(&launch).into_iter().chain(parts).enumerate() {
            if start.elapsed() < limit {
                let kind = [Kind::Mixed, Kind::AsGiven][index % 2];
                kind.fill(&mut other, &given, 1000 + index as u64);
                verifier.add(&mut runner, other, kind, false, &mut first)?;
            }
        }
        let expected = longest.as_secs_f64() * sizes.work(&sizes.values) / largest;
        let room = WHOLE.min(limit.saturating_sub(start.elapsed()));
        if is_wrong || expected <= room.as_secs_f64() {
            let mut own = None;
            // A kernel that ends on no launch may not end on the given one.
            let times =
                if is_wrong && endless > Duration::ZERO { room.div_duration_f64(endless) } else { f64::MAX };
            let steps = (DERIVED_STEPS as f64 * times.max(1.0)).min(GIVEN_STEPS as f64) as u64;
            let mut runner = Runner::new(original.clone(), target, steps).with_calls(calls);
            verifier.add(&mut runner, launch, Kind::AsGiven, true, &mut own)?;
            match own {
                Some(finding) if finding.rule.code == TOO_LONG => first = first.or(Some(finding)),
                Some(finding) => return Err(VerifyError::Original { finding }),
                None => {}
            }
        }
        if verifier.cases.is_empty() {
            return Err(VerifyError::NoLaunch { finding: first });
        }
        Ok(verifier)
    }

    /// Adds a launch if the original runs on it without an error; returns how long it takes.
    fn add(
        &mut self,
        runner: &mut Runner,
        launch: LaunchFile,
        kind: Kind,
        is_whole: bool,
        first: &mut Option<Box<Finding>>,
    ) -> Result<Option<Duration>, VerifyError> {
        if self.cases.iter().any(|case| case.launch == launch) {
            return Ok(None);
        }
        let ran = match runner.run(&launch, &mut *self.files.open()) {
            Ok(ran) => ran,
            Err(RunError::Launch(error)) if is_whole => return Err(error.into()),
            Err(RunError::Execute(error)) if is_whole => return Err(error.into()),
            // Such as a work-group that is larger than the kernel requires.
            Err(_) => return Ok(None),
        };
        if let Some(finding) = ran.error() {
            first.get_or_insert_with(|| Box::new(finding.clone()));
            return Ok(None);
        }
        let elapsed = ran.elapsed;
        self.cases.push(Case { launch, kind, is_whole, expected: ran });
        Ok(Some(elapsed))
    }

    /// The number of launches that a proof runs, if all of them fulfil its conditions.
    pub fn launches(&self) -> usize {
        self.cases.len()
    }

    /// The time that the given launch takes; zero if it is not among those of a proof.
    pub(crate) fn time_of_given(&self) -> Duration {
        self.cases.iter().filter(|case| case.is_whole).map(|case| case.expected.elapsed).sum()
    }

    /// Verifies a changed kernel on all launches: `changed` is its source, `host` all changes of the original's launch that it needs.
    /// Floating-point results may deviate by `relative_error` of their value plus as much of the mean magnitude in their
    /// memory object, halves also by one step of their type, integers of 8 and 16 bits by one; all others are the same.
    ///
    /// # Errors
    /// A counter-example.
    pub fn verify(
        &self,
        changed: &Subject,
        host: &[HostChange],
        conditions: &[Required],
        relative_error: f64,
    ) -> Result<Verified, Box<CounterExample>> {
        let mut verified = self.verify_derived(changed, host, conditions, relative_error)?;
        verified.add(&self.verify_given(changed, host, conditions, relative_error)?);
        Ok(verified)
    }

    /// As [`Self::verify`], on the launches that were derived from the given one; on that one if there are no others.
    ///
    /// # Errors
    /// A counter-example.
    pub fn verify_derived(
        &self,
        changed: &Subject,
        host: &[HostChange],
        conditions: &[Required],
        relative_error: f64,
    ) -> Result<Verified, Box<CounterExample>> {
        self.verify_derived_until(None, changed, host, conditions, relative_error)
    }

    /// As [`Self::verify_derived`]; ends with [`CounterExample::Late`] when `until` has come.
    pub(crate) fn verify_derived_until(
        &self,
        until: Option<Instant>,
        changed: &Subject,
        host: &[HostChange],
        conditions: &[Required],
        relative_error: f64,
    ) -> Result<Verified, Box<CounterExample>> {
        let cases: Vec<&Case> = self.cases.iter().filter(|case| !case.is_whole).collect();
        let verified = self.verify_on(until, &cases, changed, host, conditions, relative_error)?;
        if verified.launches == 0
            && self.verify_given(changed, host, conditions, relative_error)?.launches == 0
        {
            return Err(Box::new(CounterExample::NoLaunch));
        }
        Ok(verified)
    }

    /// As [`Self::verify`], on the given launch; there are no launches if that is too large, or does not fulfil the
    /// conditions.
    ///
    /// # Errors
    /// A counter-example.
    pub fn verify_given(
        &self,
        changed: &Subject,
        host: &[HostChange],
        conditions: &[Required],
        relative_error: f64,
    ) -> Result<Verified, Box<CounterExample>> {
        let cases: Vec<&Case> = self.cases.iter().filter(|case| case.is_whole).collect();
        self.verify_on(None, &cases, changed, host, conditions, relative_error)
    }

    fn verify_on(
        &self,
        until: Option<Instant>,
        cases: &[&Case],
        changed: &Subject,
        host: &[HostChange],
        conditions: &[Required],
        relative_error: f64,
    ) -> Result<Verified, Box<CounterExample>> {
        let is_whole = cases.iter().any(|case| case.is_whole);
        // The changed kernel may need more than the original: the outputs of a vector one by one at an edge.
        let steps = if is_whole { 2 * GIVEN_STEPS } else { 16 * DERIVED_STEPS };
        let mut runner = Runner::new(changed.clone(), self.target, steps);
        let mut verified = Verified::default();
        for case in cases {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(Box::new(CounterExample::Late));
            }
            if conditions.iter().any(|condition| condition.holds(host, &case.launch) == Some(false)) {
                verified.left_out += 1;
                continue;
            }
            // Rounding of numbers that are far out of the usual range says nothing.
            if relative_error > 0.0 && !matches!(case.kind, Kind::AsGiven | Kind::Zero) {
                continue;
            }
            let launch = HostChange::apply_all(host, &case.launch);
            let ran = runner.run(&launch, &mut *self.files.open()).map_err(|error| {
                Box::new(CounterExample::Fails { launch: case.to_string(), reason: error.to_string() })
            })?;
            verified.values += case.compare(&ran, relative_error)?;
            verified.launches += 1;
            verified.whole |= case.is_whole;
        }
        Ok(verified)
    }
}

impl Case {
    /// Compares what both kernels left; returns the number of values.
    fn compare(&self, ran: &Ran, relative_error: f64) -> Result<u64, Box<CounterExample>> {
        let has = |code| self.expected.findings.iter().any(|known| known.rule.code == code);
        // Where several work-items write one element, always the same value, wider stores overlap in parts.
        let overlaps = !self.is_whole && has(rules::SAME_VALUE_RACE.code);
        let races = [rules::DATA_RACE.code, rules::DATA_RACE_BETWEEN_GROUPS.code];
        let known = |it: &Finding| has(it.rule.code) || overlaps && races.contains(&it.rule.code);
        let new =
            ran.findings.iter().find(|finding| finding.rule.severity > Severity::Note && !known(finding));
        if let Some(finding) = new {
            let (launch, finding) = (self.to_string(), Box::new(finding.clone()));
            return Err(Box::new(CounterExample::Finds { launch, finding }));
        }
        let mut values = 0;
        for (expected, found) in self.expected.memory.iter().zip(&ran.memory) {
            let tolerance = tolerance(expected, relative_error);
            // A padded buffer has more.
            let found = &found.bytes[..expected.bytes.len().min(found.bytes.len())];
            let comparison = Comparison::of(&expected.array, found, &expected.bytes, &tolerance);
            if let Some(difference) = comparison.first.into_iter().next() {
                return Err(Box::new(CounterExample::Differs {
                    launch: self.to_string(),
                    memory: expected.name.clone(),
                    index: difference.index,
                    expected: difference.want,
                    found: difference.found,
                    differing: comparison.differing,
                }));
            }
            values += comparison.numbers as u64;
        }
        Ok(values)
    }
}

impl fmt::Display for Case {
    /// The range, the numbers that are passed, and the contents of memory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.launch.range)?;
        for entry in &self.launch.arguments {
            if let (Some(name), Given::Value { numbers, .. }) = (&entry.name, &entry.given)
                && let [number] = numbers[..]
            {
                match number {
                    Number::Integer(number) => write!(f, ", {name} = {number}")?,
                    Number::Float(number) => write!(f, ", {name} = {number}")?,
                }
            }
        }
        write!(f, ", {}", if self.is_whole { "the given launch" } else { self.kind.name() })
    }
}

/// How far the numbers of a memory object may deviate: pixels, which are rounded from floats, by one.
fn tolerance(expected: &OutputMemory, relative_error: f64) -> Tolerance {
    let scalar = expected.array.element.scalar();
    let is_pixel = matches!(scalar, ScalarType::I8 | ScalarType::U8 | ScalarType::I16 | ScalarType::U16);
    if relative_error > 0.0 && is_pixel {
        return Tolerance { absolute: 1.0, ..Tolerance::default() };
    } else if relative_error == 0.0 || !matches!(scalar, ScalarType::F16 | ScalarType::F32 | ScalarType::F64)
    {
        return Tolerance::default();
    }
    let numbers = expected.array.numbers(&expected.bytes);
    let magnitudes = numbers.map(|bytes| Scalar::from_bytes(scalar, bytes).to_f64().abs());
    let finite = magnitudes.filter(|magnitude| magnitude.is_finite());
    let (count, sum) = finite.fold((0.0, 0.0), |(count, sum), magnitude| (count + 1.0, sum + magnitude));
    // A deviation that is less than a step between halves may cross the border between two.
    let ulp = u64::from(scalar == ScalarType::F16);
    Tolerance { absolute: relative_error * sum / f64::max(count, 1.0), relative: relative_error, ulp }
}

/// Writes down the sizes of all memory objects of a launch, which may follow from files, and returns their contents
/// where these are listed or come from files.
fn resolve(
    launch: &mut LaunchFile,
    runner: &mut Runner,
    files: &dyn OpenFiles,
) -> Result<Vec<GivenContents>, VerifyError> {
    let signature = runner.signature(launch)?;
    let loaded = launch.load(&[signature], &mut *files.open(), Limits::default())?;
    let mut given = Vec::new();
    for object in loaded.memory {
        let Some(Given::Memory(memory)) =
            launch.arguments.get_mut(object.argument).map(|entry| &mut entry.given)
        else {
            continue;
        };
        match (&mut memory.shape, &object.kind) {
            (MemoryShape::Buffer { extents, .. }, _) => *extents = Some(object.array.extents.clone()),
            (MemoryShape::Image { extent, .. }, MemoryKind::Image(shape)) => *extent = Some(shape.extent),
            _ => {}
        }
        let is_listed = !matches!(
            memory.contents,
            Contents::Unwritten | Contents::Fill(_) | Contents::Range { .. } | Contents::Random(_)
        );
        let bytes = object.initial.as_deref().filter(|_| is_listed);
        given.push(bytes.map(|bytes| GivenContents::of(&object.array, bytes)).unwrap_or_default());
    }
    Ok(given)
}
