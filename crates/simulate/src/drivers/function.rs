//! The functions of OpenCL C that instructions are calls of.

use std::borrow::Cow;

use tripipe_ir::op::{AtomicOp, Builtin, Group, GroupOp, GroupScope, Reduction};
use tripipe_ir::{Inst, Kernel, Op};

/// The function of OpenCL C that an instruction is a call of, as far as it is known; without the type that is part of some
/// names.
pub(super) fn name(kernel: &Kernel, inst: Inst) -> Option<Cow<'static, str>> {
    let data = &kernel.insts[inst];
    Some(match data.op {
        Op::Builtin(builtin) => library(builtin).into(),
        Op::Group(group) => collective(group)?.into(),
        Op::Query(query) => format!("get_{}", query.kind.name()).into(),
        Op::Load(access) if access.vector_builtin => {
            format!("vload{}", kernel.ty(data.result?).lanes()).into()
        }
        Op::Store(access) if access.vector_builtin => {
            format!("vstore{}", kernel.ty(*data.operands.get(1)?).lanes()).into()
        }
        Op::Atomic(atomic) => match atomic.op {
            AtomicOp::FlagTestAndSet => "atomic_flag_test_and_set".into(),
            AtomicOp::FlagClear => "atomic_flag_clear".into(),
            _ => return None,
        },
        Op::AsyncCopy { .. } => "async_work_group_copy".into(),
        Op::WaitEvents { .. } => "wait_group_events".into(),
        Op::Barrier { .. } => "barrier".into(),
        Op::Printf(_) => "printf".into(),
        _ => return None,
    })
}

/// The name in OpenCL C, where the sign and the kind of number are part of the type.
fn library(builtin: Builtin) -> &'static str {
    let name = builtin.name();
    match name {
        "fclamp" => "clamp",
        "fmax_common" => "max",
        "fmin_common" => "min",
        _ => name.strip_prefix("s_").or_else(|| name.strip_prefix("u_")).unwrap_or(name),
    }
}

fn collective(group: Group) -> Option<String> {
    let scope = match group.scope {
        GroupScope::WorkGroup => "work_group",
        GroupScope::SubGroup if group.active_only && !is_shuffle(group.op) => "sub_group_non_uniform",
        GroupScope::SubGroup => "sub_group",
    };
    Some(match group.op {
        GroupOp::All => format!("{scope}_all"),
        GroupOp::Any => format!("{scope}_any"),
        GroupOp::Broadcast => format!("{scope}_broadcast"),
        GroupOp::Reduce(how) => format!("{scope}_reduce_{}", operator(how)),
        GroupOp::InclusiveScan(how) => format!("{scope}_scan_inclusive_{}", operator(how)),
        GroupOp::ExclusiveScan(how) => format!("{scope}_scan_exclusive_{}", operator(how)),
        GroupOp::ClusterReduce(how, _) => format!("sub_group_clustered_reduce_{}", operator(how)),
        GroupOp::Shuffle => "sub_group_shuffle".to_owned(),
        GroupOp::ShuffleXor => "sub_group_shuffle_xor".to_owned(),
        GroupOp::ShuffleUp => "sub_group_shuffle_up".to_owned(),
        GroupOp::ShuffleDown => "sub_group_shuffle_down".to_owned(),
        GroupOp::Ballot => "sub_group_ballot".to_owned(),
        _ => return None,
    })
}

fn is_shuffle(op: GroupOp) -> bool {
    matches!(op, GroupOp::Shuffle | GroupOp::ShuffleXor | GroupOp::ShuffleUp | GroupOp::ShuffleDown)
}

fn operator(how: Reduction) -> &'static str {
    match how {
        Reduction::Add | Reduction::FAdd => "add",
        Reduction::Mul | Reduction::FMul => "mul",
        Reduction::SMin | Reduction::UMin | Reduction::FMin => "min",
        Reduction::SMax | Reduction::UMax | Reduction::FMax => "max",
        Reduction::And => "and",
        Reduction::Or => "or",
        Reduction::Xor => "xor",
        Reduction::LogicalAnd => "logical_and",
        Reduction::LogicalOr => "logical_or",
        Reduction::LogicalXor => "logical_xor",
    }
}
