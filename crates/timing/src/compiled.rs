//! A kernel as compiled for a GPU, and what a launch of it needs.

use cranelift_entity::{EntitySet, SecondaryMap};
use tripipe_device::Gpu;
use tripipe_ir::flow::Cfg;
use tripipe_ir::{Kernel, Op, Scalar, Value};
use tripipe_launch::ExecuteError;
use tripipe_machine::Code;

/// A kernel as compiled for a GPU.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The code.
    pub code: Code,
    /// Work-items that a core holds at the code's registers.
    pub threads: u32,
    /// Most work-items of a work-group.
    pub most_items: u32,
    /// Whether its path or its addresses depend on the contents of memory.
    pub depends_on_memory: bool,
}

impl Compiled {
    /// Compiles a kernel.
    ///
    /// # Errors
    /// [`ExecuteError::NotOffered`]: the GPU lacks half or double precision, which the kernel uses.
    pub fn new(gpu: &Gpu, kernel: &Kernel) -> Result<Self, ExecuteError> {
        for (scalar, has, extension) in [
            (Scalar::F16, gpu.supports.fp16.value, "cl_khr_fp16"),
            (Scalar::F64, gpu.supports.fp64.value, "cl_khr_fp64"),
        ] {
            if !has && computes(kernel, scalar) {
                let what =
                    format!("arithmetic on `{}` ({extension}), which `{}` uses", scalar.name(), kernel.name);
                return Err(ExecuteError::NotOffered { what, device: gpu.name().to_owned() });
            }
        }
        let code = tripipe_machine::compile(kernel, gpu);
        let threads = gpu
            .threads_per_core(code.work.used)
            .or_else(|| gpu.threads_per_core(gpu.registers.max.value))
            .unwrap_or(gpu.core.warp_width.value);
        let most_items = threads.min(gpu.core.max_work_group_size.value).max(1);
        Ok(Self { code, threads, most_items, depends_on_memory: depends_on_memory(kernel) })
    }
}

/// Whether a kernel computes with a type; loads and stores of halves by `vload_half` need no support.
fn computes(kernel: &Kernel, scalar: Scalar) -> bool {
    let of = |value: &Value| kernel.ty(*value).scalar() == Some(scalar);
    let insts = kernel.blocks.values().flat_map(|block| &block.insts).map(|inst| &kernel.insts[*inst]);
    insts.into_iter().any(|inst| {
        matches!(
            inst.op,
            Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Dot(_) | Op::Builtin(_)
        ) && (inst.result.iter().any(of) || inst.operands.iter().any(of))
    })
}

/// Whether a branch or an address of a kernel depends on what was read from memory.
pub fn depends_on_memory(kernel: &Kernel) -> bool {
    let cfg = Cfg::new(kernel);
    let mut read: EntitySet<Value> = EntitySet::new();
    let mut passed: SecondaryMap<Value, Vec<Value>> = SecondaryMap::new();
    for block in &cfg.order {
        for call in kernel.blocks[*block].terminator.calls() {
            for (from, to) in call.arguments.iter().zip(&kernel.blocks[call.block].parameters) {
                passed[*from].push(*to);
            }
        }
    }
    loop {
        let mut changed = false;
        for block in &cfg.order {
            for inst in &kernel.blocks[*block].insts {
                let data = &kernel.insts[*inst];
                let reads = matches!(
                    data.op,
                    Op::Load(_) | Op::Atomic(_) | Op::ImageRead { .. } | Op::ImageSample(_) | Op::Group(_)
                );
                if reads || data.operands.iter().any(|operand| read.contains(*operand)) {
                    changed |= data.result.is_some_and(|result| read.insert(result));
                }
            }
        }
        for (from, to) in passed.iter() {
            if read.contains(from) {
                for to in to {
                    changed |= read.insert(*to);
                }
            }
        }
        if !changed {
            break;
        }
    }
    cfg.order.iter().any(|block| {
        let data = &kernel.blocks[*block];
        let addressed = data.insts.iter().map(|inst| &kernel.insts[*inst]).any(|inst| {
            let addresses = match inst.op {
                Op::Load(_) | Op::Store(_) | Op::Atomic(_) => 0..1,
                Op::Copy(_) => 0..3,
                Op::ImageRead { .. } | Op::ImageWrite { .. } => 1..2,
                Op::ImageSample(_) => 2..3,
                _ => 0..0,
            };
            addresses.filter_map(|at| inst.operands.get(at)).any(|value| read.contains(*value))
        });
        addressed || data.terminator.decider().is_some_and(|decider| read.contains(decider))
    })
}
