//! How work-items that follow one another touch memory.

use tripipe_device::Gpu;
use tripipe_ir::flow::linear::Base;
use tripipe_ir::flow::{Atom, Cfg, Linear, LinearForms, MemoryFact};
use tripipe_ir::op::{Binary, Number, QueryKind};
use tripipe_ir::{Block, Inst, Kernel, Op, Place, Space, Type, Value};

/// One load, store or atomic, as a warp does it.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The instruction.
    pub inst: Inst,
    /// Its block.
    pub block: Block,
    /// Where in the source.
    pub place: Option<Place>,
    /// What it is of: an argument's or object's name.
    pub pointer: String,
    /// The address space.
    pub space: Space,
    /// Whether it writes.
    pub writes: bool,
    /// Bytes of one work-item.
    pub bytes: u32,
    /// Bytes from one work-item's address to the next one's in dimension 0, where that is the same everywhere.
    pub stride: Stride,
    /// Cache lines that a warp touches; of a single work-item where there are no warps.
    pub lines: u32,
    /// Whether that follows from the stride; else it is the worst case.
    pub lines_known: bool,
    /// The part of these lines that the warp uses, above 0 and at most 1.
    pub used: f64,
    /// Alignment that the code promises, in bytes.
    pub align: u32,
}

/// How far the addresses of neighbours lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// So many bytes; 0: all touch the same.
    Bytes(i64),
    /// The same everywhere, but known only at run time: times an argument.
    Runtime,
    /// Not a multiple of the id: from a table, a division, a loop that differs.
    Unknown,
}

impl Access {
    /// Whether neighbours share lines as far as they can.
    pub fn is_coalesced(&self, gpu: &Gpu) -> bool {
        let line = gpu.memory.cache_line_bytes.value.max(1);
        let warp = gpu.core.warp_width.value;
        self.lines <= (self.bytes.min(16) * warp).div_ceil(line).max(1) * self.bytes.div_ceil(16).max(1)
    }
}

/// All accesses of a kernel, in its order.
pub(crate) fn accesses(
    kernel: &Kernel,
    cfg: &Cfg,
    gpu: &Gpu,
    known: &dyn Fn(Atom) -> Option<i64>,
) -> Vec<Access> {
    let forms = LinearForms::new(kernel, cfg);
    let facts = forms.accesses(kernel, cfg);
    facts.iter().map(|fact| access(kernel, gpu, fact, known)).collect()
}

fn access(kernel: &Kernel, gpu: &Gpu, fact: &MemoryFact, known: &dyn Fn(Atom) -> Option<i64>) -> Access {
    let data = &kernel.insts[fact.inst];
    let space = match kernel.ty(data.operands[0]) {
        Type::Pointer(space) => space,
        _ => Space::Generic,
    };
    let pointer = match fact.base {
        Base::Value(value) => value_name(kernel, value),
        Base::Object(object) => kernel.objects[object].name.clone(),
        Base::Program(object) => object.to_string(),
    };
    let stride = stride(kernel, &fact.offset, known);
    let align = match data.op {
        Op::Load(access) | Op::Store(access) => access.align,
        _ => fact.bytes,
    };
    let (lines, lines_known, used) = lines(gpu, fact.bytes, stride);
    Access {
        inst: fact.inst,
        block: fact.block,
        place: data.place,
        pointer,
        space,
        writes: fact.writes,
        bytes: fact.bytes,
        stride,
        lines,
        lines_known,
        used,
        align,
    }
}

/// The name of an argument, or else of the value.
pub(crate) fn value_name(kernel: &Kernel, value: Value) -> String {
    let parameters = &kernel.blocks[Kernel::ENTRY].parameters;
    let position = parameters.iter().position(|parameter| *parameter == value);
    let parameter = position.and_then(|position| kernel.parameters.get(position));
    match (parameter, &kernel.names[value]) {
        (Some(parameter), _) if !parameter.name.is_empty() => parameter.name.clone(),
        (_, Some(name)) => name.to_string(),
        _ => value.to_string(),
    }
}

/// What an address grows by from one work-item to the next in dimension 0.
fn stride(kernel: &Kernel, offset: &Linear, known: &dyn Fn(Atom) -> Option<i64>) -> Stride {
    let mut sum = 0_i64;
    let mut runtime = false;
    for (atom, factor) in &offset.terms {
        match atom {
            Atom::Query(
                QueryKind::GlobalId
                | QueryKind::LocalId
                | QueryKind::GlobalLinearId
                | QueryKind::LocalLinearId,
                0,
            ) => {
                sum = sum.wrapping_add(*factor);
            }
            Atom::Query(..) => {}
            Atom::Value(value) => match across(kernel, *value, known) {
                Some(Across::Same) => {}
                Some(Across::Times(by)) => sum = sum.wrapping_add(factor.wrapping_mul(by)),
                Some(Across::Runtime) => runtime = true,
                None => return Stride::Unknown,
            },
        }
    }
    if runtime { Stride::Runtime } else { Stride::Bytes(sum) }
}

