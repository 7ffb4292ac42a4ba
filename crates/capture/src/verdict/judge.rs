//! Runs a launch, compares its results with the device's, and judges the differences.

use std::sync::Arc;

use tripipe_ir::diagnostic::{AccessedMemory, Finding, Severity, SourceLocation, WorkItem};
use tripipe_ir::{ParameterKind, Space, TypeLayout};
use tripipe_launch::{ExecuteError, Executor as _, NdRange, ScalarType};
use tripipe_launch_file::{ArrayShape, Scalar, StagedMemory};
use tripipe_simulate::bounds::{Allowed, Bounded, Freedom, Places, Reason, WrittenNumber};
use tripipe_simulate::watch::Checks;
use tripipe_simulate::{Checked, Simulator};

use super::{Case, Judged, JudgedMemory, Kind, Number, Verdict, rules};

/// Warnings after which the results of a launch are not defined.
const UNDEFINED: [&str; 3] = ["float-to-int-range", "signed-overflow", "infinite-loop"];

/// Numbers of a memory object that are described one by one.
const SHOWN: usize = 5;

/// Judges the results that a device computed.
///
/// # Errors
/// The launch cannot be run: it does not compile, or needs more memory or steps than the limits allow. Undefined
/// behaviour is no error, but a verdict.
pub fn judge(case: &Case) -> Result<Judged, ExecuteError> {
    let (checked, plain) = checked(case)?;
    let mut judged = Judged {
        verdict: Verdict::Same,
        kernel: case.loaded.kernel.clone(),
        global: checked.report.global,
        local: checked.report.local,
        findings: checked.findings,
        left_out: checked.left_out,
        memory: Vec::new(),
    };
    let is_bug = judged.findings.iter().any(is_bug);
    let Some(results) = plain else {
        judged.verdict = Verdict::Bug;
        return Ok(judged);
    };
    let paddings = paddings(case)?;
    let differences: Vec<Vec<usize>> = case
        .loaded
        .memory
        .iter()
        .zip(&results)
        .zip(&paddings)
        .map(|((memory, found), padding)| {
            let Some((device, _)) = &memory.expected else { return Vec::new() };
            let bytes = memory.array.element.scalar().bytes();
            let mut offsets = differing(&memory.array, found, device);
            // A store of a struct may change its padding as it likes.
            offsets.retain(|offset| {
                let of_members = |at: usize| padding.is_empty() || !padding[at % padding.len()];
                (*offset..offset + bytes).any(of_members)
            });
            offsets
        })
        .collect();
    let bounded = if is_bug || differences.iter().all(Vec::is_empty) {
        None
    } else {
        Some(bounded(case, &differences)?)
    };
    let mut found = Vec::new();
    for (position, memory) in case.loaded.memory.iter().enumerate() {
        let Some((device, _)) = &memory.expected else { continue };
        let scalar = memory.array.element.scalar();
        let text = |bytes: &[u8], offset: usize| {
            Scalar::from_bytes(scalar, bytes.get(offset..).unwrap_or_default()).to_string()
        };
        let mut one = JudgedMemory {
            argument: memory.argument,
            name: memory.name.clone(),
            numbers: memory.array.numbers(device).count(),
            differing: differences[position].len(),
            allowed: 0,
            open: 0,
            wrong: 0,
            first: Vec::new(),
        };
        if let Some((all, ids)) = &bounded {
            let mut numbers = Vec::new();
            for offset in &differences[position] {
                let written = all.written.get(&(ids[position], *offset));
                let value = Scalar::from_bytes(scalar, device.get(*offset..).unwrap_or_default());
                let (kind, cause) = kind_of(written, all, value, scalar);
                match kind {
                    Kind::Allowed => one.allowed += 1,
                    Kind::Open => one.open += 1,
                    Kind::Wrong => one.wrong += 1,
                }
                let number = Number {
                    offset: *offset,
                    index: index(&memory.array, *offset),
                    kind,
                    device: text(device, *offset),
                    defined: text(&results[position], *offset),
                    exact: written.map(|written| written.exact),
                    bounds: written.and_then(|written| match written.allowed {
                        Allowed::Between(low, high, _) => Some([low, high]),
                        _ => None,
                    }),
                    work_item: written.map(|written| written.work_item),
                    cause,
                };
                numbers.push((number, written.and_then(|written| written.location.clone()), value));
            }
            found.extend(findings(case, &judged, position, &numbers));
            numbers.sort_by_key(|(number, ..)| number.kind);
            one.first = numbers.into_iter().take(SHOWN).map(|(number, ..)| number).collect();
        }
        judged.memory.push(one);
    }
    let any = |pick: fn(&JudgedMemory) -> usize| judged.memory.iter().any(|memory| pick(memory) > 0);
    judged.verdict = if is_bug {
        Verdict::Bug
    } else if any(|memory| memory.wrong) {
        Verdict::Miscompiled
    } else if any(|memory| memory.open) {
        Verdict::Open
    } else if any(|memory| memory.allowed) {
        Verdict::Rounding
    } else {
        Verdict::Same
    };
    judged.findings.extend(found);
    judged.findings.sort_by_key(|finding| match finding.rule.severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Note => 2,
    });
    Ok(judged)
}

