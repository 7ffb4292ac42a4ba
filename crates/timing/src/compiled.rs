//! A kernel as compiled for a GPU, and what a launch of it needs.

use cranelift_entity::{EntitySet, SecondaryMap};
use tripipe_device::Gpu;
use tripipe_ir::flow::Cfg;
use tripipe_ir::{Inst, Kernel, Op, Scalar, Value};
use tripipe_launch::ExecuteError;
use tripipe_machine::{Code, Issue, Pipe};

/// A kernel as compiled for a GPU.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The code.
    pub code: Code,
    /// Work-items that a core holds at the code's registers.
    pub threads: u32,
    /// Work-items of a wave.
    pub wave: u32,
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
        let required = kernel.sub_group_size(Some(gpu.opencl()));
        let threads = gpu.occupancy(code.work.used, required).threads;
        let wave = gpu.wave_width(code.work.used, required).max(1);
        // A work-group runs on one core, so the core's threads bound it.
        let most_items = threads.min(gpu.core.max_work_group_size.value).max(1);
        Ok(Self { code, threads, wave, most_items, depends_on_memory: depends_on_memory(kernel) })
    }
}

impl Compiled {
    /// Compiles a kernel whose work-items wait for each other in work-groups of `items`, for which [`Self::new`] uses too many
    /// registers: with the most registers that allow that number of threads, or the fewest there are, and spills.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn for_group(gpu: &Gpu, kernel: &Kernel, items: u32) -> Result<Self, ExecuteError> {
        let compiled = Self::new(gpu, kernel)?;
        // Without barriers the warps of a work-group can run one after another, so registers limit nothing.
        if compiled.most_items >= items || !waits(kernel) {
            return Ok(compiled);
        }
        let required = kernel.sub_group_size(Some(gpu.opencl()));
        let allows = |registers: &u32| gpu.occupancy(*registers, required).threads >= items;
        // From the top down: the first number that allows the threads spills least.
        let registers = (1..compiled.code.work.used).rev().find(allows).unwrap_or(1);
        let mut fewer = gpu.clone();
        fewer.registers.max.value = registers;
        Self::new(&fewer, kernel)
    }

    /// The same code with another amount of work: `times` is how often the operations of an instruction are executed
    /// where they were executed once; `None` stands for branches, spills and barriers.
    #[must_use]
    pub fn with_work(mut self, times: impl Fn(Option<Inst>) -> f64) -> Self {
        for block in self.code.blocks.keys().collect::<Vec<_>>() {
            let issues = std::mem::take(&mut self.code.blocks[block]);
            let mut changed: Vec<Issue> = Vec::with_capacity(issues.len());
            // Fractions of issues of a pipe add up to whole ones.
            // From a half, so that sums are rounded to the nearest number and not down.
            let mut left = [0.5; Pipe::ALL.len()];
            // The first issue of each pipe of which nothing was left so far, and its place in `changed`, in this order.
            let mut lost: Vec<(usize, Issue)> = Vec::new();
            for issue in issues {
                let count = issue.operations.len().max(1) as f64;
                let sum: f64 = issue.operations.iter().map(|(_, operation)| times(operation.inst)).sum();
                let (pipe, often) =
                    (issue.pipe.index(), if issue.operations.is_empty() { 1.0 } else { sum / count });
                left[pipe] += often;
                let copies = left[pipe].floor();
                left[pipe] -= copies;
                if copies >= 1.0 {
                    changed.extend(std::iter::repeat_n(issue, copies as usize));
                } else if often > 0.0 && !lost.iter().any(|(_, other)| other.pipe == issue.pipe) {
                    let issue = Issue { cycles: issue.cycles * often, ..issue };
                    lost.push((changed.len(), issue));
                }
            }
            // A pipe of which nothing is left keeps a part of its first issue. From the last place on, so that the places before
            // it stay.
            for (at, issue) in lost.into_iter().rev() {
                if !changed.iter().any(|other| other.pipe == issue.pipe) {
                    changed.insert(at, issue);
                }
            }
            self.code.blocks[block] = changed;
        }
        self
    }
}

