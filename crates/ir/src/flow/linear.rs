//! Integers and addresses as linear sums: `base + 4 * global_id(0) + 4 * width * ... + 12`.
//!
//! Sums are exact integers, as if no index wrapped in its own width. That is the meaning of an address in OpenCL C:
//! signed overflow is undefined, and an unsigned index that wraps leaves its buffer anyway.

use std::collections::BTreeMap;
use std::fmt;

use cranelift_entity::SecondaryMap;

use super::Cfg;
use crate::op::{Address, Binary, Number, Query};
use crate::{Block, Inst, Instruction, Kernel, Object, Op, ProgramObject, Value, ValueDef};

/// Maximum number of terms of a sum; longer ones count as one unknown.
const MOST_TERMS: usize = 12;

/// A term of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    /// A value that is not itself a sum: an argument, a loop's counter, a load, a product of two unknowns.
    Value(Value),
    /// A fact about the work-item; [`Query`] by kind and dimension.
    Query(crate::op::QueryKind, u8),
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, "{value}"),
            Self::Query(kind, dimension) if kind.has_dimension() => write!(f, "{}({dimension})", kind.name()),
            Self::Query(kind, _) => f.write_str(kind.name()),
        }
    }
}

/// A sum of atoms with constant factors, and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    /// Atoms and their factors, none of them 0.
    pub terms: BTreeMap<Atom, i64>,
    /// The constant.
    pub constant: i64,
}

impl Linear {
    /// A constant.
    pub fn constant(constant: i64) -> Self {
        Self { terms: BTreeMap::new(), constant }
    }

    /// One atom.
    pub fn atom(atom: Atom) -> Self {
        Self { terms: BTreeMap::from([(atom, 1)]), constant: 0 }
    }

    /// The constant, if there are no terms.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The factor of an atom; 0 if it is not in the sum.
    pub fn factor(&self, atom: Atom) -> i64 {
        self.terms.get(&atom).copied().unwrap_or(0)
    }

    /// `self + by * other`; `None` if a number overflows.
    pub fn plus(&self, other: &Self, by: i64) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(by)?)?;
        for (atom, factor) in &other.terms {
            let own = sum.terms.entry(*atom).or_insert(0);
            *own = own.checked_add(factor.checked_mul(by)?)?;
        }
        sum.terms.retain(|_, factor| *factor != 0);
        Some(sum)
    }

    /// Bits that are 0 in every value of the sum, among the lowest 32; `zeros` has the low zero bits of each atom.
    fn known_zeros(&self, zeros: impl Fn(Atom) -> u32) -> u32 {
        // Below the lowest set bit of all factors, the sum has the bits of its constant.
        let factors =
            self.terms.iter().fold(0, |all, (atom, factor)| all | factor.wrapping_shl(zeros(*atom)));
        let below =
            if factors == 0 { u32::MAX } else { ((factors & factors.wrapping_neg()) as u32).wrapping_sub(1) };
        below & !(self.constant as u32)
    }

    /// The sum divided by `2^bits`; `None` if that is not an integer.
    fn shifted_right(&self, bits: u32) -> Option<Self> {
        let mask = (1_i64 << bits) - 1;
        let whole = |number: i64| (number & mask == 0).then_some(number >> bits);
        let terms = self.terms.iter().map(|(atom, factor)| Some((*atom, whole(*factor)?)));
        Some(Self { terms: terms.collect::<Option<_>>()?, constant: whole(self.constant)? })
    }

    /// The least and the greatest value, where each atom is between the bounds that `of` returns; `None` where a bound
    /// is not known or a number overflows.
    pub fn bounds(&self, of: impl Fn(Atom) -> [Option<i64>; 2]) -> [Option<i64>; 2] {
        [false, true].map(|greatest| {
            self.terms.iter().try_fold(self.constant, |sum, (atom, factor)| {
                let bound = of(*atom)[usize::from(greatest == (*factor > 0))]?;
                sum.checked_add(factor.checked_mul(bound)?)
            })
        })
    }

    /// Its value, with each atom's value from `of`; `None` if one is not known or a number overflows.
    pub fn evaluate(&self, mut of: impl FnMut(Atom) -> Option<i64>) -> Option<i64> {
        self.terms
            .iter()
            .try_fold(self.constant, |sum, (atom, factor)| sum.checked_add(factor.checked_mul(of(*atom)?)?))
    }
}

impl fmt::Display for Linear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (atom, factor) in &self.terms {
            match factor {
                1 => write!(f, "{atom} + ")?,
                factor => write!(f, "{factor} * {atom} + ")?,
            }
        }
        write!(f, "{}", self.constant)
    }
}

/// What an address starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// A pointer that is not the result of address arithmetic: an argument, a block parameter, a loaded pointer.
    Value(Value),
    /// A private or local object.
    Object(Object),
    /// A program-scope object.
    Program(ProgramObject),
}