/// Structs beyond this size are compared with their padding.
const LARGEST_STRUCT: u64 = 1 << 16;

/// For each memory object of a pointer to structs, whether a byte of a struct is padding; empty for others.
fn paddings(case: &Case) -> Result<Vec<Vec<bool>>, ExecuteError> {
    let mut simulator = Simulator::new(case.options.clone());
    let kernel = simulator.kernel(&case.program, &case.loaded.kernel)?;
    let of = |argument: usize| match &kernel.parameters.get(argument)?.kind {
        ParameterKind::Pointer { pointee: layout @ TypeLayout::Struct { bytes, .. }, .. }
            if *bytes <= LARGEST_STRUCT =>
        {
            let mut padding = vec![true; *bytes as usize];
            layout.leaves(0, &mut |offset, ty| {
                let end = offset as usize + ty.bytes() as usize;
                padding[offset as usize..end.min(*bytes as usize)].fill(false);
                true
            });
            Some(padding)
        }
        _ => None,
    };
    Ok(case.loaded.memory.iter().map(|memory| of(memory.argument).unwrap_or_default()).collect())
}

/// Whether the results of a launch are not defined after a finding.
fn is_bug(finding: &Finding) -> bool {
    finding.rule.severity == Severity::Error || UNDEFINED.contains(&finding.rule.code)
}

/// The bytes of each memory object after a run.
type Contents = Vec<Vec<u8>>;

/// The checked launch, and the memory after a plain run; `None` if the run stops early.
fn checked(case: &Case) -> Result<(Checked, Option<Contents>), ExecuteError> {
    let mut simulator = Simulator::new(case.options.clone());
    let staged = case.loaded.clone().stage(&mut simulator, Arc::clone(&case.program))?;
    let checked = simulator.check(&staged.launch, &Checks::all())?;
    let mut simulator = Simulator::new(case.options.clone());
    let staged = case.loaded.clone().stage(&mut simulator, Arc::clone(&case.program))?;
    match simulator.run(std::slice::from_ref(&staged.launch)) {
        Ok(_) => {}
        Err(_) if checked.findings.iter().any(is_bug) => return Ok((checked, None)),
        Err(error) => return Err(error),
    }
    let results =
        staged.memory.iter().map(|memory| read(memory, &mut simulator)).collect::<Result<_, _>>()?;
    Ok((checked, Some(results)))
}

/// The memory of a launch after a plain run in the simulator.
///
/// # Errors
/// As [`judge`], also for undefined behaviour.
pub(super) fn results(case: &Case) -> Result<Vec<Vec<u8>>, ExecuteError> {
    let mut simulator = Simulator::new(case.options.clone());
    let staged = case.loaded.clone().stage(&mut simulator, Arc::clone(&case.program))?;
    simulator.run(std::slice::from_ref(&staged.launch))?;
    staged.memory.iter().map(|memory| read(memory, &mut simulator)).collect()
}

fn read(memory: &StagedMemory, simulator: &mut Simulator) -> Result<Vec<u8>, ExecuteError> {
    Ok(memory.read(simulator)?.bytes)
}

/// The byte offsets of the numbers that differ. NaN equals NaN, and 0 equals -0.
fn differing(array: &ArrayShape, found: &[u8], device: &[u8]) -> Vec<usize> {
    let scalar = array.element.scalar();
    offsets(array)
        .filter(|offset| {
            let at = |bytes: &[u8]| Scalar::from_bytes(scalar, bytes.get(*offset..).unwrap_or_default());
            let (found, device) = (at(found), at(device));
            let both_nan = found.to_f64().is_nan() && device.to_f64().is_nan();
            found != device && !both_nan
        })
        .collect()
}

