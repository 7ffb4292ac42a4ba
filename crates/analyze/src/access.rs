//! How adjacent work-items access memory.

use tripipe_device::Gpu;
use tripipe_ir::flow::linear::Base;
use tripipe_ir::flow::{Atom, Linear, MemoryFact};
use tripipe_ir::op::{Binary, Builtin, Number, QueryKind};
use tripipe_ir::{Block, Inst, Kernel, Location, Op, Space, Type, Value, ValueDef};
use tripipe_machine::Model;

use crate::names::{argument_name, before_widening, value_name};
use crate::paths::Paths;

/// One load, store or atomic, as a warp executes it.
#[derive(Clone, Debug, PartialEq)]
pub struct WarpAccess {
    /// The instruction.
    pub inst: Inst,
    /// Its block.
    pub block: Block,
    /// Its location in the source.
    pub location: Option<Location>,
    /// The name of the argument or object that it accesses.
    pub pointer: String,
    /// The address space.
    pub space: Space,
    /// Whether it writes.
    pub writes: bool,
    /// Bytes of one work-item.
    pub bytes: u32,
    /// Bytes from one work-item's address to the next one's in dimension 0.
    pub stride: Stride,
    /// The argument that the stride is a multiple of, with the figures for an argument of 1; `None` for other strides.
    pub times: Option<Times>,
    /// Bytes from one iteration of the innermost loop around it to the next; `None` outside of loops. Below a cache
    /// line, later iterations hit the cache.
    pub iteration: Option<Stride>,
    /// Cache lines that a warp touches; those of a single work-item on GPUs without warps.
    pub lines: u32,
    /// Whether the line count follows from the stride on every path; otherwise it is the most common case, or the
    /// worst.
    pub lines_known: bool,
    /// The fraction of these lines that the warp uses, above 0 and at most 1.
    pub used: f64,
    /// Alignment that the code guarantees, in bytes.
    pub align: u32,
}

/// A stride that is a multiple of an argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// The argument.
    pub argument: String,
    /// Bytes from one work-item's address to the next one's when the argument is 1.
    pub bytes: i64,
    /// Cache lines that a warp touches when the argument is 1.
    pub lines: u32,
}

/// The distance between the addresses of adjacent work-items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// This many bytes; 0: all access the same address.
    Bytes(i64),
    /// The same everywhere, but known only at run time: a multiple of an argument.
    Runtime,
    /// Not a multiple of the id: from a table, a division, or a loop that differs between work-items.
    Unknown,
}

impl WarpAccess {
    /// The name as in the source: clang puts the kernel's name before those of local objects.
    pub(crate) fn name(&self, kernel: &Kernel) -> &str {
        let own = self.pointer.strip_prefix(kernel.name.as_str()).and_then(|rest| rest.strip_prefix('.'));
        own.unwrap_or(&self.pointer)
    }

    /// Whether adjacent work-items share cache lines as far as possible.
    pub fn is_coalesced(&self, gpu: &Gpu) -> bool {
        let line = gpu.memory.cache_line_bytes.value.max(1);
        let warp = gpu.core.warp_width.value;
        let word = word_bytes(gpu);
        self.lines <= (self.bytes.min(word) * warp).div_ceil(line).max(1) * self.bytes.div_ceil(word).max(1)
    }
}

/// All accesses of a kernel, in its order.
pub(crate) fn accesses(
    kernel: &Kernel,
    paths: &Paths<'_>,
    gpu: &Gpu,
    facts: &[MemoryFact],
    known: &dyn Fn(Atom) -> Option<i64>,
) -> Vec<WarpAccess> {
    let access = |fact| WarpAccess {
        iteration: iteration(kernel, paths, fact, known),
        ..access(kernel, gpu, fact, known)
    };
    facts.iter().map(access).collect()
}

