//! Loops in which work-items wait for other work-items: locks, flags, results of an earlier work-group.
//!
//! A kernel with such a loop runs with a separate register for each value, so that lanes may be at arbitrary blocks.
//! Its warps alternate ([`super::turns`]). Work-groups still run one after another, so that a work-group can wait for
//! earlier ones, but not for later ones.

use cranelift_entity::{EntitySet, SecondaryMap};
use tripipe_ir as ir;
use tripipe_ir::flow::{Cfg, Dominators, Loop, Loops};
use tripipe_ir::op::AtomicOp;
use tripipe_ir::{Block, Kernel, Op, Space, Type, Value, ValueDef};

use super::code::Spin;
use super::effects::meets;
use super::order::BlockOrder;

/// The loops of a kernel that end when memory changes; inner loops come after the enclosing ones.
pub(crate) fn find(
    kernel: &Kernel,
    cfg: &Cfg,
    dominators: &Dominators,
    loops: &Loops,
    order: &BlockOrder,
) -> Box<[Spin]> {
    let mut homes: SecondaryMap<ir::Inst, Option<Block>> = SecondaryMap::new();
    for (block, data) in &kernel.blocks {
        for inst in &data.insts {
            homes[*inst] = Some(block);
        }
    }
    loops
        .all
        .iter()
        .zip(&order.spans)
        .filter_map(|(each, span)| {
            let inst = Wait { kernel, cfg, dominators, homes: &homes, around: each }.find()?;
            Some(Spin { span: *span, inst })
        })
        .collect()
}

/// The analysis of one loop.
struct Wait<'a> {
    kernel: &'a Kernel,
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    homes: &'a SecondaryMap<ir::Inst, Option<Block>>,
    around: &'a Loop,
}

impl Wait<'_> {
    /// The instruction that reads the memory that the loop waits for, if it waits. If the whole group waits at a
    /// barrier in every iteration, no work-item is left behind.
    fn find(&self) -> Option<ir::Inst> {
        let meets = self.around.blocks.iter().any(|block| {
            self.kernel.blocks[*block].insts.iter().any(|inst| meets(self.kernel.insts[*inst].op))
        });
        self.around.exits.iter().filter(|_| !meets).find_map(|(from, _)| {
            let decider = self.kernel.blocks[*from].terminator.decider()?;
            self.waits_for(decider)
        })
    }

    fn has(&self, block: Block) -> bool {
        self.around.blocks.contains(&block)
    }

    /// The instruction that reads memory on which a value depends and which others may change: an atomic, a volatile
    /// load; or any load from the same address in each iteration, if the value depends on nothing else that changes
    /// between iterations. `None` if it depends on an atomic that makes progress by itself.
    fn waits_for(&self, decider: Value) -> Option<ir::Inst> {
        let mut seen = EntitySet::new();
        let mut work = vec![decider];
        let (mut found, mut plain, mut varies) = (None, None, false);
        while let Some(value) = work.pop() {
            if !seen.insert(value) {
                continue;
            }
            match self.kernel.values[value].def {
                ValueDef::Constant(_) => {}
                ValueDef::Parameter(block, position) => {
                    if self.has(block) {
                        // The header's parameters change between iterations.
                        varies |= block == self.around.header;
                        work.extend(self.merged(block, position as usize));
                    }
                }
                // Computed before the loop, so it is the same in all iterations.
                ValueDef::Result(inst) if !self.repeats(inst) => {}
                ValueDef::Result(inst) => {
                    let data = &self.kernel.insts[inst];
                    match data.op {
                        Op::Atomic(atomic) if self.advances(atomic.op, data) => return None,
                        Op::Atomic(_) => found = Some(inst),
                        Op::Load(access) if access.volatile => found = found.or(Some(inst)),
                        Op::Load(_) if self.shared(data.operands[0]) => plain = plain.or(Some(inst)),
                        _ => {}
                    }
                    work.extend(&data.operands);
                }
            }
        }
        found.or(plain.filter(|_| !varies))
    }

    /// Whether an instruction is in the loop.
    fn repeats(&self, inst: ir::Inst) -> bool {
        self.homes[inst].is_some_and(|block| self.has(block))
    }

    /// Whether repeated attempts of an atomic take effect for one of the contenders: a counter, or a compare-exchange
    /// of the value just read.
    fn advances(&self, op: AtomicOp, inst: &ir::Instruction) -> bool {
        match op {
            AtomicOp::Increment | AtomicOp::Decrement => true,
            AtomicOp::Add | AtomicOp::Sub => {
                // Adding 0 only reads.
                self.kernel.scalar_constant(inst.operands[1]).is_some_and(|number| number != 0)
            }
            AtomicOp::CompareExchange => match self.kernel.values[inst.operands[2]].def {
                // A constant is what a lock waits for.
                ValueDef::Constant(_) => false,
                ValueDef::Parameter(block, _) => self.has(block),
                ValueDef::Result(expected) => self.repeats(expected),
            },
            _ => false,
        }
    }

    /// Whether a pointer refers to memory that others may write.
    fn shared(&self, pointer: Value) -> bool {
        !matches!(self.kernel.ty(pointer), Type::Pointer(Space::Private | Space::Constant))
    }

    /// The values that a block's parameter may have inside the loop, and the values that decide between them.
    fn merged(&self, block: Block, position: usize) -> Vec<Value> {
        let mut values = Vec::new();
        let mut work = Vec::new();
        for from in self.cfg.predecessors[block].iter().filter(|from| self.has(**from)) {
            for call in self.kernel.blocks[*from].terminator.calls() {
                if call.block == block {
                    values.push(call.arguments[position]);
                }
            }
            work.push(*from);
        }
        // Equal neighbours are the frequent case. Other repetitions only make the search longer.
        values.dedup();
        // With one value, no branch decides what arrives.
        if values.len() < 2 {
            return values;
        }
        // Branches between the dominator and this block decide which value arrives. Those above it do not.
        let top = self.dominators.immediate(block);
        let mut seen = EntitySet::new();
        while let Some(from) = work.pop() {
            if !seen.insert(from) {
                continue;
            }
            values.extend(self.kernel.blocks[from].terminator.decider());
            if Some(from) != top && from != self.around.header {
                work.extend(self.cfg.predecessors[from].iter().filter(|from| self.has(**from)));
            }
        }
        values
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]
mod tests {
    use super::*;