/// The byte offsets of the numbers of an array, without the padding of vectors of 3.
pub(super) fn offsets(array: &ArrayShape) -> impl Iterator<Item = usize> + use<> {
    let (bytes, scalar, lanes) =
        (array.element.bytes(), array.element.scalar().bytes(), array.element.lanes());
    (0..array.elements().unwrap_or(0))
        .flat_map(move |element| (0..lanes).map(move |lane| element * bytes + lane * scalar))
}

fn index(array: &ArrayShape, offset: usize) -> Vec<usize> {
    let element = array.element;
    let mut rest = offset / element.bytes().max(1);
    let mut index: Vec<usize> = array
        .extents
        .iter()
        .rev()
        .map(|extent| {
            let here = rest % extent.max(&1);
            rest /= extent.max(&1);
            here
        })
        .collect();
    index.reverse();
    if element.lanes() > 1 {
        index.push(offset % element.bytes() / element.scalar().bytes());
    }
    index
}

/// The bounds of the differing numbers, and the memory objects in the order of the launch's memory.
fn bounded(
    case: &Case,
    differences: &[Vec<usize>],
) -> Result<(Bounded, Vec<tripipe_launch::MemoryId>), ExecuteError> {
    let mut simulator = Simulator::new(case.options.clone());
    let staged = case.loaded.clone().stage(&mut simulator, Arc::clone(&case.program))?;
    let ids: Vec<_> = staged.memory.iter().map(|memory| memory.id).collect();
    let places: Places = ids
        .iter()
        .zip(differences)
        .flat_map(|(id, offsets)| offsets.iter().map(move |offset| (*id, *offset)))
        .collect();
    Ok((simulator.bound(&staged.launch, &places, freedom(case))?, ids))
}

/// Which numbers of each memory object a launch writes, by byte offset.
///
/// # Errors
/// As [`judge`].
pub(super) fn written(case: &Case) -> Result<Vec<Vec<usize>>, ExecuteError> {
    let all: Vec<Vec<usize>> =
        case.loaded.memory.iter().map(|memory| offsets(&memory.array).collect()).collect();
    let (bounded, ids) = bounded(case, &all)?;
    Ok(ids
        .iter()
        .zip(all)
        .map(|(id, offsets)| {
            offsets.into_iter().filter(|offset| bounded.written.contains_key(&(*id, *offset))).collect()
        })
        .collect())
}

fn freedom(case: &Case) -> Freedom {
    let has = |option: &str| case.build.split_whitespace().any(|word| word == option);
    let off = case.source.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words[..], ["#pragma", "OPENCL", "FP_CONTRACT", "OFF", ..])
    });
    Freedom {
        relaxed: has("-cl-fast-relaxed-math") || has("-cl-unsafe-math-optimizations"),
        exact_division: has("-cl-fp32-correctly-rounded-divide-sqrt"),
        unfused: off && !has("-cl-mad-enable"),
    }
}

/// Whether a number of the device is allowed, and why it is open.
fn kind_of(
    written: Option<&WrittenNumber>,
    all: &Bounded,
    device: Scalar,
    scalar: ScalarType,
) -> (Kind, Option<String>) {
    let Some(written) = written else {
        // Another path, or another address, may write it.
        let open = all.branch.as_ref().or(all.stray.as_ref());
        return match open {
            Some(cause) => (Kind::Open, Some(explained(cause.reason, cause.location.as_ref()))),
            None => (Kind::Wrong, None),
        };
    };
    let float = matches!(scalar, ScalarType::F16 | ScalarType::F32 | ScalarType::F64);
    let same_type = written.skew == 0 && written.bytes == scalar.bytes() && written.float == float;
    match &written.allowed {
        Allowed::One => (Kind::Wrong, None),
        Allowed::Any(cause) => (Kind::Open, Some(explained(cause.reason, cause.location.as_ref()))),
        Allowed::Between(low, high, nan) if same_type => {
            let device = device.to_f64();
            let within = if device.is_nan() { *nan } else { *low <= device && device <= *high };
            (if within { Kind::Allowed } else { Kind::Wrong }, None)
        }
        Allowed::Between(..) => {
            (Kind::Open, Some("it is stored as another type than it is compared as".to_owned()))
        }
    }
}

