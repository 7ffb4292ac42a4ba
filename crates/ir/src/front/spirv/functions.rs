//! Functions without a body: those that LLVM's translator leaves as calls, and extensions of phone GPU vendors.
//!
//! `front::clang` (`extensions.h`) decides which ones are declared; their semantics are defined here. Sources: the
//! extension specifications of the Khronos registry (`cl_khr_integer_dot_product`, `cl_arm_integer_dot_product`) and,
//! for Qualcomm's, "Qualcomm Snapdragon Mobile Platform OpenCL General Programming and Optimization" (80-NB295-11),
//! section 9. For its loads into constant memory (`cl_qcom_subgroup_constant_load`), no specification is public: their
//! semantics are taken from published kernels that use them.

use super::code::{Fallible, Raw, invalid, unsupported};
use super::rep::Rep;
use super::translator::BodyTranslator;
use crate::op::{Address, Binary, Compare, Dot, Group, GroupOp, GroupScope, QueryKind, Reduction, Scope};
use crate::{Op, Scalar, Space, Type, Value};

/// How the accumulator of a dot product is added.
#[derive(Clone, Copy, PartialEq)]
enum Accumulator {
    None,
    /// Added modulo 2^32.
    Wraps,
    /// Added with saturation.
    Saturates,
}

impl BodyTranslator<'_> {
    /// A call of a function without a body.
    pub(super) fn foreign_call(&mut self, raw: Raw<'_>, name: &str) -> Fallible<()> {
        let (base, parameters) = demangled(name);
        let mut operands = Vec::new();
        for id in raw.rest(4) {
            operands.push(self.value(*id)?);
        }
        let value = if let Some(op) = intel_group(base, parameters) {
            let ty = self.result_type(raw)?;
            self.emit(
                Op::Group(Group { scope: GroupScope::SubGroup, op, active_only: false }),
                &operands,
                ty,
            )?
        } else if let Some(bytes) = constant_load(base, parameters) {
            return self.constant_load(bytes, &operands);
        } else if base == "qcom_sub_group_sync" {
            return self.effect(Op::WaitCopies { scope: Scope::SubGroup }, &[]);
        } else if let Some(function) = dot_function(base, parameters) {
            let ty = self.result_type(raw)?;
            self.dot_call(function, &operands, ty)?
        } else {
            self.named_call(base, name, &operands)?
        };
        self.define(raw, Rep::Value(value))
    }

    fn named_call(&mut self, base: &str, name: &str, operands: &[Value]) -> Fallible<Value> {
        match (base, operands) {
            ("__translate_sampler_initializer", [bits]) => {
                let Some(bits) = self.kernel.scalar_constant(*bits) else {
                    return unsupported("a sampler whose value is not a constant");
                };
                let sampler = super::images::sampler(bits)?;
                Ok(self.kernel.make_constant(Type::Sampler, &[sampler.bits()]))
            }
            ("__to_global" | "__to_local" | "__to_private", [pointer]) => {
                let space = match base {
                    "__to_global" => Space::Global,
                    "__to_local" => Space::Local,
                    _ => Space::Private,
                };
                self.emit(Op::SpaceCast { checked: true }, &[*pointer], Type::Pointer(space))
            }
            ("qcom_sub_group_shuffle_up", [value, distance, _, otherwise]) => {
                self.shuffle_inside(GroupOp::ShuffleUp, *value, *distance, *otherwise)
            }
            ("qcom_sub_group_shuffle_down", [value, distance, _, otherwise]) => {
                self.shuffle_inside(GroupOp::ShuffleDown, *value, *distance, *otherwise)
            }
            ("qcom_sub_group_shuffle_xor", [value, mask, _, otherwise]) => {
                self.shuffle_inside(GroupOp::ShuffleXor, *value, *mask, *otherwise)
            }
            // The id among the sub-groups that run on a core at the same time: here, each work-group has a core of its
            // own.
            ("qcom_get_physical_sub_group_id", []) => self.fact(QueryKind::SubGroupId),
            _ => {
                let mangled = if base == name { String::new() } else { format!(" (`{name}`)") };
                unsupported(format_args!("the function `{base}`{mangled}, which has no body,"))
            }
        }
    }

    /// A sub-group copies elements of `bytes` bytes into constant memory: destination, source, the start offset in
    /// each, count.
    fn constant_load(&mut self, bytes: u32, operands: &[Value]) -> Fallible<()> {
        let [to, from, to_offset, from_offset, count] = operands else {
            return invalid("a load into constant memory with the wrong number of operands");
        };
        let mut element = |pointer: Value, index: Value| {
            let address = Address { stride: u64::from(bytes), offset: 0, count: None, in_bounds: true };
            self.emit(Op::Address(address), &[pointer, index], self.kernel.ty(pointer))
        };
        let (to, from) = (element(*to, *to_offset)?, element(*from, *from_offset)?);
        let count = self.resized(*count, Type::I64)?;
        let one = self.kernel.make_constant(Type::I64, &[1]);
        let no_event = self.kernel.make_constant(Type::Event, &[0]);
        let copy = Op::AsyncCopy { scope: Scope::SubGroup, bytes, used: bytes };
        self.emit(copy, &[to, from, count, one, no_event], Type::Event).map(|_| ())
    }

    fn dot_call(
        &mut self,
        (a_signed, b_signed, accumulator): (bool, bool, Accumulator),
        operands: &[Value],
        ty: Type,
    ) -> Fallible<Value> {
        let wanted = usize::from(accumulator != Accumulator::None);
        let (mut factors, rest) = match operands {
            [a, b, rest @ ..] if rest.len() == wanted => ([*a, *b], rest),
            _ => return invalid("a dot product with the wrong number of operands"),
        };
        for factor in &mut factors {
            if self.kernel.ty(*factor) == Type::I32 {
                *factor = self.bitcast(*factor, Type::Vector(Scalar::I8, 4))?;
            }
        }
        let accumulate = accumulator == Accumulator::Saturates;
        let dot = Op::Dot(Dot { a_signed, b_signed, accumulate });
        if accumulate {
            return self.emit(dot, &[factors[0], factors[1], rest[0]], ty);
        }
        let sum = self.emit(dot, &factors, ty)?;
        match rest {
            [start] => self.emit(Op::Binary(Binary::Add), &[*start, sum], ty),
            _ => Ok(sum),
        }
    }

    /// A shuffle in a sub-group that gives `otherwise` if the source is outside it.
    fn shuffle_inside(
        &mut self,
        op: GroupOp,
        value: Value,
        distance: Value,
        otherwise: Value,
    ) -> Fallible<Value> {
        let ty = self.kernel.ty(value);
        let distance = self.resized(distance, Type::I32)?;
        let id = self.fact(QueryKind::SubGroupLocalId)?;
        let size = self.fact(QueryKind::SubGroupSize)?;
        let way = match op {
            GroupOp::ShuffleUp => Binary::Sub,
            GroupOp::ShuffleDown => Binary::Add,
            _ => Binary::Xor,
        };
        // A negative index is far above the size when unsigned.
        let from = self.emit(Op::Binary(way), &[id, distance], Type::I32)?;
        let inside = self.emit(Op::Compare(Compare::ULt), &[from, size], Type::BOOL)?;
        let group = Group { scope: GroupScope::SubGroup, op, active_only: true };
        let moved = self.emit(Op::Group(group), &[value, distance], ty)?;
        self.emit(Op::Select, &[inside, moved, otherwise], ty)
    }
}