/// The change of an address from one iteration of the innermost loop to the next.
fn iteration(
    kernel: &Kernel,
    paths: &Paths<'_>,
    fact: &MemoryFact,
    known: &dyn Fn(Atom) -> Option<i64>,
) -> Option<Stride> {
    let at = paths.around(fact.block)?;
    let mut sum = Some(0_i64);
    for (atom, factor) in &fact.offset.terms {
        let Atom::Value(value) = atom else { continue };
        match paths.counter(*value) {
            Some((counted, count)) if counted == at => {
                let more = factor.checked_mul(count.increment);
                sum = sum.zip(more).and_then(|(sum, more)| sum.checked_add(more));
            }
            _ if !paths.changes(at, *value) => {}
            _ => match times_counter(kernel, paths, at, *value, known) {
                Some(Stride::Bytes(by)) => {
                    sum = sum.zip(factor.checked_mul(by)).and_then(|(sum, more)| sum.checked_add(more));
                }
                Some(other) => return Some(other),
                None => return Some(Stride::Unknown),
            },
        }
    }
    Some(match fact.base {
        Base::Value(base) if paths.changes(at, base) => Stride::Unknown,
        _ => sum.map_or(Stride::Unknown, Stride::Bytes),
    })
}

/// The change per iteration of a product of the loop's counter and a loop-invariant value; `None` for any other value.
fn times_counter(
    kernel: &Kernel,
    paths: &Paths<'_>,
    at: usize,
    value: Value,
    known: &dyn Fn(Atom) -> Option<i64>,
) -> Option<Stride> {
    let data = &kernel.insts[kernel.defining(value)?];
    let [a, b] = data.operands[..] else { return None };
    if data.op != Op::Binary(Binary::Mul) {
        return None;
    }
    let increment = |value| paths.counter(value).filter(|count| count.0 == at).map(|count| count.1.increment);
    let (increment, other) = match (increment(a), increment(b)) {
        (Some(increment), None) => (increment, b),
        (None, Some(increment)) => (increment, a),
        _ => return None,
    };
    if paths.changes(at, other) {
        return None;
    }
    let amount = known(Atom::Value(other)).or_else(|| kernel.signed_constant(other));
    Some(amount.and_then(|amount| amount.checked_mul(increment)).map_or(Stride::Runtime, Stride::Bytes))
}

fn access(kernel: &Kernel, gpu: &Gpu, fact: &MemoryFact, known: &dyn Fn(Atom) -> Option<i64>) -> WarpAccess {
    let data = &kernel.insts[fact.inst];
    let space = match kernel.ty(data.operands[0]) {
        Type::Pointer(space) => space,
        _ => Space::Generic,
    };
    let pointer = match fact.base {
        Base::Value(value) => value_name(kernel, value),
        Base::Object(object) => kernel.objects[object].name.clone(),
        Base::Program(_) => "a table of the program".to_owned(),
    };
    let (stride, sure, times) = stride(kernel, &fact.offset, known);
    let align = match data.op {
        Op::Load(access) | Op::Store(access) => access.align,
        _ => fact.bytes,
    };
    let times = times.map(|(argument, bytes)| Times {
        argument,
        bytes,
        lines: lines(gpu, fact.bytes, Stride::Bytes(bytes)).0,
    });
    let (lines, used) = lines(gpu, fact.bytes, stride);
    // For an argument, the worst case.
    let lines_known = sure && times.is_none() && stride != Stride::Unknown;
    WarpAccess {
        inst: fact.inst,
        block: fact.block,
        location: data.location,
        pointer,
        space,
        writes: fact.writes,
        bytes: fact.bytes,
        stride,
        times,
        iteration: None,
        lines,
        lines_known,
        used,
        align,
    }
}

/// The change of an address from one work-item to the next in dimension 0, and whether that is certain; where it is a
/// multiple of an argument, also the argument's name and the stride when the argument is 1.
fn stride(
    kernel: &Kernel,
    offset: &Linear,
    known: &dyn Fn(Atom) -> Option<i64>,
) -> (Stride, bool, Option<(String, i64)>) {
    let mut sum = 0_i64;
    let mut sure = true;
    // The names of the runtime factors, where they are arguments.
    let mut runtime: Vec<Option<String>> = Vec::new();
    let mut if_one = 0_i64;
    for (atom, factor) in &offset.terms {
        match atom {
            Atom::Query(
                QueryKind::GlobalId
                | QueryKind::LocalId
                | QueryKind::GlobalLinearId
                | QueryKind::LocalLinearId,
                0,
            ) => sum = sum.wrapping_add(*factor),
            Atom::Query(..) => {}
            Atom::Value(value) => match across(kernel, *value, known) {
                Some((Across::Times(by), certain)) => {
                    sum = sum.wrapping_add(factor.wrapping_mul(by));
                    sure &= certain;
                }
                Some((Across::Runtime(by, amount), _)) => {
                    if_one = if_one.wrapping_add(factor.wrapping_mul(by));
                    runtime.push(argument_name(kernel, amount));
                }
                None => return (Stride::Unknown, false, None),
            },
        }
    }
    let Some(first) = runtime.first() else { return (Stride::Bytes(sum), sure, None) };
    let one = first.clone().filter(|_| runtime.iter().all(|other| other == first));
    (Stride::Runtime, sure, one.map(|name| (name, sum.wrapping_add(if_one))))
}

