//! The operations of instructions, for all lanes of a warp at once.
//!
//! Each operation is a function over the registers of the current warp. It may write results for inactive lanes too;
//! memory, images and the console are accessed only for active lanes.

mod arithmetic;
mod atomic;
mod call;
mod collective;
pub(crate) mod convert;
pub(crate) mod copy;
pub(crate) mod image;
mod map;
mod memory;
pub(crate) mod printf;
mod query;
mod vector;

use tripipe_ir::op::{Atomic, AtomicOp, GroupScope, Scope};
use tripipe_ir::{Instruction, Kernel, Op, Scalar, Space, Type};

use super::code::{Detail, Inst, Run};
use super::rows::{WIDTH, first_lanes, numbers, numbers_mut};
use super::state::{State, Stop, Warp};

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
        Op::Load(access) => {
            let scalar = bits(result)?;
            Some((
                memory::load(scalar),
                Detail::Memory { scalar, align: access.align, vector_builtin: access.vector_builtin },
            ))
        }
        Op::Store(access) => {
            let scalar = bits(ty(1))?;
            Some((
                memory::store(scalar),
                Detail::Memory { scalar, align: access.align, vector_builtin: access.vector_builtin },
            ))
        }
        Op::Query(query) => query::select(query),
        Op::Dot(dot) => vector::dot(dot, ty(0)?, scalar(result)?),
        Op::Builtin(builtin) => call::select(builtin, ty(0)?, result?),
        Op::Atomic(Atomic { op, .. }) => {
            let scalar = match op {
                AtomicOp::FlagTestAndSet | AtomicOp::FlagClear => Scalar::I32,
                AtomicOp::Store => scalar(ty(1))?,
                _ => scalar(result)?,
            };
            plain(atomic::select(op, scalar))
        }
        // The watchers check these. Accesses are in program order, so a fence has no effect.
        Op::Undefined | Op::LifetimeStart(_) | Op::LifetimeEnd(_) | Op::Fence { .. } => {
            Some((nothing, Detail::None))
        }
        Op::Barrier { execution: Scope::SubGroup, .. } => Some((meet_sub_group, Detail::None)),
        Op::Barrier { .. } => Some((meet, Detail::None)),
        Op::Copy(_) => Some((copy::copy, Detail::None)),
        Op::AsyncCopy { scope, .. } => Some((copy::start(scope), Detail::None)),
        Op::WaitEvents { scope } => Some((copy::wait(scope), Detail::None)),
        Op::WaitCopies { scope } => Some((copy::wait_all(scope), Detail::None)),
        Op::Group(group) => plain(collective::select(group)),
        Op::Printf(_) => Some((printf::print, Detail::None)),
        Op::ImageSample(_) => Some((image::SAMPLE, image::access(ty(2)?, result?)?)),
        Op::ImageRead { .. } => Some((image::READ, image::access(ty(1)?, result?)?)),
        Op::ImageWrite { .. } => Some((image::WRITE, image::access(ty(1)?, ty(2)?)?)),
        Op::ImageQuery(fact) => Some((image::query(fact), Detail::None)),
    }
}

/// Whether the work-items of a work-group wait for each other at this operation.
pub(crate) fn meets(op: Op) -> bool {
    match op {
        Op::Barrier { execution: scope, .. }
        | Op::AsyncCopy { scope, .. }
        | Op::WaitEvents { scope }
        | Op::WaitCopies { scope } => scope != Scope::SubGroup,
        Op::Group(group) => group.scope == GroupScope::WorkGroup,
        _ => false,
    }
}

/// Whether other work-groups may see its memory effects before the launch ends.
pub(crate) fn is_global_atomic(kernel: &Kernel, inst: &Instruction) -> bool {
    matches!(inst.op, Op::Atomic(_))
        && inst.operands.first().is_none_or(|pointer| {
            !matches!(kernel.ty(*pointer), Type::Pointer(Space::Local | Space::Private))
        })
}

/// A warp of a work-group whose work-items have arrived, and the mask of those lanes.
pub(crate) struct Present<'w> {
    pub(crate) warp: &'w mut Warp,
    pub(crate) mask: u64,
}

/// The operation of a work-group whose work-items have all arrived.
pub(crate) fn together(s: &mut State<'_>, inst: &Inst, present: &mut [Present<'_>]) -> bool {
    if s.watch.is_some() {
        crate::watch::kernel::meets(s, inst, present);
    }
    match s.kernel.insts[inst.origin].op {
        Op::Group(_) => collective::work_group(s, inst, present),
        Op::AsyncCopy { .. } => copy::start_together(s, inst, present),
        Op::WaitEvents { .. } => copy::wait_together(s, inst, present),
        Op::WaitCopies { .. } => copy::wait_all_together(s, inst, present),
        Op::Barrier { semantics, .. } => {
            if let Some(watch) = &mut s.watch {
                watch.times.barrier(semantics.local, semantics.global);
            }
            true
        }
        _ => true,
    }
}

/// Waits for the rest of the work-group, unless all of it is present.
fn meet(s: &mut State<'_>, i: &Inst) -> bool {
    if s.is_whole_group() {
        let mask = s.mask;
        let mut warp = std::mem::take(&mut s.warp);
        let done = together(s, i, &mut [Present { warp: &mut warp, mask }]);
        s.warp = warp;
        return done;
    }
    s.stop = Some(Stop::Meet);
    false
}

/// Waits for the rest of the sub-groups, if some lanes may still arrive. This occurs only in kernels whose lanes may
/// be at arbitrary blocks.
fn meet_sub_group(s: &mut State<'_>, i: &Inst) -> bool {
    let whole = s.code.spins.is_empty() || s.has_whole_sub_groups(i);
    if !whole {
        s.stop = Some(Stop::MeetSubGroup);
    }
    whole
}

/// The lanes of a mask split into sub-groups, or other runs of `size` adjacent lanes; empty runs are skipped.
pub(crate) fn neighbours(mask: u64, size: u32) -> impl Iterator<Item = u64> {
    let size = size as usize;
    (0..WIDTH).step_by(size).map(move |first| mask & first_lanes(size) << first).filter(|lanes| *lanes != 0)
}

fn nothing(_: &mut State<'_>, _: &Inst) -> bool {
    true
}

/// Copies one lane to all lanes.
pub(crate) fn splat(s: &mut State<'_>, i: &Inst) -> bool {
    fn fill<T: bytemuck::Pod>(to: &mut [u64], from: &[u64]) {
        for (to, from) in numbers_mut::<T>(to).as_chunks_mut::<64>().0.iter_mut().zip(numbers::<T>(from)) {
            to.fill(*from);
        }
    }
    let mut out = s.warp.rows.take(i.out);
    let from = s.warp.rows.words(i.args[0]);
    match i.detail {
        Detail::Number(1) => fill::<u8>(&mut out, from),
        Detail::Number(2) => fill::<u16>(&mut out, from),
        Detail::Number(4) => fill::<u32>(&mut out, from),
        _ => fill::<u64>(&mut out, from),
    }
    s.warp.rows.put(i.out, out);
    true
}
