//! Whether a kernel has a pattern.

use tripipe_device::drivers::Pattern;
use tripipe_ir::op::Binary;
use tripipe_ir::{ImageDim, Inst, Kernel, Op, Scalar, Space, Type, Value};

use super::Subject;
use super::function;

/// The instructions that a part of a pattern is about; none if it is about the whole kernel. `None`: the kernel does not
/// have it.
pub(super) fn places(part: &Pattern, subject: &Subject<'_>) -> Option<Vec<Inst>> {
    let Subject { module, kernel, options } = *subject;
    let whole = |is_there: bool| is_there.then(Vec::new);
    let each = |is_meant: &dyn Fn(Inst) -> bool| {
        let insts = kernel.blocks.values().flat_map(|block| block.insts.iter().copied());
        let found: Vec<Inst> = insts.filter(|inst| is_meant(*inst)).collect();
        (!found.is_empty()).then_some(found)
    };
    match part {
        Pattern::Function { names, of, vector, number } => each(&|inst| {
            function::name(kernel, inst).is_some_and(|name| names.iter().any(|wanted| is_like(&name, wanted)))
                && of.as_ref().is_none_or(|of| has_operand_of(kernel, inst, of))
                && (!vector || result(kernel, inst).is_some_and(|ty| ty.lanes() > 1))
                && number.as_ref().is_none_or(|number| computes_with(kernel, inst, number))
        }),
        Pattern::Kernel(names) => whole(names.iter().any(|wanted| is_like(&kernel.name, wanted))),
        Pattern::Kernels { count, instructions } => {
            let own = |kernel: &Kernel| kernel.blocks.values().map(|block| block.insts.len()).sum::<usize>();
            let all = module.kernels.iter().map(own).sum::<usize>();
            whole(module.kernels.len() >= *count && all >= *instructions)
        }
        Pattern::Arithmetic(number) => each(&|inst| {
            let op = kernel.insts[inst].op;
            let is_arithmetic = matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Builtin(_));
            is_arithmetic && computes_with(kernel, inst, number)
        }),
        Pattern::Image { kind, is_written } => each(&|inst| {
            let data = &kernel.insts[inst];
            let is_meant = match data.op {
                Op::ImageWrite { .. } => *is_written,
                Op::ImageRead { .. } | Op::ImageSample(_) => !is_written,
                _ => false,
            };
            is_meant && data.operands.first().is_some_and(|image| is_image(kernel.ty(*image), kind))
        }),
        Pattern::Attribute(name) => whole(match name.as_str() {
            "reqd_work_group_size" => kernel.required_local_size.is_some(),
            _ => kernel.required_sub_group_share.is_some(),
        }),
        Pattern::PointerAsInteger => each(&|inst| match kernel.insts[inst].op {
            Op::PointerToInt => !is_only_compared(kernel, inst),
            op => matches!(op, Op::IntToPointer),
        }),
        Pattern::PointerComparison => each(&|inst| {
            let data = &kernel.insts[inst];
            matches!(data.op, Op::Compare(_))
                && data.operands.first().is_some_and(|value| is_address(kernel, *value))
        }),
        Pattern::Narrowed(bits) => each(&|inst| is_part_of_wider(kernel, inst, *bits)),
        Pattern::ConstantBytes(most) => {
            let constants = module.objects.values().filter(|object| object.space == Space::Constant);
            whole(constants.map(tripipe_ir::ObjectData::bytes).sum::<u64>() > *most)
        }
        Pattern::BuildOption(option) => whole(options.contains(option)),
    }
}

/// Whether a name is the wanted one, in which `*` at the start or the end stands for the rest.
fn is_like(name: &str, wanted: &str) -> bool {
    match (wanted.strip_prefix('*'), wanted.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(start)) => name.starts_with(start),
        _ => name == wanted,
    }
}

fn result(kernel: &Kernel, inst: Inst) -> Option<Type> {
    kernel.insts[inst].result.map(|result| kernel.ty(result))
}

/// The scalar of a type's name in OpenCL C.
fn scalar(number: &str) -> Option<Scalar> {
    Some(match number {
        "half" => Scalar::F16,
        "float" => Scalar::F32,
        "double" => Scalar::F64,
        "char" => Scalar::I8,
        "short" => Scalar::I16,
        "int" => Scalar::I32,
        "long" => Scalar::I64,
        _ => return None,
    })
}