/// How a value that is not itself a sum changes from one work-item to the next, and whether that is certain.
enum Across {
    Times(i64),
    /// This multiple of a value that is the same for all work-items.
    Runtime(i64, Value),
}

fn across(kernel: &Kernel, value: Value, known: &dyn Fn(Atom) -> Option<i64>) -> Option<(Across, bool)> {
    let factor = |value| id_factor(kernel, value, MOST_STEPS);
    let value = before_widening(kernel, value);
    let product = kernel.defining(value).map(|inst| &kernel.insts[inst]);
    let Some(data) = product.filter(|data| data.op == Op::Binary(Binary::Mul)) else {
        return factor(value).map(|(by, sure)| (Across::Times(by), sure));
    };
    let amount =
        |value| known(Atom::Value(before_widening(kernel, value))).or_else(|| kernel.signed_constant(value));
    let (a, b) = (data.operands[0], data.operands[1]);
    let ((of_a, sure_a), (of_b, sure_b)) = (factor(a)?, factor(b)?);
    let times = |by: i64, value: Value| {
        amount(value).map_or(Across::Runtime(by, value), |amount| Across::Times(by.wrapping_mul(amount)))
    };
    let across = match (of_a, of_b) {
        (0, 0) => Across::Times(0),
        (by, 0) => times(by, b),
        (0, by) => times(by, a),
        _ => return None,
    };
    Some((across, sure_a && sure_b))
}

/// Instructions to follow back to the ids; a loop's counter leads back to itself.
const MOST_STEPS: u32 = 24;

/// The factor of dimension 0's id in a sum, and whether it holds on every path; `None` if the value is not a sum of ids
/// and uniform values. Where paths join with different factors, the nonzero one counts: the uniform case is the
/// exception at a border.
fn id_factor(kernel: &Kernel, value: Value, steps: u32) -> Option<(i64, bool)> {
    let steps = steps.checked_sub(1)?;
    let inst = match kernel.values[value].def {
        ValueDef::Constant(_) => return Some((0, true)),
        ValueDef::Parameter(block, _) if block == Kernel::ENTRY => return Some((0, true)),
        ValueDef::Parameter(block, position) => {
            return where_ways_meet(kernel, block, position as usize, steps);
        }
        ValueDef::Result(inst) => inst,
    };
    let data = &kernel.insts[inst];
    let of = |position: usize| id_factor(kernel, data.operands[position], steps);
    match data.op {
        Op::Query(query) => {
            let own = match query.kind {
                QueryKind::GlobalId | QueryKind::LocalId => i64::from(query.dimension == 0),
                QueryKind::GlobalLinearId | QueryKind::LocalLinearId | QueryKind::SubGroupLocalId => 1,
                _ => 0,
            };
            Some((own, true))
        }
        Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
            let ((a, sure_a), (b, sure_b)) = (of(0)?, of(1)?);
            Some((if op == Binary::Add { a + b } else { a - b }, sure_a && sure_b))
        }
        Op::Binary(Binary::Mul) => match (of(0)?, of(1)?) {
            ((0, a), (0, b)) => Some((0, a && b)),
            ((by, sure), (0, _)) => {
                kernel.signed_constant(data.operands[1]).map(|amount| (by * amount, sure))
            }
            ((0, _), (by, sure)) => {
                kernel.signed_constant(data.operands[0]).map(|amount| (by * amount, sure))
            }
            _ => None,
        },
        Op::Binary(Binary::Shl) => {
            let by = u32::try_from(kernel.signed_constant(data.operands[1])?).ok()?;
            of(0).map(|(factor, sure)| (factor.wrapping_shl(by), sure))
        }
        Op::Convert(convert) if convert.from != Number::Float && convert.to != Number::Float => of(0),
        Op::Select => met([of(1)?, of(2)?].into_iter()),
        // Clamped coordinates.
        Op::Builtin(
            Builtin::SClamp | Builtin::UClamp | Builtin::SMin | Builtin::SMax | Builtin::UMin | Builtin::UMax,
        ) => {
            let ways: Option<Vec<_>> = (0..data.operands.len()).map(of).collect();
            met(ways?.into_iter())
        }
        Op::Load(_) | Op::Atomic(_) | Op::Group(_) => None,
        op if op.is_pure() => {
            let same =
                data.operands.iter().all(|operand| id_factor(kernel, *operand, steps) == Some((0, true)));
            same.then_some((0, true))
        }
        _ => None,
    }
}

