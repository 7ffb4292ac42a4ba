//! Transforming a kernel does not change its results: each kernel runs as translated and as transformed, one work-item
//! at a time in a simple interpreter, on the same memory, and must leave the same bytes. Every integer on the way must
//! be in the range that the range analysis predicts.

use std::collections::HashMap;

use tripipe_ir::flow::{Cfg, Dominators, Loops, Ranges};
use tripipe_ir::front::spirv::{Options, load};
use tripipe_ir::op::{Address, Builtin, Number, QueryKind, Rounding, Unary};
use tripipe_ir::transform::{self, fold};
use tripipe_ir::{
    BlockCall, Initial, Inst, Kernel, Module, ObjectData, Op, ParameterKind, Scalar, Space, TerminatorKind,
    Type, Value, ValueDef,
};

use crate::support;

type Lanes = Vec<u64>;

/// An operation that the interpreter does not support ends a run.
type Run<T> = Result<T, String>;

struct Machine<'m> {
    module: &'m Module,
    kernel: &'m Kernel,
    /// Segments of memory: an address is the segment's number times 2^32 plus an offset.
    memory: Vec<Vec<u8>>,
    values: HashMap<Value, Lanes>,
    objects: HashMap<tripipe_ir::Object, u64>,
    program: HashMap<tripipe_ir::ProgramObject, u64>,
    ranges: Ranges,
    steps: u32,
}

const ARGUMENT_BYTES: usize = 4096;

fn run(module: &Module, kernel: &Kernel, seed: u8) -> Run<Vec<Vec<u8>>> {
    let cfg = Cfg::new(kernel);
    let dominators = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &dominators);
    let mut machine = Machine {
        module,
        kernel,
        ranges: Ranges::new(kernel, &cfg, &dominators, &loops, &|_| None),
        memory: vec![Vec::new()],
        values: HashMap::new(),
        objects: HashMap::new(),
        program: HashMap::new(),
        steps: 0,
    };
    let mut state = u32::from(seed) + 1;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Small numbers: loops end, and indices stay inside.
        (state >> 24) as u8 & 7
    };
    for (object, data) in &module.objects {
        let at = machine.object(data);
        machine.program.insert(object, at);
    }
    for (object, data) in &module.objects {
        if let Initial::Bytes { relocations, .. } = &data.initial {
            for relocation in &**relocations {
                let to = machine.program[&relocation.object].wrapping_add_signed(relocation.addend);
                machine.store(machine.program[&object] + relocation.offset, &to.to_le_bytes())?;
            }
        }
    }
    let entry = &kernel.blocks[Kernel::ENTRY];
    for (value, parameter) in entry.parameters.iter().zip(&kernel.parameters) {
        let lanes = match &parameter.kind {
            ParameterKind::Pointer { space, .. } => {
                let fill = |_| if *space == Space::Local { 1 } else { next() };
                // Every fourth byte, so that 32-bit numbers are small too.
                let bytes = (0..ARGUMENT_BYTES)
                    .map(fill)
                    .enumerate()
                    .map(|(at, byte)| if at % 4 == 0 { byte } else { 0 });
                machine.memory.push(bytes.collect());
                vec![((machine.memory.len() as u64) - 1) << 32]
            }
            ParameterKind::Value(ty) if ty.scalar().is_some() => {
                (0..ty.lanes()).map(|_| u64::from(next())).collect()
            }
            ParameterKind::Value(ty) => return Err(format!("an argument of type {ty}")),
            ParameterKind::Struct { object } => {
                let at = machine.object(&kernel.objects[*object]);
                let bytes: Vec<u8> = (0..kernel.objects[*object].bytes()).map(|_| next()).collect();
                machine.store(at, &bytes)?;
                machine.objects.insert(*object, at);
                vec![at]
            }
        };
        machine.values.insert(*value, lanes);
    }
    let visible = machine.memory.len();
    for (object, data) in &kernel.objects {
        if !machine.objects.contains_key(&object) {
            let at = machine.object(data);
            machine.objects.insert(object, at);
        }
    }
    machine.go()?;
    machine.memory.truncate(visible);
    // A struct assignment need not copy the padding between the fields, so it is not compared.
    for (value, parameter) in entry.parameters.iter().zip(&kernel.parameters) {
        if let ParameterKind::Pointer { pointee, .. } = &parameter.kind {
            let segment = (machine.value(*value)[0] >> 32) as usize;
            let mut kept = vec![false; pointee.bytes() as usize];
            pointee.leaves(0, &mut |at, ty| {
                kept[at as usize..at as usize + ty.bytes() as usize].fill(true);
                true
            });
            for (at, byte) in machine.memory[segment].iter_mut().enumerate() {
                if kept.get(at % kept.len().max(1)) == Some(&false) {
                    *byte = 0;
                }
            }
        }
    }
    Ok(machine.memory)
}