    /// The instructions that the loops of a kernel wait for, as text. The loop starts at `b2` and exits to `b1`; `%0`
    /// is a buffer.
    fn waits(around: &str) -> Vec<String> {
        let (start, around) = around.split_once('\n').unwrap();
        let text = format!(
            r#"tripipe-ir 1
file0 "k.cl"
kernel "k" {{
  parameter "a" "int*" pointer global align 4 to i32
  const %1: i32 = 0
  const %2: i32 = 1
  const %3: i64 = 0
  const %4: bool = true
  const %5: bool = false
b0(%0 "a": ptr.global):
  jump b2{start}
b1:
  return
{around}
}}
"#
        );
        let module = tripipe_ir::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        tripipe_ir::verify::verify(&module).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let kernel = &module.kernels[0];
        let cfg = Cfg::new(kernel);
        let dominators = Dominators::new(&cfg);
        let loops = Loops::new(&cfg, &dominators);
        let order = BlockOrder::new(&cfg, &loops);
        let spins = find(kernel, &cfg, &dominators, &loops, &order);
        spins.iter().map(|spin| kernel.insts[spin.inst].op.to_string()).collect()
    }

    #[test]
    fn locks_and_flags_are_waited_for() {
        let lock = "
b2:
  %6: i32 = atomic.cmpxchg.device.relaxed %0, %2, %1
  %7: bool = ne %6, %1
  branch %7, b2, b1";
        assert_eq!(waits(lock), ["atomic.cmpxchg.device.relaxed"]);
        let flag = |load: &str| {
            format!(
                "
b2:
  %6: i32 = {load} %0
  %7: bool = eq %6, %1
  branch %7, b2, b1"
            )
        };
        for load in ["load.4.volatile", "load.4", "atomic.load.device.relaxed"] {
            assert_eq!(waits(&flag(load)), [load]);
        }
        // The result is passed in a flag that is set when the lock was acquired.
        let done = "(%5)
b2(%6: bool):
  %7: i32 = atomic.exchange.device.relaxed %0, %2
  %8: bool = eq %7, %1
  branch %8, b3, b4
b3:
  atomic.store.device.relaxed %0, %1
  jump b5(%4)
b4:
  jump b5(%5)
b5(%9: bool):
  branch %9, b1, b2(%9)";
        assert_eq!(waits(done), ["atomic.exchange.device.relaxed"]);
    }

    #[test]
    fn loops_that_progress_alone_do_not_wait() {
        let free = "
b2:
  %6: i32 = load.4.volatile %0
  %7: i32 = add %6, %2
  %8: i32 = atomic.cmpxchg.device.relaxed %0, %7, %6
  %9: bool = ne %8, %6
  branch %9, b2, b1";
        let queue = "
b2:
  %6: i32 = atomic.add.device.relaxed %0, %2
  %7: bool = slt %6, %1
  branch %7, b2, b1";
        let counted = "(%1)
b2(%6: i32):
  %7: i32 = add %6, %2
  %8: i32 = load.4 %0
  %9: bool = slt %7, %8
  branch %9, b2(%7), b1";
        let list = "(%3)
b2(%6: i64):
  %7: ptr.global = address.8.0 %0, %6
  %8: i64 = load.8 %7
  %9: bool = ne %8, %3
  branch %9, b2(%8), b1";
        let meeting = "
b2:
  barrier.workgroup.workgroup.seqcst.local
  %6: i32 = load.4 %0
  %7: bool = eq %6, %1
  branch %7, b2, b1";
        for around in [free, queue, counted, list, meeting] {
            assert_eq!(waits(around), [""; 0], "{around}");
        }
    }
}
