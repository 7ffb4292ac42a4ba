//! How the values of a kernel are used.

use cranelift_entity::SecondaryMap;
use tripipe_ir::flow::Cfg;
use tripipe_ir::op::Binary;
use tripipe_ir::{Kernel, Op, Value};

/// How a value is used.
pub(super) struct Uses {
    pub(super) count: SecondaryMap<Value, u32>,
    /// Uses as a pointer of a load, store or atomic, or as the base of a constant offset that has only such uses.
    pub(super) as_address: SecondaryMap<Value, u32>,
    /// Uses as the index of an address.
    pub(super) as_index: SecondaryMap<Value, u32>,
    /// Uses as the condition of a select.
    pub(super) as_condition: SecondaryMap<Value, u32>,
    /// Uses as the condition or selector of a terminator.
    pub(super) as_decider: SecondaryMap<Value, u32>,
    /// Uses as an operand of bitwise logic.
    pub(super) in_logic: SecondaryMap<Value, u32>,
    /// Uses as a shift amount.
    pub(super) as_amount: SecondaryMap<Value, u32>,
}

impl Uses {
    pub(super) fn new(kernel: &Kernel, cfg: &Cfg) -> Self {
        let mut uses = Self {
            count: SecondaryMap::new(),
            as_address: SecondaryMap::new(),
            as_index: SecondaryMap::new(),
            as_condition: SecondaryMap::new(),
            as_decider: SecondaryMap::new(),
            in_logic: SecondaryMap::new(),
            as_amount: SecondaryMap::new(),
        };
        // Backwards, so that the uses of a pointer are known before those of its base.
        for block in cfg.order.iter().rev() {
            let data = &kernel.blocks[*block];
            for value in data.terminator.uses() {
                uses.count[value] += 1;
            }
            if let Some(decider) = data.terminator.decider() {
                uses.as_decider[decider] += 1;
            }
            for inst in data.insts.iter().rev() {
                let data = &kernel.insts[*inst];
                for value in &data.operands {
                    uses.count[*value] += 1;
                }
                match (data.op, &data.operands[..]) {
                    (Op::Load(_) | Op::Store(_) | Op::Atomic(_), [pointer, ..]) => {
                        uses.as_address[*pointer] += 1;
                    }
                    (Op::Address(address), [base, rest @ ..]) => {
                        if let Some(index) = rest.first() {
                            uses.as_index[*index] += 1;
                        }
                        let only_addresses =
                            data.result.is_some_and(|result| uses.as_address[result] == uses.count[result]);
                        if address.stride == 0 && only_addresses {
                            uses.as_address[*base] += 1;
                        }
                    }
                    (Op::Select, [condition, ..]) => uses.as_condition[*condition] += 1,
                    (Op::Binary(Binary::And | Binary::Or | Binary::Xor), [a, b]) => {
                        uses.in_logic[*a] += 1;
                        uses.in_logic[*b] += 1;
                    }
                    (Op::Binary(Binary::Shl | Binary::LShr | Binary::AShr), [_, amount]) => {
                        uses.as_amount[*amount] += 1;
                    }
                    _ => {}
                }
            }
        }
        uses
    }
}