/// One access to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFact {
    /// The instruction: a load, store or atomic.
    pub inst: Inst,
    /// The block it is in.
    pub block: Block,
    /// What its address starts from.
    pub base: Base,
    /// Bytes from the base.
    pub offset: Linear,
    /// Bytes accessed.
    pub bytes: u32,
    /// Whether it writes.
    pub writes: bool,
}

/// Linear forms of all scalar integers and pointers of a kernel.
#[derive(Clone, Debug)]
pub struct LinearForms {
    forms: SecondaryMap<Value, Option<(Option<Base>, Linear)>>,
    /// Low bits of block parameters that are always 0, such as those of a counter that rises by 16.
    zeros: SecondaryMap<Value, u32>,
}

/// The most low zero bits that count.
const MOST_ZEROS: u32 = 30;

/// Low bits of integers that are 0 in every iteration.
fn low_zeros(kernel: &Kernel, cfg: &Cfg) -> SecondaryMap<Value, u32> {
    let mut zeros: SecondaryMap<Value, u32> = SecondaryMap::new();
    let is_counted = |value: Value| kernel.ty(value).is_int() && kernel.ty(value).lanes() == 1;
    // From the best case down, until nothing changes.
    for block in cfg.order.iter().filter(|block| **block != Kernel::ENTRY) {
        for parameter in kernel.blocks[*block].parameters.iter().filter(|parameter| is_counted(**parameter)) {
            zeros[*parameter] = MOST_ZEROS;
        }
    }
    loop {
        let mut changed = false;
        for block in &cfg.order {
            for inst in &kernel.blocks[*block].insts {
                let data = &kernel.insts[*inst];
                let Some(result) = data.result.filter(|result| is_counted(*result)) else { continue };
                let of = |at: usize| low_zeros_of(kernel, &zeros, data.operands[at]);
                zeros[result] = match data.op {
                    Op::Binary(Binary::Add | Binary::Sub | Binary::Or) => of(0).min(of(1)),
                    Op::Binary(Binary::Mul) => (of(0) + of(1)).min(MOST_ZEROS),
                    Op::Convert(convert) if convert.from != Number::Float && convert.to != Number::Float => {
                        of(0)
                    }
                    _ => 0,
                };
            }
            for call in kernel.blocks[*block].terminator.calls() {
                for (value, to) in call.arguments.iter().zip(&kernel.blocks[call.block].parameters) {
                    let passed = low_zeros_of(kernel, &zeros, *value);
                    if passed < zeros[*to] {
                        zeros[*to] = passed;
                        changed = true;
                    }
                }
            }
        }
        if !changed {
            return zeros;
        }
    }
}

fn low_zeros_of(kernel: &Kernel, zeros: &SecondaryMap<Value, u32>, value: Value) -> u32 {
    match (&kernel.values[value].def, kernel.signed_constant(value)) {
        (ValueDef::Constant(_), Some(constant)) => constant.trailing_zeros().min(MOST_ZEROS),
        _ => zeros[value],
    }
}

impl LinearForms {
    /// Computes them.
    pub fn new(kernel: &Kernel, cfg: &Cfg) -> Self {
        Self::with(kernel, cfg, &|_| None)
    }

    /// Computes them for a launch: atoms whose value `known` returns are constants, so that products with them are
    /// sums.
    pub fn with(kernel: &Kernel, cfg: &Cfg, known: &dyn Fn(Atom) -> Option<i64>) -> Self {
        let mut all = Self { forms: SecondaryMap::new(), zeros: low_zeros(kernel, cfg) };
        for parameter in &kernel.blocks[Kernel::ENTRY].parameters {
            all.forms[*parameter] =
                known(Atom::Value(*parameter)).map(|value| (None, Linear::constant(value)));
        }
        for block in &cfg.order {
            for inst in &kernel.blocks[*block].insts {
                let Instruction { op, result: Some(result), .. } = kernel.insts[*inst] else { continue };
                let value = match op {
                    Op::Query(Query { kind, dimension }) => known(Atom::Query(kind, dimension)),
                    _ => None,
                };
                all.forms[result] = match value {
                    Some(value) => Some((None, Linear::constant(value))),
                    None => all.form(kernel, *inst),
                };
            }
        }
        all
    }

    /// The linear form of an integer; for a pointer, of its offset from the base.
    pub fn get(&self, kernel: &Kernel, value: Value) -> Linear {
        self.parts(kernel, value).1
    }

    /// Base and offset of a pointer.
    pub fn address(&self, kernel: &Kernel, pointer: Value) -> (Base, Linear) {
        let (base, offset) = self.parts(kernel, pointer);
        match base {
            Some(base) => (base, offset),
            None => (Base::Value(pointer), Linear::default()),
        }
    }