/// The operation of a sub-group function that `cl_intel_subgroups_short` names differently.
fn intel_group(base: &str, parameters: &str) -> Option<GroupOp> {
    let function = base.strip_prefix("intel_sub_group_")?;
    let signed = parameters.starts_with('s') || parameters.starts_with('c');
    let reduction = |name: &str| {
        Some(match (name, signed) {
            ("add", _) => Reduction::Add,
            ("min", true) => Reduction::SMin,
            ("min", false) => Reduction::UMin,
            ("max", true) => Reduction::SMax,
            ("max", false) => Reduction::UMax,
            _ => return None,
        })
    };
    if function == "broadcast" {
        return Some(GroupOp::Broadcast);
    }
    let (kind, name) = function.rsplit_once('_')?;
    match kind {
        "reduce" => reduction(name).map(GroupOp::Reduce),
        "scan_inclusive" => reduction(name).map(GroupOp::InclusiveScan),
        "scan_exclusive" => reduction(name).map(GroupOp::ExclusiveScan),
        _ => None,
    }
}

/// Bytes of an element that `qcom_sub_group_constant_loadN` copies: a vector of N, given by the mangled type of its
/// first parameter (`PU3AS2Dv8_Dh`).
fn constant_load(base: &str, parameters: &str) -> Option<u32> {
    base.strip_prefix("qcom_sub_group_constant_load")?;
    let element = parameters.strip_prefix("PU3AS2")?;
    let (lanes, scalar) = match element.strip_prefix("Dv").and_then(|vector| vector.split_once('_')) {
        Some((lanes, scalar)) => (lanes.parse().ok()?, scalar),
        None => (1, element),
    };
    let bytes = match scalar.as_bytes() {
        [b'c' | b'a' | b'h', ..] => 1,
        [b's' | b't', ..] | [b'D', b'h', ..] => 2,
        [b'i' | b'j' | b'f', ..] => 4,
        [b'l' | b'm' | b'd', ..] => 8,
        _ => return None,
    };
    Some(bytes * lanes)
}

/// Whether each factor of a dot product is signed, and how its accumulator is added.
fn dot_function(base: &str, parameters: &str) -> Option<(bool, bool, Accumulator)> {
    use Accumulator::{None as Nothing, Saturates, Wraps};
    let by_letters = |letters: &str, accumulator| {
        let (a, b) = letters.split_at_checked(1)?;
        Some((a == "s", b.starts_with('s'), accumulator))
    };
    if let Some(letters) = base.strip_prefix("dot_4x8packed_") {
        return by_letters(letters, Nothing);
    }
    if let Some(letters) = base.strip_prefix("dot_acc_sat_4x8packed_") {
        return by_letters(letters, Saturates);
    }
    // Arm's functions are overloaded: vectors of `char` or `short`, or of `uchar` or `ushort`.
    let signed = parameters.get(4..5).is_some_and(|letter| matches!(letter, "c" | "s"));
    Some(match base {
        "arm_dot" => (signed, signed, Nothing),
        "arm_dot_acc" => (signed, signed, Wraps),
        "arm_dot_acc_sat" => (signed, signed, Saturates),
        "qcom_dot8_acc" => (true, false, Wraps),
        "qcom_udot8_acc" => (false, false, Wraps),
        _ => return None,
    })
}

/// The plain name of an Itanium-mangled function, and the rest: `_Z3fooDv4_ci` is `foo` with `Dv4_ci`.
fn demangled(name: &str) -> (&str, &str) {
    let plain = name.strip_prefix("_Z").and_then(|rest| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (length, rest) = rest.split_at_checked(digits)?;
        rest.split_at_checked(length.parse().ok()?)
    });
    plain.filter(|plain| !plain.0.is_empty()).unwrap_or((name, ""))
}