/// Whether work-items of a kernel wait for others of their work-group.
fn waits(kernel: &Kernel) -> bool {
    let insts = kernel.blocks.values().flat_map(|block| &block.insts);
    insts.into_iter().any(|inst| matches!(kernel.insts[*inst].op, Op::Barrier { .. }))
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
    steers(kernel, EntitySet::new(), true)
}

/// Whether a branch or an address of a kernel depends on an argument, given by position.
pub fn depends_on_argument(kernel: &Kernel, position: usize) -> bool {
    let mut argument = EntitySet::new();
    argument.extend(kernel.blocks[Kernel::ENTRY].parameters.get(position).copied());
    steers(kernel, argument, false)
}

/// Whether a branch or an address depends on some values, or on what was read from memory if `reads`, which is also
/// the case once one of the values was stored.
fn steers(kernel: &Kernel, mut from: EntitySet<Value>, mut reads: bool) -> bool {
    let cfg = Cfg::new(kernel);
    let mut passed: SecondaryMap<Value, Vec<Value>> = SecondaryMap::new();
    for block in &cfg.order {
        for call in kernel.blocks[*block].terminator.calls() {
            for (value, to) in call.arguments.iter().zip(&kernel.blocks[call.block].parameters) {
                passed[*value].push(*to);
            }
        }
    }
    // To a fixed point, because values are passed around loops.
    loop {
        let mut changed = false;
        for block in &cfg.order {
            for inst in &kernel.blocks[*block].insts {
                let data = &kernel.insts[*inst];
                let is_read = matches!(
                    data.op,
                    Op::Load(_) | Op::Atomic(_) | Op::ImageRead { .. } | Op::ImageSample(_) | Op::Group(_)
                );
                let depends = data.operands.iter().any(|operand| from.contains(*operand));
                if reads && is_read || depends {
                    changed |= data.result.is_some_and(|result| from.insert(result));
                }
                // All memory counts as one place: what was stored may come back from any load.
                if depends
                    && !reads
                    && matches!(data.op, Op::Store(_) | Op::Atomic(_) | Op::ImageWrite { .. })
                {
                    (reads, changed) = (true, true);
                }
            }
        }
        for (value, to) in passed.iter() {
            if from.contains(value) {
                for to in to {
                    changed |= from.insert(*to);
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
            let addresses: &[usize] = match inst.op {
                Op::Load(_) | Op::Store(_) | Op::Atomic(_) => &[0],
                // Destination, source, count, and the stride of an asynchronous copy: each decides which bytes move.
                Op::Copy(_) => &[0, 1, 2],
                Op::AsyncCopy { .. } => &[0, 1, 2, 3],
                // Coordinates, and where there is one the level, or the gradients that decide it.
                Op::ImageRead { .. } => &[1, 2],
                Op::ImageWrite { .. } => &[1, 3],
                Op::ImageSample(_) => &[2, 3, 4],
                _ => &[],
            };
            addresses.iter().filter_map(|at| inst.operands.get(*at)).any(|value| from.contains(*value))
        });
        addressed || data.terminator.decider().is_some_and(|decider| from.contains(decider))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef as _;
    use smallvec::SmallVec;
    use tripipe_machine::{Units, Work};

    /// Instructions of a block that run twice, a quarter as often, and unchanged.
    #[test]
    fn fractions_of_work_add_up() {
        let operation = |inst: usize| tripipe_machine::Operation {
            work: Work::Add,
            units: Units::default(),
            inst: Some(Inst::new(inst)),
            location: None,
            reads: SmallVec::default(),
            writes: SmallVec::default(),
            lanes: 1,
            room: 4,
            bits: 32,
            memory_bits: 0,
            basis: tripipe_device::Basis::Guessed,
            extra: SmallVec::default(),
        };
        let issue = |inst: usize, pipe| Issue {
            pipe,
            cycles: 1.0,
            operations: [(0, operation(inst))].into_iter().collect(),
        };
        let block = tripipe_ir::Block::new(0);
        let mut blocks: SecondaryMap<tripipe_ir::Block, Vec<Issue>> = SecondaryMap::new();
        blocks[block] = (0..8).map(|inst| issue(inst, Pipe::Arithmetic)).collect();
        blocks[block].push(issue(8, Pipe::LoadStore));
        let code = Code {
            blocks,
            passed: SecondaryMap::new(),
            registers: cranelift_entity::PrimaryMap::new(),
            work: tripipe_machine::WorkRegisters::default(),
            uniform_bits: 0,
            hoisted: Vec::new(),
            words_most: 1.0,
            unknown: Vec::new(),
        };
        let compiled = Compiled { code, threads: 1, wave: 1, most_items: 1, depends_on_memory: false };
        let count = |times: &dyn Fn(usize) -> f64, pipe| {
            let changed = compiled.clone().with_work(|inst| inst.map_or(1.0, |inst| times(inst.index())));
            let issues = changed.code.blocks[block].iter().filter(|issue| issue.pipe == pipe);
            issues.map(|issue| issue.cycles).sum::<f64>()
        };
        assert_eq!(count(&|_| 1.0, Pipe::Arithmetic), 8.0);
        assert_eq!(count(&|_| 2.0, Pipe::Arithmetic), 16.0);
        assert_eq!(count(&|_| 0.25, Pipe::Arithmetic), 2.0);
        assert_eq!(count(&|inst| if inst < 4 { 0.0 } else { 1.5 }, Pipe::Arithmetic), 6.0);
        assert_eq!(count(&|_| 0.25, Pipe::LoadStore), 0.25);
        assert_eq!(count(&|_| 0.0, Pipe::LoadStore), 0.0);
        // Parts of issues stay where the issues were, whatever the order of the pipes.
        let order = [Pipe::LoadStore, Pipe::Texture, Pipe::Texture, Pipe::Arithmetic];
        for order in [order.to_vec(), order.into_iter().rev().collect()] {
            let mut compiled = compiled.clone();
            compiled.code.blocks[block] =
                order.iter().enumerate().map(|(at, pipe)| issue(at, *pipe)).collect();
            let ends = [Some(Inst::new(0)), Some(Inst::new(3))];
            let changed = compiled.with_work(|inst| if ends.contains(&inst) { 0.25 } else { 1.0 });
            let pipes: Vec<Pipe> = changed.code.blocks[block].iter().map(|issue| issue.pipe).collect();
            assert_eq!(pipes, order);
        }
    }

    /// A number that goes into memory and comes back may decide a branch, through an image as through a buffer.
    #[test]
    fn what_is_stored_comes_back_from_any_memory() {
        let kernel = |memory: &str, store: &str, load: &str| {
            let text = format!(
                "tripipe-ir 1\nkernel \"k\" {{\n  {memory}\n  parameter \"n\" \"int\" value i32\n  const %2: i32 = 0\n  \
                 const %3: i32x2 = 0 0\n  const %8: i32x4 = 0 0 0 0\nb0(%0: {}, %1: i32):\n  %4: i32x4 = construct %1, %1, %1, %1\n  {store}\n  \
                 {load}\n  %6: i32 = extract.0 %5\n  %7: bool = slt %2, %6\n  branch %7, b1, b2\nb1:\n  return\nb2:\n  \
                 return\n}}\n",
                if memory.contains("image") { "image.2d.rw" } else { "ptr.global" }
            );
            tripipe_ir::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
        };
        let buffer = "parameter \"m\" \"int4*\" pointer global align 16 to i32x4";
        let image = "parameter \"m\" \"image2d_t\" value image.2d.rw";
        let stored = kernel(buffer, "store.16 %0, %4", "%5: i32x4 = load.16 %0");
        let written = kernel(image, "imagewrite %0, %3, %4", "%5: i32x4 = imageread %0, %3");
        for module in [stored, written] {
            assert!(depends_on_argument(&module.kernels[0], 1));
        }
        // What is not stored is not read.
        let read = kernel(image, "imagewrite %0, %3, %8", "%5: i32x4 = imageread %0, %3");
        assert!(!depends_on_argument(&read.kernels[0], 1));
    }
}
