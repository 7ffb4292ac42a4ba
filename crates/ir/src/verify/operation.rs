//! The operands and result that each operation requires.

use cranelift_entity::PrimaryMap;

use crate::op::{AtomicOp, BuiltinSignature, GroupOp, GroupScope, ImageFact, Level, Number, Unary};
use crate::{Instruction, Kernel, ObjectData, Op, ProgramObject, Scalar, Space, Type};

type Check = Result<(), String>;

/// `Err` unless it holds.
fn need(holds: bool, message: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(message()) }
}

/// Checks invariants 9 and 10 of one instruction, and that its entities exist.
pub(super) fn check(
    kernel: &Kernel,
    objects: &PrimaryMap<ProgramObject, ObjectData>,
    inst: &Instruction,
) -> Check {
    let mut types = Vec::with_capacity(inst.operands.len());
    for operand in &inst.operands {
        let Some(data) = kernel.values.get(*operand) else { return Err(format!("{operand} does not exist")) };
        types.push(data.ty);
    }
    let result = match inst.result {
        Some(value) => match kernel.values.get(value) {
            Some(data) => Some(data.ty),
            None => return Err(format!("{value} does not exist")),
        },
        None => None,
    };
    if let Some(location) = inst.location {
        need(kernel.locations.is_valid(location), || format!("{location} does not exist"))?;
    }
    match inst.op {
        Op::ObjectAddress(object) | Op::LifetimeStart(object) | Op::LifetimeEnd(object) => {
            let Some(data) = kernel.objects.get(object) else {
                return Err(format!("{object} does not exist"));
            };
            if matches!(inst.op, Op::ObjectAddress(_)) {
                return need(types.is_empty() && result == Some(Type::Pointer(data.space)), || {
                    "must return a pointer into the object's memory".into()
                });
            }
            return need(types.is_empty() && result.is_none(), || "has neither operands nor a result".into());
        }
        Op::ProgramAddress(object) => {
            let Some(data) = objects.get(object) else { return Err(format!("{object} does not exist")) };
            return need(types.is_empty() && result == Some(Type::Pointer(data.space)), || {
                "must return a pointer into the object's memory".into()
            });
        }
        Op::Printf(format) => {
            need((format as usize) < kernel.formats.len(), || format!("format {format} does not exist"))?;
            return need(result.is_none(), || "has no result".into());
        }
        _ => {}
    }
    match result {
        Some(result) => with_result(inst.op, &types, result),
        None => without_result(inst.op, &types),
    }
}

fn without_result(op: Op, types: &[Type]) -> Check {
    match (op, types) {
        (Op::Store(access), [Type::Pointer(space), _]) => {
            need(access.align.is_power_of_two(), || "the alignment is not a power of two".into())?;
            need(*space != Space::Constant, || "writes constant memory".into())
        }
        (Op::Copy(access), [Type::Pointer(_), Type::Pointer(_), Type::I64]) => {
            need(access.align.is_power_of_two(), || "the alignment is not a power of two".into())
        }
        (Op::Atomic(atomic), [Type::Pointer(_), values @ ..]) => {
            need(!atomic.op.has_result() && values.len() == atomic.op.operands(), || {
                "has the wrong operands".into()
            })?;
            need(values.iter().all(|ty| ty.lanes() == 1 && ty.scalar().is_some()), || {
                "must have scalar \
                operands"
                    .into()
            })
        }
        (Op::Barrier { .. } | Op::Fence { .. } | Op::WaitCopies { .. }, [])
        | (Op::WaitEvents { .. }, [Type::I32, Type::Pointer(_)]) => Ok(()),
        (Op::ImageWrite { level }, [Type::Image(image), coordinates, texel, rest @ ..]) => {
            image_coordinates(*coordinates, image.coordinates(), false)?;
            need(texel.lanes() == 4 || image.depth, || "must write four channels".into())?;
            need(rest.len() == usize::from(level), || "has the wrong operands".into())
        }
        _ => Err("has the wrong operands, or a result".into()),
    }
}