fn explained(reason: Reason, location: Option<&SourceLocation>) -> String {
    let why = match reason {
        Reason::Branch => "a branch depends on a rounded number",
        Reason::Address => "an address depends on a rounded number",
        Reason::Function => "the language does not bound the error of the function",
        Reason::Order => "it depends on the order of the work-items",
        Reason::Filter => "the language does not bound the precision of linear filters",
        _ => "an operation has no bound for rounded operands",
    };
    location.map_or_else(|| why.to_owned(), |location| format!("{why} ({}:{})", location.file, location.line))
}

/// One finding for each kind and source location of the numbers of a memory object.
fn findings(
    case: &Case,
    judged: &Judged,
    position: usize,
    numbers: &[(Number, Option<SourceLocation>, Scalar)],
) -> Vec<Finding> {
    let memory = &case.loaded.memory[position];
    let mut groups: Vec<(Kind, Option<&SourceLocation>, Vec<usize>)> = Vec::new();
    for (at, (number, location, _)) in numbers.iter().enumerate() {
        let location = location.as_ref();
        match groups.iter_mut().find(|group| group.0 == number.kind && group.1 == location) {
            Some(group) => group.2.push(at),
            None => groups.push((number.kind, location, vec![at])),
        }
    }
    let near = |at: &usize| {
        let (number, _, device) = &numbers[*at];
        let device = device.to_f64();
        number.exact.is_some_and(|exact| {
            (device - exact).abs() <= 1e-2 * exact.abs().max(f64::from(f32::MIN_POSITIVE))
        })
    };
    groups
        .into_iter()
        .map(|(kind, location, members)| {
            let (number, ..) = &numbers[members[0]];
            let index =
                number.index.iter().fold(String::new(), |text, index| text + "[" + &index.to_string() + "]");
            let exact = number.exact.map_or(String::new(), |exact| format!("; in float64 it is {exact}"));
            let bounds = match number.bounds {
                Some([low, high]) if low == high => format!("; only {low} is allowed"),
                Some([low, high]) => format!("; {low} to {high} are allowed"),
                None => String::new(),
            };
            let (rule, bounds, fix) = match kind {
                Kind::Wrong if number.exact.is_none() => (
                    &rules::MISCOMPILED,
                    "; the kernel does not write there".to_owned(),
                    "Report it to the vendor with a reproducer: --reduce FOLDER.",
                ),
                Kind::Wrong => (
                    &rules::MISCOMPILED,
                    bounds,
                    "Report it to the vendor with a reproducer: --reduce FOLDER.",
                ),
                Kind::Allowed => (&rules::ROUNDING, bounds, "Compare with a tolerance."),
                Kind::Open => (
                    if members.iter().all(near) { &rules::OPEN_NEAR } else { &rules::OPEN },
                    number.cause.as_ref().map_or(String::new(), |cause| format!("; {cause}")),
                    "Compare with the result in float64.",
                ),
            };
            let message = format!(
                "`{}{index}` is {} on the device, and {} by the language{exact}{bounds}",
                memory.name, number.device, number.defined
            );
            Finding {
                rule,
                kernel: judged.kernel.clone(),
                location: location.cloned(),
                instruction: String::new(),
                message,
                fix: fix.to_owned(),
                count: members.len() as u64,
                work_item: number.work_item.map(|global| work_item(global, &case.loaded.range, judged.local)),
                memory: Some(AccessedMemory {
                    object: memory.name.clone(),
                    space: Space::Global,
                    object_bytes: memory.array.bytes().unwrap_or(0) as u64,
                    offset: number.offset as i64,
                    bytes: memory.array.element.scalar().bytes() as u64,
                }),
                related: Vec::new(),
            }
        })
        .collect()
}

fn work_item(global: [u64; 3], range: &NdRange, local: [u64; 3]) -> WorkItem {
    let offset = range.global_offset();
    let from = |dimension: usize| global[dimension].saturating_sub(offset[dimension] as u64);
    WorkItem {
        global,
        local: std::array::from_fn(|dimension| from(dimension) % local[dimension].max(1)),
        group: std::array::from_fn(|dimension| from(dimension) / local[dimension].max(1)),
    }
}