    /// Every access with its address.
    pub fn accesses(&self, kernel: &Kernel, cfg: &Cfg) -> Vec<MemoryFact> {
        let mut facts = Vec::new();
        for block in &cfg.order {
            for inst in &kernel.blocks[*block].insts {
                let data = &kernel.insts[*inst];
                let (value, writes) = match data.op {
                    Op::Load(_) => (data.result, false),
                    Op::Store(_) => (data.operands.get(1).copied(), true),
                    Op::Atomic(_) => (data.result.or_else(|| data.operands.get(1).copied()), true),
                    _ => continue,
                };
                let bytes = value.map_or(4, |value| kernel.ty(value).bytes());
                let (base, offset) = self.address(kernel, data.operands[0]);
                facts.push(MemoryFact { inst: *inst, block: *block, base, offset, bytes, writes });
            }
        }
        facts
    }

    fn parts(&self, kernel: &Kernel, value: Value) -> (Option<Base>, Linear) {
        if let Some(form) = &self.forms[value] {
            return form.clone();
        }
        if kernel.ty(value).is_pointer() {
            return (Some(Base::Value(value)), Linear::default());
        }
        match (&kernel.values[value].def, kernel.signed_constant(value)) {
            (ValueDef::Constant(_), Some(constant)) => (None, Linear::constant(constant)),
            _ => (None, Linear::atom(Atom::Value(value))),
        }
    }

    fn form(&self, kernel: &Kernel, inst: Inst) -> Option<(Option<Base>, Linear)> {
        let data = &kernel.insts[inst];
        let sum = |position: usize| self.parts(kernel, data.operands[position]).1;
        let linear = match data.op {
            Op::ObjectAddress(object) => return Some((Some(Base::Object(object)), Linear::default())),
            Op::ProgramAddress(object) => return Some((Some(Base::Program(object)), Linear::default())),
            Op::SpaceCast { checked: false } => return Some(self.parts(kernel, data.operands[0])),
            Op::Address(Address { stride, offset, .. }) => {
                let (base, start) = self.address(kernel, data.operands[0]);
                let mut moved = start.plus(&Linear::constant(offset), 1)?;
                if stride != 0 {
                    moved = moved.plus(&sum(1), i64::try_from(stride).ok()?)?;
                }
                return (moved.terms.len() <= MOST_TERMS).then_some((Some(base), moved));
            }
            _ if !kernel.ty(data.result?).is_int() || kernel.ty(data.result?).lanes() > 1 => return None,
            Op::Query(Query { kind, dimension }) => Linear::atom(Atom::Query(kind, dimension)),
            Op::Binary(Binary::Add) => sum(0).plus(&sum(1), 1)?,
            Op::Binary(Binary::Sub) => sum(0).plus(&sum(1), -1)?,
            Op::Binary(Binary::Mul) => match (sum(0).as_constant(), sum(1).as_constant()) {
                (_, Some(by)) => Linear::default().plus(&sum(0), by)?,
                (Some(by), _) => Linear::default().plus(&sum(1), by)?,
                _ => return None,
            },
            Op::Binary(Binary::Shl) => {
                let by = sum(1).as_constant().filter(|by| (0..62).contains(by))?;
                Linear::default().plus(&sum(0), 1 << by)?
            }
            // Compilers write `or` for an addition without carries, as in `4 * i + 1`.
            Op::Binary(Binary::Or) => {
                let (a, b) = (sum(0), sum(1));
                let added = u32::try_from(b.as_constant()?).ok()?;
                let zeros = |atom| match atom {
                    Atom::Value(value) => self.zeros[value],
                    Atom::Query(..) => 0,
                };
                if added & !a.known_zeros(zeros) != 0 {
                    return None;
                }
                a.plus(&b, 1)?
            }
            // And a shift left and back, or a mask, for 32 bits that are widened to 64.
            Op::Binary(Binary::AShr | Binary::LShr) => {
                let by = u32::try_from(sum(1).as_constant()?).ok()?;
                // Fewer than 32 remaining bits are an intended truncation.
                if kernel.ty(data.result?).bytes() * 8 < by.saturating_add(32) {
                    return None;
                }
                sum(0).shifted_right(by)?
            }
            Op::Binary(Binary::And) if sum(1).as_constant() == Some(i64::from(u32::MAX)) => sum(0),
            Op::Bitcast if kernel.ty(data.operands[0]) == kernel.ty(data.result?) => sum(0),
            Op::Unary(crate::op::Unary::Neg) => Linear::default().plus(&sum(0), -1)?,
            Op::Convert(convert)
                if convert.from != Number::Float && convert.to != Number::Float && !convert.saturate =>
            {
                // A conversion to fewer than 32 bits is an intended truncation.
                if kernel.ty(data.result?).bytes() < 4
                    && kernel.ty(data.operands[0]).bytes() > kernel.ty(data.result?).bytes()
                {
                    return None;
                }
                sum(0)
            }
            _ => return None,
        };
        (linear.terms.len() <= MOST_TERMS).then_some((None, linear))
    }
}