fn with_result(op: Op, types: &[Type], result: Type) -> Check {
    let same = |types: &[Type]| types.iter().all(|ty| *ty == result);
    let wrong = || Err(format!("has the wrong operands: {}", list(types)));
    let bools = |ty: Type| ty.with_scalar(Scalar::Bool);
    match (op, types) {
        (Op::Unary(Unary::Neg | Unary::BitReverse | Unary::PopCount), [_]) => {
            need(same(types) && result.is_int(), || "must have integer operands".into())
        }
        (Op::Unary(Unary::Not), [_]) => need(same(types) && (result.is_int() || result.is_bool()), || {
            "must have integer or bool \
                operands"
                .into()
        }),
        (Op::Unary(Unary::FNeg), [_]) => need(same(types) && result.is_float(), || {
            "must have float \
            operands"
                .into()
        }),
        (Op::Unary(Unary::Any | Unary::All), [a]) => {
            need(a.is_bool() && result == Type::BOOL, || "must reduce a vector of bools to one bool".into())
        }
        (Op::Unary(_), [a]) => {
            need(a.is_float() && bools(*a) == Some(result), || "must test floats, lane by lane".into())
        }
        (Op::Binary(op), [_, _]) => {
            use crate::op::Binary as B;
            let fits = match op {
                B::And | B::Or | B::Xor => result.is_int() || result.is_bool(),
                B::FAdd | B::FSub | B::FMul | B::FDiv | B::FRem | B::FMod => result.is_float(),
                _ => result.is_int(),
            };
            need(same(types) && fits, || format!("has the wrong operands for {result}: {}", list(types)))
        }
        (Op::Compare(op), [a, b]) => {
            need(a == b, || "compares two different types".into())?;
            if a.is_pointer() {
                return need(!op.is_float() && result == Type::BOOL, || {
                    "is not a comparison of pointers".into()
                });
            }
            need(a.is_float() == op.is_float() && bools(*a) == Some(result), || {
                format!("cannot compare {a} with result {result}")
            })
        }
        (Op::Select, [condition, a, b]) => {
            let lanes = condition.lanes() == 1 || condition.lanes() == result.lanes();
            need(condition.is_bool() && lanes && *a == result && *b == result, || {
                "has the wrong operand \
                types for a selection"
                    .into()
            })
        }
        (Op::Convert(convert), [a]) => {
            let fits = |ty: Type, number: Number| {
                if number == Number::Float { ty.is_float() } else { ty.is_int() }
            };
            need(a.lanes() == result.lanes() && fits(*a, convert.from) && fits(result, convert.to), || {
                format!("cannot convert {a} to {result}")
            })
        }
        (Op::Bitcast, [a]) => {
            let numbers =
                a.scalar().is_some() && result.scalar().is_some() && !a.is_bool() && !result.is_bool();
            need(numbers && a.bytes() == result.bytes(), || format!("cannot reinterpret {a} as {result}"))
        }
        (Op::PointerToInt, [Type::Pointer(_)]) => need(result == Type::I64, || "must return an i64".into()),
        (Op::IntToPointer, [Type::I64]) | (Op::SpaceCast { .. }, [Type::Pointer(_)]) => {
            need(result.is_pointer(), || "must return a pointer".into())
        }
        (Op::Construct, _) => {
            let Type::Vector(scalar, lanes) = result else { return Err("must return a vector".into()) };
            let each = types.iter().all(|ty| *ty == Type::Scalar(scalar));
            need(types.len() == usize::from(lanes) && each, || "must have one scalar operand per lane".into())
        }
        (Op::Extract(lane), [Type::Vector(scalar, lanes)]) => {
            need(lane < *lanes && result == Type::Scalar(*scalar), || {
                "must extract a lane of a vector".into()
            })
        }
        (Op::Insert(lane), [a @ Type::Vector(scalar, lanes), b]) => {
            need(lane < *lanes && *a == result && *b == Type::Scalar(*scalar), || {
                "must replace a lane of a \
                vector"
                    .into()
            })
        }
        (Op::ExtractDynamic, [Type::Vector(scalar, _), Type::I32]) => {
            need(result == Type::Scalar(*scalar), || "must extract a lane of a vector".into())
        }
        (Op::InsertDynamic, [a @ Type::Vector(scalar, _), b, Type::I32]) => {
            need(*a == result && *b == Type::Scalar(*scalar), || "must replace a lane of a vector".into())
        }
        (Op::Shuffle(mask), [Type::Vector(a, first), Type::Vector(b, second)]) => {
            let inside = mask.lanes().flatten().all(|lane| lane < first + second);
            let ty = Type::of(*a, mask.lanes().len() as u8);
            need(a == b && inside && ty == result, || "has invalid lanes".into())
        }
        (Op::Undefined, []) => Ok(()),
        (Op::Address(address), [base, index @ ..]) => {
            need(*base == result && base.is_pointer(), || "must offset a pointer".into())?;
            match index {
                [] => need(address.stride == 0 && address.count.is_none(), || {
                    "a stride without an index".into()
                }),
                [Type::I32 | Type::I64] => need(address.stride != 0, || "an index without a stride".into()),
                _ => wrong(),
            }
        }
        (Op::Load(access), [Type::Pointer(_)]) => {
            need(access.align.is_power_of_two(), || "the alignment is not a power of two".into())
        }
        (Op::Atomic(atomic), [Type::Pointer(_), values @ ..]) => {
            need(atomic.op.has_result() && values.len() == atomic.op.operands(), || {
                "has the wrong operands".into()
            })?;
            if atomic.op == AtomicOp::FlagTestAndSet {
                return need(result == Type::BOOL, || "must return a bool".into());
            }
            let float = matches!(atomic.op, AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax);
            let either = matches!(atomic.op, AtomicOp::Load | AtomicOp::Exchange);
            let fits = result.lanes() == 1
                && if float { result.is_float() } else { result.is_int() || (either && result.is_float()) };
            need(fits && values.iter().all(|ty| *ty == result), || format!("cannot return {result}"))
        }
        (
            Op::AsyncCopy { bytes, used, .. },
            [Type::Pointer(_), Type::Pointer(_), Type::I64, Type::I64, Type::Event],
        ) => need(used > 0 && used <= bytes && result == Type::Event, || {
            "must copy elements and return an event".into()
        }),
        (Op::Group(group), _) => self::group(group.op, group.scope, types, result),
        (Op::Dot(dot), [a, b, rest @ ..]) => {
            let lanes = a.is_int() && a == b && matches!(a, Type::Vector(Scalar::I8 | Scalar::I16, _));
            let sum = rest.len() == usize::from(dot.accumulate) && rest.iter().all(|ty| *ty == result);
            need(lanes && sum && result.is_int() && result.lanes() == 1, || {
                "must sum products of small integers".into()
            })
        }
        (Op::Query(query), []) => need(query.dimension < 3 && result == query.kind.ty(), || {
            format!("must return {}", query.kind.ty())
        }),
        (Op::ImageSample(level), [Type::Image(image), Type::Sampler, coordinates, rest @ ..]) => {
            need(result.lanes() == 4 || image.depth, || "must return four channels".into())?;
            image_coordinates(*coordinates, image.coordinates(), true)?;
            let wanted = match level {
                Level::Base => 0,
                Level::Lod => 1,
                Level::Gradient => 2,
            };
            need(rest.len() == wanted && rest.iter().all(|ty| ty.scalar().is_some()), || {
                "has the wrong operands".into()
            })
        }
        (Op::ImageRead { level }, [Type::Image(image), coordinates, rest @ ..]) => {
            need(result.lanes() == 4 || image.depth, || "must return four channels".into())?;
            image_coordinates(*coordinates, image.coordinates(), false)?;
            need(rest.len() == usize::from(level), || "has the wrong operands".into())
        }
        (Op::ImageQuery(fact), [Type::Image(image), rest @ ..]) => {
            let lanes = if fact == ImageFact::Size { image.coordinates() } else { 1 };
            // Sizes of an image with 3 coordinates may be requested as 4 lanes, the last 0.
            let fits = result == Type::of(Scalar::I32, lanes)
                || (lanes == 3 && result == Type::Vector(Scalar::I32, 4));
            need(fits && rest.len() <= 1, || format!("must return {lanes} numbers"))
        }
        (Op::Builtin(builtin), _) => self::builtin(builtin.signature(), types, result),
        _ => wrong(),
    }
}