impl Machine<'_> {
    fn object(&mut self, data: &ObjectData) -> u64 {
        self.memory.push(match &data.initial {
            Initial::Bytes { bytes, .. } => bytes.to_vec(),
            _ => vec![0; data.bytes() as usize],
        });
        ((self.memory.len() as u64) - 1) << 32
    }

    fn bytes(&mut self, at: u64, count: usize) -> Run<&mut [u8]> {
        let (segment, offset) = ((at >> 32) as usize, (at & 0xFFFF_FFFF) as usize);
        self.memory
            .get_mut(segment)
            .and_then(|bytes| bytes.get_mut(offset..offset + count))
            .ok_or_else(|| format!("out of bounds: {at:x}"))
    }

    fn store(&mut self, at: u64, bytes: &[u8]) -> Run<()> {
        self.bytes(at, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    fn value(&self, value: Value) -> Lanes {
        match &self.kernel.values[value].def {
            ValueDef::Constant(lanes) => lanes.to_vec(),
            _ => self.values[&value].clone(),
        }
    }

    /// Stores a value, which must be in its range.
    fn put(&mut self, value: Value, lanes: Lanes) {
        if let Some(scalar) = self.kernel.ty(value).scalar().filter(|scalar| scalar.is_int()) {
            let range = self.ranges.get(self.kernel, value).expect("it runs");
            for lane in &lanes {
                let number = scalar.to_i64(*lane);
                assert!(
                    range.contains(number),
                    "{}: {value} is {number}, not in {range:?}",
                    self.kernel.name
                );
            }
        }
        self.values.insert(value, lanes);
    }

    fn go(&mut self) -> Run<()> {
        let mut block = Kernel::ENTRY;
        loop {
            for inst in &self.kernel.blocks[block].insts {
                self.steps += 1;
                if self.steps > 100_000 {
                    return Err("endless".into());
                }
                self.instruction(*inst)?;
            }
            self.steps += 1;
            let call: &BlockCall =
                match &self.kernel.blocks[block].terminator.kind {
                    TerminatorKind::Return => return Ok(()),
                    TerminatorKind::Unreachable => return Err("unreachable".into()),
                    TerminatorKind::Jump(call) => call,
                    TerminatorKind::Branch { condition, then, otherwise } => {
                        if self.value(*condition)[0] != 0 { then } else { otherwise }
                    }
                    TerminatorKind::Switch { selector, cases, default } => {
                        let bits = self.value(*selector)[0];
                        cases.iter().find(|case| case.0 == bits).map_or(default, |case| &case.1)
                    }
                };
            let arguments: Vec<Lanes> = call.arguments.iter().map(|value| self.value(*value)).collect();
            for (parameter, lanes) in self.kernel.blocks[call.block].parameters.iter().zip(arguments) {
                self.put(*parameter, lanes);
            }
            block = call.block;
            if self.steps > 100_000 {
                return Err("endless".into());
            }
        }
    }

    fn instruction(&mut self, inst: Inst) -> Run<()> {
        let inst = &self.kernel.insts[inst];
        let operands: Vec<Lanes> = inst.operands.iter().map(|value| self.value(*value)).collect();
        let types: Vec<Type> = inst.operands.iter().map(|value| self.kernel.ty(*value)).collect();
        let Some(result) = inst.result else { return self.effect(inst.op, &operands, &types) };
        let ty = self.kernel.ty(result);
        let lanes = self.compute(inst.op, &operands, &types, ty)?;
        assert_eq!(lanes.len(), usize::from(ty.lanes()), "{}", inst.op);
        self.put(result, lanes);
        Ok(())
    }

    fn effect(&mut self, op: Op, operands: &[Lanes], types: &[Type]) -> Run<()> {
        match op {
            Op::Store(_) => {
                let bytes = encoded(&operands[1], types[1]);
                self.store(operands[0][0], &bytes)
            }
            Op::Copy(_) => {
                let bytes = self.bytes(operands[1][0], operands[2][0] as usize)?.to_vec();
                self.store(operands[0][0], &bytes)
            }
            Op::LifetimeStart(_)
            | Op::LifetimeEnd(_)
            | Op::Barrier { .. }
            | Op::Fence { .. }
            | Op::Printf(_) => Ok(()),
            other => Err(other.to_string()),
        }
    }

    fn compute(&mut self, op: Op, operands: &[Lanes], types: &[Type], ty: Type) -> Run<Lanes> {
        let refused = || op.to_string();
        let scalar = ty.scalar().unwrap_or(Scalar::I64);
        Ok(match op {
            Op::Binary(op) => {
                let lane = |(a, b): (&u64, &u64)| fold::binary(op, scalar, *a, *b).ok_or_else(refused);
                operands[0].iter().zip(&operands[1]).map(lane).collect::<Run<_>>()?
            }
            Op::Compare(op) => {
                let scalar = types[0].scalar().unwrap_or(Scalar::I64);
                let lane = |(a, b): (&u64, &u64)| {
                    fold::compare(op, scalar, *a, *b).map(u64::from).ok_or_else(refused)
                };
                operands[0].iter().zip(&operands[1]).map(lane).collect::<Run<_>>()?
            }
            Op::Unary(op) => {
                if let Unary::Any | Unary::All = op {
                    let any = op == Unary::Any;
                    let truth = if any {
                        operands[0].iter().any(|a| *a != 0)
                    } else {
                        operands[0].iter().all(|a| *a != 0)
                    };
                    return Ok(vec![u64::from(truth)]);
                }
                let lane = |a: &u64| {
                    Ok(scalar.mask()
                        & match op {
                            Unary::Neg => a.wrapping_neg(),
                            Unary::Not => !a,
                            Unary::FNeg => a ^ (1 << (scalar.bits() - 1)),
                            Unary::PopCount => u64::from(a.count_ones()),
                            _ => return Err(refused()),
                        })
                };
                operands[0].iter().map(lane).collect::<Run<_>>()?
            }
            Op::Select => {
                let pick = |lane: usize| {
                    let condition = operands[0].get(lane).unwrap_or(&operands[0][0]);
                    operands[if *condition == 0 { 2 } else { 1 }][lane]
                };
                (0..usize::from(ty.lanes())).map(pick).collect()
            }
            Op::Convert(convert) => {
                let from = types[0].scalar().unwrap();
                let lane = |bits: &u64| match fold::convert(convert, from, scalar, *bits) {
                    Some(bits) => Ok(bits),
                    // Saturation of integers, which constant folding does not handle.
                    None if convert.saturate && from.is_int() && scalar.is_int() => {
                        let value = if convert.from == Number::Signed {
                            i128::from(from.to_i64(*bits))
                        } else {
                            i128::from(*bits)
                        };
                        let (least, most) = if convert.to == Number::Signed {
                            (-(1_i128 << (scalar.bits() - 1)), (1_i128 << (scalar.bits() - 1)) - 1)
                        } else {
                            (0, (1_i128 << scalar.bits()) - 1)
                        };
                        Ok(value.clamp(least, most) as u64 & scalar.mask())
                    }
                    None if convert.rounding != Rounding::Nearest => Err(refused()),
                    None => Err(refused()),
                };
                operands[0].iter().map(lane).collect::<Run<_>>()?
            }
            Op::Bitcast => decoded(&encoded(&operands[0], types[0]), ty),
            Op::PointerToInt | Op::IntToPointer | Op::SpaceCast { checked: false } => operands[0].clone(),
            Op::Construct => operands.iter().map(|lanes| lanes[0]).collect(),
            Op::Extract(lane) => vec![operands[0][usize::from(lane)]],
            Op::Insert(lane) => {
                let mut lanes = operands[0].clone();
                lanes[usize::from(lane)] = operands[1][0];
                lanes
            }
            Op::ExtractDynamic => vec![*operands[0].get(operands[1][0] as usize).ok_or_else(refused)?],
            Op::InsertDynamic => {
                let mut lanes = operands[0].clone();
                *lanes.get_mut(operands[2][0] as usize).ok_or_else(refused)? = operands[1][0];
                lanes
            }
            Op::Shuffle(mask) => {
                let both: Lanes = operands[0].iter().chain(&operands[1]).copied().collect();
                mask.lanes().map(|lane| lane.map_or(0, |lane| both[usize::from(lane)])).collect()
            }
            Op::Undefined => vec![0; usize::from(ty.lanes())],
            Op::ObjectAddress(object) => vec![self.objects[&object]],
            Op::ProgramAddress(object) => vec![self.program[&object]],
            Op::Address(Address { stride, offset, .. }) => {
                let index = operands.get(1).map_or(0, |index| types[1].scalar().unwrap().to_i64(index[0]));
                let moved = index.cast_unsigned().wrapping_mul(stride).wrapping_add_signed(offset);
                vec![operands[0][0].wrapping_add(moved)]
            }
            Op::Load(_) => {
                let bytes = self.bytes(operands[0][0], ty.bytes() as usize)?.to_vec();
                decoded(&bytes, ty)
            }
            Op::Query(query) => match query.kind {
                QueryKind::GlobalId => vec![u64::from(query.dimension) + 1],
                // Inside the group, if the kernel specifies its size.
                QueryKind::LocalId => {
                    let required =
                        self.kernel.required_local_size.map(|size| size[usize::from(query.dimension)]);
                    let id = u64::from(query.dimension) + 1;
                    vec![required.map_or(id, |size| id.min(u64::from(size) - 1))]
                }
                QueryKind::GlobalSize | QueryKind::LocalSize => vec![4],
                _ if ty.lanes() == 1 => vec![1],
                _ => return Err(refused()),
            },
            Op::Builtin(builtin) => {
                let wide = |lane: usize, operand: usize| i128::from(scalar.to_i64(operands[operand][lane]));
                let lane = |lane: usize| {
                    let bits = match builtin {
                        Builtin::SMin => wide(lane, 0).min(wide(lane, 1)),
                        Builtin::SMax => wide(lane, 0).max(wide(lane, 1)),
                        Builtin::SClamp => wide(lane, 0).max(wide(lane, 1)).min(wide(lane, 2)),
                        Builtin::SAbsDiff => (wide(lane, 0) - wide(lane, 1)).abs(),
                        _ => return Err(refused()),
                    };
                    Ok(bits as u64 & scalar.mask())
                };
                (0..usize::from(ty.lanes())).map(lane).collect::<Run<_>>()?
            }
            _ => {
                let _ = self.module;
                return Err(refused());
            }
        })
    }
}

fn encoded(lanes: &[u64], ty: Type) -> Vec<u8> {
    let bytes = ty.scalar().map_or(8, Scalar::bytes) as usize;
    lanes.iter().flat_map(|lane| lane.to_le_bytes()[..bytes].to_vec()).collect()
}

fn decoded(bytes: &[u8], ty: Type) -> Lanes {
    let size = ty.scalar().map_or(8, Scalar::bytes) as usize;
    bytes
        .chunks(size)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        })
        .collect()
}