/// The factor of a block's parameter, from the values passed for it; the value from a loop's back edge adds nothing
/// new.
fn where_ways_meet(kernel: &Kernel, block: Block, position: usize, steps: u32) -> Option<(i64, bool)> {
    let parameter = kernel.blocks[block].parameters.get(position).copied()?;
    let passed =
        kernel.blocks.values().flat_map(|from| from.terminator.calls()).filter(|call| call.block == block);
    let passed: Vec<Value> = passed.filter_map(|call| call.arguments.get(position).copied()).collect();
    let steps = steps.checked_sub(4)?;
    let known = passed
        .iter()
        .filter(|value| **value != parameter)
        .filter_map(|value| id_factor(kernel, *value, steps));
    met(known)
}

fn met(ways: impl Iterator<Item = (i64, bool)>) -> Option<(i64, bool)> {
    let ways: Vec<(i64, bool)> = ways.collect();
    let sure = ways.iter().all(|way| *way == (ways[0].0, true));
    let (first, _) = ways.iter().find(|way| way.0 != 0).or(ways.first())?;
    let agree = ways.iter().all(|(factor, _)| factor == first || *factor == 0);
    agree.then_some((*first, sure))
}

/// Bytes of the widest load or store.
pub(crate) fn word_bytes(gpu: &Gpu) -> u32 {
    (Model::of(gpu).layout.access_bits / 8).max(1)
}

/// Cache lines that a warp touches, and the fraction of them that it uses. Accesses wider than the widest load or store
/// are split into pieces, each of which touches its own lines (docs/model.md).
fn lines(gpu: &Gpu, bytes: u32, stride: Stride) -> (u32, f64) {
    let line = i64::from(gpu.memory.cache_line_bytes.value.max(1));
    let warp = i64::from(gpu.core.warp_width.value.max(1));
    let word = word_bytes(gpu);
    let pieces = bytes.div_ceil(word).max(1);
    let piece = i64::from(bytes.min(word));
    let touched = |stride: i64| {
        let mut lines: Vec<i64> = (0..warp)
            .flat_map(|lane| {
                let from = lane * stride;
                (from.div_euclid(line))..=((from + piece - 1).div_euclid(line))
            })
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines.len() as u32
    };
    let each = match stride {
        Stride::Bytes(stride) => touched(stride.clamp(-1 << 20, 1 << 20)),
        // A multiple of an argument: separate lines, unless the argument is tiny. Unknown: the worst case.
        Stride::Runtime | Stride::Unknown => touched(line * 16),
    };
    let total = each * pieces;
    let distinct = match stride {
        Stride::Bytes(0) => i64::from(bytes),
        Stride::Bytes(stride) => i64::from(bytes) + (warp - 1) * i64::from(bytes).min(stride.abs()),
        Stride::Runtime | Stride::Unknown => warp * i64::from(bytes),
    };
    // Pieces of one access may share lines with each other.
    let footprint = match stride {
        Stride::Bytes(stride) => {
            let mut lines: Vec<i64> = (0..warp)
                .flat_map(|lane| {
                    let from = lane * stride.clamp(-1 << 20, 1 << 20);
                    (from.div_euclid(line))..=((from + i64::from(bytes) - 1).div_euclid(line))
                })
                .collect();
            lines.sort_unstable();
            lines.dedup();
            lines.len() as i64
        }
        Stride::Runtime | Stride::Unknown => warp * (i64::from(bytes) + line - 1) / line,
    };
    (total, (distinct as f64 / (footprint.max(1) * line) as f64).min(1.0))
}