/// Coordinates of an image: at least as many lanes as it has coordinates, integers or, for sampled reads, floats.
fn image_coordinates(ty: Type, wanted: u8, sampled: bool) -> Check {
    let number = ty.is_int() || (sampled && ty.is_float());
    need(number && ty.lanes() >= wanted, || format!("must have {wanted} coordinates, not {ty}"))
}

fn group(op: GroupOp, scope: GroupScope, types: &[Type], result: Type) -> Check {
    let fits = match (op, types) {
        (GroupOp::All | GroupOp::Any, [Type::BOOL])
        | (GroupOp::Elect, [])
        | (GroupOp::InverseBallot, [Type::Vector(Scalar::I32, 4)]) => result == Type::BOOL,
        (GroupOp::AllEqual, [value]) => value.scalar().is_some() && result == Type::BOOL,
        (GroupOp::Broadcast, [value, ids @ ..]) => {
            let count = if scope == GroupScope::WorkGroup { 1..=3 } else { 1..=1 };
            *value == result
                && count.contains(&ids.len())
                && ids.iter().all(|ty| ty.is_int() && ty.lanes() == 1)
        }
        (
            GroupOp::BroadcastFirst
            | GroupOp::Reduce(_)
            | GroupOp::InclusiveScan(_)
            | GroupOp::ExclusiveScan(_),
            [value],
        ) => *value == result && value.scalar().is_some(),
        (GroupOp::ClusterReduce(_, size), [value]) => {
            size.is_power_of_two()
                && scope == GroupScope::SubGroup
                && *value == result
                && value.scalar().is_some()
        }
        (GroupOp::Shuffle | GroupOp::ShuffleXor | GroupOp::ShuffleUp | GroupOp::ShuffleDown, [value, id]) => {
            *value == result && id.is_int() && id.lanes() == 1
        }
        (GroupOp::Ballot, [Type::BOOL]) => result == Type::Vector(Scalar::I32, 4),
        (GroupOp::BallotBit, [Type::Vector(Scalar::I32, 4), id]) => id.is_int() && result == Type::BOOL,
        (
            GroupOp::BallotCount | GroupOp::BallotLeast | GroupOp::BallotGreatest,
            [Type::Vector(Scalar::I32, 4)],
        ) => result == Type::I32,
        _ => false,
    };
    need(fits, || format!("has the wrong operands: {}", list(types)))
}

