//! Collective functions of a work-group or a sub-group: votes, broadcasts, reductions, scans, shuffles, ballots.
//!
//! Absent work-items do not count: work-items that have ended, and for sub-groups those on another path through the
//! code. Reductions process values in the order of local linear ids. Where the specification leaves a result
//! undefined, such as the value of an absent work-item, the result is the work-item's own value.

use half::f16;
use tripipe_ir::op::{Group as GroupFunction, GroupOp, GroupScope, Reduction};
use tripipe_ir::{Kernel, Op, Scalar, Type};

use crate::execute::code::Inst;
use crate::execute::range::Group;
use crate::execute::rows::{WIDTH, lanes, neighbours};
use crate::execute::state::{Present, State};
use crate::math::{Float, basic};

/// A participating work-item.
#[derive(Clone, Copy)]
struct Member {
    warp: usize,
    lane: usize,
    /// Its id in the group: the local linear id, or the id in the sub-group.
    id: u64,
}

/// Runs the function separately for each sub-group of the active lanes, or for each of its clusters.
pub(super) fn sub_group(s: &mut State<'_>, i: &Inst) -> bool {
    let (kernel, group) = (s.kernel, s.group);
    let Op::Group(GroupFunction { op, active_only, .. }) = kernel.insts[i.origin].op else { return true };
    // A function of the active lanes alone waits for no others, if one warp has the whole sub-group.
    if (!active_only || group.has_wide_sub_groups()) && !s.meets_sub_groups(i) {
        return false;
    }
    let size = match op {
        GroupOp::ClusterReduce(_, size) => size.min(group.sub_group),
        _ => group.sub_group,
    };
    for mask in neighbours(s.mask, size) {
        let members: Vec<Member> = lanes(mask)
            .map(|lane| Member { warp: 0, lane, id: lane as u64 % u64::from(group.sub_group) })
            .collect();
        perform(kernel, &group, i, &mut [Present { warp: &mut s.warp, mask }], &members);
    }
    true
}

/// Runs the function for a work-group whose work-items have all arrived, or for a sub-group that several warps run.
pub(super) fn together(s: &State<'_>, i: &Inst, present: &mut [Present<'_>]) -> bool {
    let Op::Group(GroupFunction { scope, op, .. }) = s.kernel.insts[i.origin].op else { return true };
    let size = match scope {
        GroupScope::SubGroup => u64::from(s.group.sub_group),
        GroupScope::WorkGroup => u64::MAX,
    };
    let members: Vec<Member> = present
        .iter()
        .enumerate()
        .flat_map(|(warp, each)| {
            let first = u64::from(each.warp.first_item);
            lanes(each.mask).map(move |lane| Member { warp, lane, id: (first + lane as u64) % size })
        })
        .collect();
    let cluster = if let GroupOp::ClusterReduce(_, cluster) = op { u64::from(cluster) } else { u64::MAX };
    // Members are in the order of their ids, so a cluster is contiguous.
    for members in members.chunk_by(|a, b| a.id / cluster == b.id / cluster) {
        perform(s.kernel, &s.group, i, present, members);
    }
    true
}

