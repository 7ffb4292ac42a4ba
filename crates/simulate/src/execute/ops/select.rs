//! Selects the function that runs an instruction.

use tripipe_ir::op::{Atomic, AtomicOp, Group, GroupOp, GroupScope, Scope};
use tripipe_ir::{Instruction, Kernel, Op, Scalar, Type};

use super::{
    arithmetic, atomic, call, collective, convert, copy, image, meet, memory, printf, query, vector,
};
use crate::execute::code::{Detail, Inst, Run};
use crate::execute::state::State;

/// The function that runs an instruction, and its parameters; `None` if the instruction is not supported.
pub(crate) fn select(kernel: &Kernel, inst: &Instruction) -> Option<(Run, Detail)> {
    let ty = |index: usize| inst.operands.get(index).map(|operand| kernel.ty(*operand));
    let result = inst.result.map(|result| kernel.ty(result));
    let scalar = |ty: Option<Type>| ty.and_then(Type::scalar);
    let plain = |run: Option<Run>| run.map(|run| (run, Detail::None));
    // Pointers, samplers, events and images are represented by 64 bits.
    let bits = |ty: Option<Type>| ty.map(|ty| ty.scalar().unwrap_or(Scalar::I64));
    match inst.op {
        Op::Unary(op) => {
            Some((arithmetic::unary_op(op, scalar(ty(0))?)?, Detail::Number(u64::from(ty(0)?.lanes()))))
        }
        Op::Binary(op) => plain(arithmetic::binary_op(op, scalar(result)?)),
        Op::Compare(op) => plain(arithmetic::compare_op(op, bits(ty(0))?)),
        Op::Select => plain(vector::select(bits(result)?, ty(0)?.lanes() == 1)),
        Op::Convert(convert) => convert::select(convert, scalar(ty(0))?, scalar(result)?),
        Op::Bitcast => Some((
            vector::bitcast,
            Detail::Number(u64::from(scalar(ty(0))?.bytes()) << 8 | u64::from(scalar(result)?.bytes())),
        )),
        Op::PointerToInt | Op::IntToPointer | Op::SpaceCast { checked: false } => {
            Some((vector::copy, Detail::None))
        }
        Op::SpaceCast { checked: true } => {
            let Type::Pointer(space) = result? else { return None };
            Some((memory::checked_cast, Detail::Number(space as u64)))
        }
        Op::Construct => Some((vector::construct, Detail::Number(u64::from(bits(result)?.bytes())))),
        Op::Extract(lane) | Op::Insert(lane) => {
            let run = if matches!(inst.op, Op::Extract(_)) { vector::extract } else { vector::insert };
            Some((run, Detail::Number(u64::from(lane) << 8 | u64::from(bits(result)?.bytes()))))
        }
        Op::ExtractDynamic => {
            Some((vector::extract_dynamic(bits(result)?)?, Detail::Number(u64::from(ty(0)?.lanes()))))
        }
        Op::InsertDynamic => plain(vector::insert_dynamic(bits(result)?)),
        Op::Shuffle(mask) => {
            let (first, bytes) = (ty(0)?.lanes(), bits(result)?.bytes() as u8);
            Some((vector::shuffle, Detail::Shuffle { mask, bytes, first }))
        }
        Op::ObjectAddress(object) => {
            Some((memory::object_address, Detail::Number(u64::from(object.as_u32()))))
        }
        Op::ProgramAddress(object) => {
            Some((memory::program_address, Detail::Number(u64::from(object.as_u32()))))
        }
        Op::Address(address) => {
            let detail = Detail::Address { stride: address.stride, offset: address.offset };
            Some((memory::address(address.stride, scalar(ty(1))), detail))
        }
        Op::Load(_) => plain(Some(memory::load(bits(result)?))),
        Op::Store(_) => plain(Some(memory::store(bits(ty(1))?))),
        Op::Query(query) => query::select(query),
        Op::Dot(dot) => vector::dot(dot, ty(0)?, scalar(result)?),
        Op::Builtin(builtin) => call::select(builtin, ty(0)?, result?),
        Op::Atomic(Atomic { op, .. }) => {
            let scalar = match op {
                AtomicOp::FlagTestAndSet | AtomicOp::FlagClear => Scalar::I32,
                // A store has no result that would tell its type.
                AtomicOp::Store => scalar(ty(1))?,
                _ => scalar(result)?,
            };
            plain(atomic::select(op, scalar))
        }
        // Only observers need these. Accesses are in program order, so a fence has no effect.
        Op::Undefined | Op::LifetimeStart(_) | Op::LifetimeEnd(_) | Op::Fence { .. } => {
            Some((nothing, Detail::None))
        }
        Op::Barrier { execution: scope, .. } => Some((meet_as(scope, sub_group_barrier), Detail::None)),
        Op::Copy(_) => Some((copy::copy, Detail::None)),
        Op::AsyncCopy { scope, .. } => Some((meet_as(scope, copy::start), Detail::None)),
        Op::WaitEvents { scope } => Some((meet_as(scope, copy::wait), Detail::None)),
        Op::WaitCopies { scope } => Some((meet_as(scope, copy::wait_all), Detail::None)),
        Op::Group(group) => plain(collective_of(group)),
        Op::Printf(_) => Some((printf::print, Detail::None)),
        Op::ImageSample(_) => Some((image::SAMPLE, image::access(ty(2)?, result?)?)),
        Op::ImageRead { .. } => Some((image::READ, image::access(ty(1)?, result?)?)),
        Op::ImageWrite { .. } => Some((image::WRITE, image::access(ty(1)?, ty(2)?)?)),
        Op::ImageQuery(fact) => Some((image::query(fact), Detail::None)),
    }
}

/// The function of an operation that meets in a scope: `sub_group` runs it for the sub-groups of a warp.
fn meet_as(scope: Scope, sub_group: Run) -> Run {
    if scope == Scope::SubGroup { sub_group } else { meet::meet }
}

/// The function that runs a collective function; `None` for functions that work-groups do not have.
fn collective_of(group: Group) -> Option<Run> {
    match (group.scope, group.op) {
        (GroupScope::SubGroup, _) => Some(collective::sub_group),
        (
            GroupScope::WorkGroup,
            GroupOp::All
            | GroupOp::Any
            | GroupOp::AllEqual
            | GroupOp::Broadcast
            | GroupOp::BroadcastFirst
            | GroupOp::Elect
            | GroupOp::Reduce(_)
            | GroupOp::InclusiveScan(_)
            | GroupOp::ExclusiveScan(_),
        ) => Some(meet::meet),
        _ => None,
    }
}

/// Waits for the rest of the sub-groups, if some lanes may still arrive.
fn sub_group_barrier(s: &mut State<'_>, i: &Inst) -> bool {
    s.meets_sub_groups(i)
}

fn nothing(_: &mut State<'_>, _: &Inst) -> bool {
    true
}