fn builtin(signature: BuiltinSignature, types: &[Type], result: Type) -> Check {
    let same = types.iter().all(|ty| *ty == result);
    let ints = |ty: Type| ty.with_scalar(Scalar::I32);
    let fits = types.len() == signature.operands()
        && match (signature, types) {
            (BuiltinSignature::Float(_), _) => same && result.is_float(),
            (BuiltinSignature::Int(_), _) => same && result.is_int(),
            (BuiltinSignature::Any(_), _) => same && (result.is_int() || result.is_float()),
            (BuiltinSignature::FloatInt, [a, n]) => {
                *a == result && a.is_float() && (ints(*a) == Some(*n) || *n == Type::I32)
            }
            (BuiltinSignature::FloatToInt, [a]) => a.is_float() && ints(*a) == Some(result),
            (BuiltinSignature::FloatsToInt, [a, b]) => a == b && a.is_float() && ints(*a) == Some(result),
            (BuiltinSignature::IntToFloat, [a]) => {
                a.is_int() && result.is_float() && a.bytes() == result.bytes() && a.lanes() == result.lanes()
            }
            (BuiltinSignature::FloatsToScalar(_), [a, ..]) => {
                a.is_float() && types.iter().all(|ty| ty == a) && a.scalar().map(Type::Scalar) == Some(result)
            }
            (BuiltinSignature::Cross, _) => same && result.is_float() && matches!(result.lanes(), 3 | 4),
            (BuiltinSignature::Upsample, [a, b]) => {
                a == b
                    && a.is_int()
                    && result.is_int()
                    && a.lanes() == result.lanes()
                    && a.bytes() * 2 == result.bytes()
            }
            (BuiltinSignature::Shuffle(_), [vectors @ .., mask]) => {
                let scalar = result.scalar();
                vectors.iter().all(|ty| *ty == vectors[0] && ty.scalar() == scalar && ty.lanes() > 1)
                    && mask.is_int()
                    && mask.lanes() == result.lanes()
                    && mask.scalar().map(Scalar::bytes) == scalar.map(Scalar::bytes)
            }
            _ => false,
        };
    need(fits, || format!("has the wrong operands for {result}: {}", list(types)))
}

fn list(types: &[Type]) -> String {
    types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