/// Computes the results of all members and writes them to their registers.
fn perform(kernel: &Kernel, group: &Group, i: &Inst, present: &mut [Present<'_>], members: &[Member]) {
    let inst = &kernel.insts[i.origin];
    let Op::Group(GroupFunction { scope, op, .. }) = inst.op else { return };
    let ty = |index: usize| inst.operands.get(index).map_or(Type::BOOL, |operand| kernel.ty(*operand));
    let scalar = |index: usize| ty(index).scalar().unwrap_or(Scalar::I64);
    // A component of a member's operand.
    let get = |present: &[Present<'_>], member: &Member, operand: usize, component: usize| {
        let rows = &present[member.warp].warp.rows;
        rows.bits(i.arg(operand), component * WIDTH + member.lane, scalar(operand).bytes())
    };
    let components = usize::from(ty(0).lanes());
    let out_bytes = inst.result.map_or(1, |result| kernel.ty(result).scalar().unwrap_or(Scalar::I64).bytes());
    let set = |present: &mut [Present<'_>], member: &Member, component: usize, bits: u64| {
        let rows = &mut present[member.warp].warp.rows;
        rows.set_bits(i.out, component * WIDTH + member.lane, out_bytes, bits);
    };
    let find = |id: u64| members.iter().find(|member| member.id == id);
    let Some(first) = members.first() else { return };
    match op {
        GroupOp::All | GroupOp::Any | GroupOp::AllEqual => {
            let truth = match op {
                GroupOp::All => members.iter().all(|member| get(present, member, 0, 0) != 0),
                GroupOp::Any => members.iter().any(|member| get(present, member, 0, 0) != 0),
                _ => (0..components).all(|component| {
                    let wanted = get(present, first, 0, component);
                    members.iter().all(|member| equal(scalar(0), get(present, member, 0, component), wanted))
                }),
            };
            for member in members {
                set(present, member, 0, u64::from(truth));
            }
        }
        GroupOp::Elect => {
            for member in members {
                set(present, member, 0, u64::from(member.id == first.id));
            }
        }
        GroupOp::Broadcast | GroupOp::BroadcastFirst => {
            let id = match (op, scope) {
                (GroupOp::BroadcastFirst, _) => first.id,
                (_, GroupScope::SubGroup) => get(present, first, 1, 0),
                (_, GroupScope::WorkGroup) => {
                    // OpenCL C gives the work-item by its coordinates, not by a linear id.
                    let strides = [1, group.local[0], group.local[0] * group.local[1]];
                    (1..inst.operands.len()).zip(strides).fold(0, |id, (operand, stride)| {
                        get(present, first, operand, 0).wrapping_mul(stride).wrapping_add(id)
                    })
                }
            };
            for component in 0..components {
                let value = find(id).map(|member| get(present, member, 0, component));
                for member in members {
                    let value = value.unwrap_or_else(|| get(present, member, 0, component));
                    set(present, member, component, value);
                }
            }
        }
        GroupOp::Shuffle | GroupOp::ShuffleXor | GroupOp::ShuffleUp | GroupOp::ShuffleDown => {
            for component in 0..components {
                let values: Vec<u64> = members
                    .iter()
                    .map(|member| {
                        let operand = get(present, member, 1, 0);
                        let id = match op {
                            GroupOp::Shuffle => operand,
                            GroupOp::ShuffleXor => member.id ^ operand,
                            GroupOp::ShuffleUp => member.id.wrapping_sub(operand),
                            _ => member.id.wrapping_add(operand),
                        };
                        get(present, find(id).unwrap_or(member), 0, component)
                    })
                    .collect();
                for (member, value) in members.iter().zip(values) {
                    set(present, member, component, value);
                }
            }
        }
        GroupOp::Reduce(reduction)
        | GroupOp::ClusterReduce(reduction, _)
        | GroupOp::InclusiveScan(reduction)
        | GroupOp::ExclusiveScan(reduction) => {
            for component in 0..components {
                let mut before = None;
                for member in members {
                    let value = get(present, member, 0, component);
                    let sum = before.map_or(value, |before| combine(reduction, scalar(0), before, value));
                    match op {
                        GroupOp::InclusiveScan(_) => set(present, member, component, sum),
                        GroupOp::ExclusiveScan(_) => {
                            let value = before.unwrap_or_else(|| identity(reduction, scalar(0)));
                            set(present, member, component, value);
                        }
                        _ => {}
                    }
                    before = Some(sum);
                }
                if let (GroupOp::Reduce(_) | GroupOp::ClusterReduce(..), Some(sum)) = (op, before) {
                    for member in members {
                        set(present, member, component, sum);
                    }
                }
            }
        }
        GroupOp::Ballot => {
            // 128 bits, because a ballot is a vector of four 32-bit words.
            let votes = members.iter().fold(0u128, |votes, member| {
                votes | u128::from(get(present, member, 0, 0) != 0) << member.id
            });
            for member in members {
                for word in 0..4 {
                    set(present, member, word, (votes >> (32 * word)) as u64);
                }
            }
        }
        GroupOp::InverseBallot
        | GroupOp::BallotBit
        | GroupOp::BallotCount
        | GroupOp::BallotLeast
        | GroupOp::BallotGreatest => {
            for member in members {
                let votes = (0..4).fold(0u128, |votes, word| {
                    votes | u128::from(get(present, member, 0, word)) << (32 * word)
                });
                // Bits beyond the sub-group do not count.
                let votes = votes & (u128::MAX >> (u128::BITS - group.sub_group));
                let bit = |id: u64| (votes.checked_shr(id as u32).unwrap_or(0) & 1) as u64;
                let answer = match op {
                    GroupOp::InverseBallot => bit(member.id),
                    GroupOp::BallotBit => bit(get(present, member, 1, 0)),
                    GroupOp::BallotCount => u64::from(votes.count_ones()),
                    GroupOp::BallotLeast => u64::from(votes.trailing_zeros()),
                    _ => u64::from(votes.checked_ilog2().unwrap_or(u32::MAX)),
                };
                set(present, member, 0, answer);
            }
        }
    }
}

/// Whether two numbers are equal: zeros of either sign are, NaNs are not.
fn equal(scalar: Scalar, a: u64, b: u64) -> bool {
    match scalar {
        Scalar::F16 => f16::from_bits(a as u16) == f16::from_bits(b as u16),
        Scalar::F32 => f32::from_bits(a as u32) == f32::from_bits(b as u32),
        Scalar::F64 => f64::from_bits(a) == f64::from_bits(b),
        _ => a == b,
    }
}

/// The combination of two numbers in a reduction.
fn combine(reduction: Reduction, scalar: Scalar, a: u64, b: u64) -> u64 {
    fn float<T: Float>(reduction: Reduction, a: T, b: T) -> T {
        match reduction {
            Reduction::FMul => T::narrow(a.widen() * b.widen()),
            Reduction::FMin => basic::fmin(a, b),
            Reduction::FMax => basic::fmax(a, b),
            _ => T::narrow(a.widen() + b.widen()),
        }
    }
    // Bits are zero extended. Shifted to the top, they compare with their sign.
    let unused = 64 - scalar.bits();
    let signed = |bits: u64| (bits << unused).cast_signed();
    match reduction {
        Reduction::Add => a.wrapping_add(b) & scalar.mask(),
        Reduction::Mul => a.wrapping_mul(b) & scalar.mask(),
        Reduction::SMin => {
            if signed(b) < signed(a) {
                b
            } else {
                a
            }
        }
        Reduction::SMax => {
            if signed(b) > signed(a) {
                b
            } else {
                a
            }
        }
        Reduction::UMin => a.min(b),
        Reduction::UMax => a.max(b),
        Reduction::And | Reduction::LogicalAnd => a & b,
        Reduction::Or | Reduction::LogicalOr => a | b,
        Reduction::Xor | Reduction::LogicalXor => a ^ b,
        Reduction::FAdd | Reduction::FMul | Reduction::FMin | Reduction::FMax => match scalar {
            Scalar::F16 => {
                let [a, b] = [a, b].map(|bits| f16::from_bits(bits as u16));
                u64::from(float(reduction, a, b).to_bits())
            }
            Scalar::F32 => {
                let [a, b] = [a, b].map(|bits| f32::from_bits(bits as u32));
                u64::from(float(reduction, a, b).to_bits())
            }
            _ => float(reduction, f64::from_bits(a), f64::from_bits(b)).to_bits(),
        },
    }
}

/// The identity element of a reduction: the first result of an exclusive scan.
fn identity(reduction: Reduction, scalar: Scalar) -> u64 {
    let float = |number: f64| match scalar {
        Scalar::F16 => u64::from(f16::from_f64(number).to_bits()),
        Scalar::F32 => u64::from((number as f32).to_bits()),
        _ => number.to_bits(),
    };
    match reduction {
        Reduction::Add
        | Reduction::UMax
        | Reduction::Or
        | Reduction::Xor
        | Reduction::LogicalOr
        | Reduction::LogicalXor => 0,
        Reduction::Mul | Reduction::LogicalAnd => 1,
        Reduction::UMin | Reduction::And => scalar.mask(),
        Reduction::SMin => scalar.mask() >> 1,
        Reduction::SMax => 1 << (scalar.bits() - 1),
        Reduction::FAdd => float(0.0),
        Reduction::FMul => float(1.0),
        Reduction::FMin => float(f64::INFINITY),
        Reduction::FMax => float(f64::NEG_INFINITY),
    }
}