#[test]
fn transformed_kernels_mean_the_same() {
    let plain = Options {
        transform: transform::Options { promote: false, simplify: false, remove_dead_loads: false },
        ..Options::default()
    };
    let lean = Options {
        transform: transform::Options { remove_dead_loads: true, ..transform::Options::default() },
        ..Options::default()
    };
    let (mut compared, mut skipped) = (0, Vec::new());
    let folders = ["tests/cover", "tests/files", "../kernels/src", "../ladders/src"];
    for path in folders.into_iter().flat_map(support::sources) {
        let Some(built) = support::build(&path) else { return };
        let modules =
            [&plain, &Options::default(), &lean].map(|options| load(&built.spirv, options).unwrap());
        for index in 0..modules[0].kernels.len() {
            for seed in 0..3 {
                let runs = modules.each_ref().map(|module| run(module, &module.kernels[index], seed));
                let name = &modules[0].kernels[index].name;
                match runs {
                    [Ok(first), Ok(second), Ok(third)] => {
                        assert!(
                            first == second && first == third,
                            "{}: {name} with seed {seed}",
                            path.display()
                        );
                        compared += 1;
                    }
                    // An out-of-bounds access or an unsupported operation: all versions have it, or none.
                    [Err(reason), ..] => skipped.push(format!("{name}: {reason}")),
                    [Ok(_), Err(reason), _] | [Ok(_), _, Err(reason)] => {
                        panic!("{}: {name} with seed {seed}, transformed, {reason}", path.display())
                    }
                }
            }
        }
    }
    println!("{compared} runs compared; not run: {skipped:#?}");
    assert!(compared > 400, "{compared} runs compared; not run: {skipped:#?}");
}