/// How a value that is no sum itself changes from one work-item to the next.
enum Across {
    Same,
    Times(i64),
    Runtime,
}

fn across(kernel: &Kernel, value: Value, known: &dyn Fn(Atom) -> Option<i64>) -> Option<Across> {
    let Some(inst) = kernel.defining(value) else {
        // A kernel argument, or a loop's counter: the counters of uniform loops are the same for all.
        return Some(Across::Same);
    };
    let data = &kernel.insts[inst];
    match data.op {
        Op::Binary(Binary::Mul) => {
            let (a, b) = (data.operands[0], data.operands[1]);
            let amount = |value| known(Atom::Value(value)).or_else(|| kernel.signed_constant(value));
            match (id_factor(kernel, a), id_factor(kernel, b)) {
                (Some(0), Some(0)) => Some(Across::Same),
                (Some(by), Some(0)) => {
                    Some(amount(b).map_or(Across::Runtime, |amount| Across::Times(by * amount)))
                }
                (Some(0), Some(by)) => {
                    Some(amount(a).map_or(Across::Runtime, |amount| Across::Times(by * amount)))
                }
                _ => None,
            }
        }
        _ => match id_factor(kernel, value)? {
            0 => Some(Across::Same),
            by => Some(Across::Times(by)),
        },
    }
}

/// The factor of dimension 0's id in a sum; `None` if it is no sum of ids and of what is the same for all.
fn id_factor(kernel: &Kernel, value: Value) -> Option<i64> {
    // Arguments, constants, and the counters of loops.
    let Some(inst) = kernel.defining(value) else { return Some(0) };
    let data = &kernel.insts[inst];
    let of = |position: usize| id_factor(kernel, data.operands[position]);
    match data.op {
        Op::Query(query) => Some(match query.kind {
            QueryKind::GlobalId | QueryKind::LocalId => i64::from(query.dimension == 0),
            QueryKind::GlobalLinearId | QueryKind::LocalLinearId | QueryKind::SubGroupLocalId => 1,
            _ => 0,
        }),
        Op::Binary(Binary::Add) => Some(of(0)? + of(1)?),
        Op::Binary(Binary::Sub) => Some(of(0)? - of(1)?),
        Op::Binary(Binary::Mul) => match (of(0)?, of(1)?) {
            (0, 0) => Some(0),
            (by, 0) => kernel.signed_constant(data.operands[1]).map(|amount| by * amount),
            (0, by) => kernel.signed_constant(data.operands[0]).map(|amount| by * amount),
            _ => None,
        },
        Op::Binary(Binary::Shl) => {
            let by = kernel.signed_constant(data.operands[1])?;
            Some(of(0)?.wrapping_shl(u32::try_from(by).ok()?))
        }
        Op::Convert(convert) if convert.from != Number::Float && convert.to != Number::Float => of(0),
        Op::Load(_) | Op::Atomic(_) | Op::Group(_) => None,
        op if op.is_pure() && data.operands.iter().all(|operand| id_factor(kernel, *operand) == Some(0)) => {
            Some(0)
        }
        _ => None,
    }
}

/// Cache lines that a warp touches, whether that is known, and the part of them that it uses. Accesses wider than 16
/// bytes go in pieces of 16, each of which touches its own lines (docs/model.md).
fn lines(gpu: &Gpu, bytes: u32, stride: Stride) -> (u32, bool, f64) {
    let line = i64::from(gpu.memory.cache_line_bytes.value.max(1));
    let warp = i64::from(gpu.core.warp_width.value.max(1));
    let pieces = bytes.div_ceil(16).max(1);
    let piece = i64::from(bytes.min(16));
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
    let (each, known) = match stride {
        Stride::Bytes(stride) => (touched(stride.clamp(-1 << 20, 1 << 20)), true),
        // Times an argument: lines of their own, unless the argument is tiny.
        Stride::Runtime => (touched(line * 16), true),
        Stride::Unknown => (touched(line * 16), false),
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
    (total, known, (distinct as f64 / (footprint.max(1) * line) as f64).min(1.0))
}