/// Whether the first operand or the result are numbers of a type.
fn computes_with(kernel: &Kernel, inst: Inst, number: &str) -> bool {
    let data = &kernel.insts[inst];
    let mut values = data.operands.first().into_iter().chain(&data.result);
    values.any(|value| scalar(number).is_some() && kernel.ty(*value).scalar() == scalar(number))
}

/// Whether an operand is the result of a function, perhaps converted.
fn has_operand_of(kernel: &Kernel, inst: Inst, of: &str) -> bool {
    kernel.insts[inst].operands.iter().any(|operand| {
        let from = before_conversions(kernel, *operand);
        let name = kernel.defining(from).and_then(|inst| function::name(kernel, inst));
        name.is_some_and(|name| is_like(&name, of))
    })
}

fn before_conversions(kernel: &Kernel, mut value: Value) -> Value {
    while let Some(inst) = kernel.defining(value)
        && let Op::Convert(_) = kernel.insts[inst].op
        && let Some(from) = kernel.insts[inst].operands.first()
    {
        value = *from;
    }
    value
}

fn is_image(ty: Type, kind: &str) -> bool {
    let Type::Image(image) = ty else { return false };
    let (dim, array) = match kind {
        "1d" => (ImageDim::D1, false),
        "1d-array" => (ImageDim::D1, true),
        "1d-buffer" => (ImageDim::Buffer, false),
        "2d" => (ImageDim::D2, false),
        "2d-array" => (ImageDim::D2, true),
        _ => (ImageDim::D3, false),
    };
    image.dim == dim && image.array == array
}

/// Whether a value is a pointer, or the number that the compiler makes of one to compare it.
fn is_address(kernel: &Kernel, value: Value) -> bool {
    let is_number =
        || kernel.defining(value).is_some_and(|inst| matches!(kernel.insts[inst].op, Op::PointerToInt));
    kernel.ty(value).is_pointer() || is_number()
}

fn is_only_compared(kernel: &Kernel, inst: Inst) -> bool {
    let Some(number) = kernel.insts[inst].result else { return false };
    let insts = kernel.blocks.values().flat_map(|block| &block.insts).map(|inst| &kernel.insts[*inst]);
    let mut users = insts.filter(|data| data.operands.contains(&number)).peekable();
    users.peek().is_some() && users.all(|data| matches!(data.op, Op::Compare(_)))
}

/// Whether an instruction makes a wider integer, by a sum or bits, of one that was computed, narrowed to `bits` bits, not
/// loaded, and widened again.
fn is_part_of_wider(kernel: &Kernel, inst: Inst, bits: u32) -> bool {
    let data = &kernel.insts[inst];
    let combines = matches!(data.op, Op::Binary(Binary::Or | Binary::Add | Binary::Xor));
    let is_narrowed = |value: &Value| {
        let Some(mut widened) = kernel.defining(*value) else { return false };
        if let Op::Binary(Binary::Shl) = kernel.insts[widened].op {
            let Some(shifted) = kernel.defining(kernel.insts[widened].operands[0]) else { return false };
            widened = shifted;
        }
        let widening = &kernel.insts[widened];
        let Some(mask) = mask_of(kernel, widened, bits) else { return false };
        let from = if mask { widening.operands[0] } else { before_conversions(kernel, widening.operands[0]) };
        kernel.defining(from).is_some_and(|inst| {
            matches!(kernel.insts[inst].op, Op::Binary(Binary::Or | Binary::Shl | Binary::Add | Binary::Xor))
        })
    };
    combines && data.operands.iter().any(is_narrowed)
}

/// Whether an instruction keeps the low bits of an integer alone, and if so, whether it does by a mask: otherwise it widens a
/// narrowed one.
fn mask_of(kernel: &Kernel, inst: Inst, bits: u32) -> Option<bool> {
    let data = &kernel.insts[inst];
    match (data.op, &data.operands[..]) {
        (Op::Binary(Binary::And), [_, mask]) => {
            (kernel.constant(*mask)?.iter().all(|lane| *lane == (1 << bits) - 1)).then_some(true)
        }
        (Op::Convert(_), [narrow]) => {
            let narrow = kernel.ty(*narrow);
            (narrow.is_int() && narrow.scalar()?.bits() == bits && result(kernel, inst)?.is_int())
                .then_some(false)
        }
        _ => None,
    }
}
