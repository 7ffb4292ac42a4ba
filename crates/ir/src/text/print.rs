//! Printing.

use std::fmt::{self, Display, Write as _};

use half::f16;

use crate::{
    BlockCall, Initial, Instruction, Kernel, Location, Module, ObjectData, ParameterKind, Scalar,
    TerminatorKind, Type, Value, ValueDef,
};

impl Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tripipe-ir 1")?;
        for (file, name) in &self.files {
            writeln!(f, "{file} {}", quoted(name))?;
        }
        for (object, data) in &self.objects {
            write!(f, "object {object} ")?;
            object_data(f, data)?;
        }
        self.kernels.iter().try_for_each(|kernel| write!(f, "{kernel}"))
    }
}

impl Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel {} {{", quoted(&self.name))?;
        for (name, size) in
            [("local_size", self.required_local_size), ("local_size_hint", self.local_size_hint)]
        {
            if let Some([x, y, z]) = size {
                writeln!(f, "  {name} {x} {y} {z}")?;
            }
        }
        if let Some(ty) = self.vector_hint {
            writeln!(f, "  vector_hint {ty}")?;
        }
        if let Some(size) = self.required_sub_group_size {
            writeln!(f, "  sub_group_size {size}")?;
        }
        if let Some(share) = self.required_sub_group_share {
            writeln!(f, "  sub_group_share {}", share.name())?;
        }
        for parameter in &self.parameters {
            write!(f, "  parameter {} {} ", quoted(&parameter.name), quoted(&parameter.type_name))?;
            parameter_kind(f, &parameter.kind)?;
        }
        for (location, data) in &self.locations {
            write!(f, "  place {location} {} {} {}", data.file, data.line, data.column)?;
            if let Some(outer) = data.inlined_at {
                write!(f, " {outer}")?;
            }
            writeln!(f)?;
        }
        for (object, data) in &self.objects {
            write!(f, "  object {object} ")?;
            object_data(f, data)?;
        }
        for format in &self.formats {
            writeln!(f, "  format {}", quoted(format))?;
        }
        for (value, data) in &self.values {
            if let ValueDef::Constant(lanes) = &data.def {
                write!(f, "  const {value}: {} =", data.ty)?;
                for bits in lanes {
                    write!(f, " {}", literal(data.ty, *bits))?;
                }
                writeln!(f)?;
            }
        }
        for (block, data) in &self.blocks {
            write!(f, "{block}")?;
            for (position, value) in data.parameters.iter().enumerate() {
                write!(f, "{}", if position == 0 { "(" } else { ", " })?;
                definition(f, self, *value)?;
            }
            writeln!(f, "{}:", if data.parameters.is_empty() { "" } else { ")" })?;
            for inst in &data.insts {
                instruction(f, self, &self.insts[*inst])?;
            }
            write!(f, "  ")?;
            terminator(f, &data.terminator.kind)?;
            location(f, data.terminator.location)?;
        }
        writeln!(f, "}}")
    }
}

fn location(f: &mut fmt::Formatter<'_>, location: Option<Location>) -> fmt::Result {
    match location {
        Some(location) => writeln!(f, " {location}"),
        None => writeln!(f),
    }
}

fn definition(f: &mut fmt::Formatter<'_>, kernel: &Kernel, value: Value) -> fmt::Result {
    write!(f, "{value}")?;
    if let Some(name) = &kernel.names[value] {
        write!(f, " {}", quoted(name))?;
    }
    write!(f, ": {}", kernel.ty(value))
}

/// One line: result, operation, flags, operands, place.
fn instruction(f: &mut fmt::Formatter<'_>, kernel: &Kernel, inst: &Instruction) -> fmt::Result {
    write!(f, "  ")?;
    if let Some(result) = inst.result {
        definition(f, kernel, result)?;
        write!(f, " = ")?;
    }
    write!(f, "{}", inst.op)?;
    if !inst.flags.is_empty() {
        write!(f, " [{}]", inst.flags)?;
    }
    for (position, operand) in inst.operands.iter().enumerate() {
        write!(f, "{}{operand}", if position == 0 { " " } else { ", " })?;
    }
    location(f, inst.location)
}

fn terminator(f: &mut fmt::Formatter<'_>, kind: &TerminatorKind) -> fmt::Result {
    match kind {
        TerminatorKind::Jump(call) => write!(f, "jump {}", Call(call)),
        TerminatorKind::Branch { condition, then, otherwise } => {
            write!(f, "branch {condition}, {}, {}", Call(then), Call(otherwise))
        }
        TerminatorKind::Switch { selector, cases, default } => {
            write!(f, "switch {selector}")?;
            for (value, call) in cases {
                write!(f, ", {value} {}", Call(call))?;
            }
            write!(f, ", else {}", Call(default))
        }
        TerminatorKind::Return => write!(f, "return"),
        TerminatorKind::Unreachable => write!(f, "unreachable"),
    }
}

struct Call<'a>(&'a BlockCall);

impl Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.block)?;
        for (position, argument) in self.0.arguments.iter().enumerate() {
            write!(f, "{}{argument}", if position == 0 { "(" } else { ", " })?;
        }
        f.write_str(if self.0.arguments.is_empty() { "" } else { ")" })
    }
}

fn parameter_kind(f: &mut fmt::Formatter<'_>, kind: &ParameterKind) -> fmt::Result {
    match kind {
        ParameterKind::Value(ty) => writeln!(f, "value {ty}"),
        ParameterKind::Struct { object } => writeln!(f, "struct {object}"),
        ParameterKind::Pointer { space, pointee, align, read_only, restrict, volatile } => {
            write!(f, "pointer {} align {align}", space.name())?;
            for (set, name) in [(read_only, "const"), (restrict, "restrict"), (volatile, "volatile")] {
                if *set {
                    write!(f, " {name}")?;
                }
            }
            writeln!(f, " to {pointee}")
        }
    }
}

fn object_data(f: &mut fmt::Formatter<'_>, data: &ObjectData) -> fmt::Result {
    write!(f, "{} {} align {} {} ", quoted(&data.name), data.space.name(), data.align, data.layout)?;
    match &data.initial {
        Initial::Unwritten => writeln!(f, "unwritten"),
        Initial::Zero => writeln!(f, "zero"),
        Initial::Argument(index) => writeln!(f, "argument {index}"),
        Initial::Bytes { bytes, relocations } => {
            let mut text = String::with_capacity(bytes.len() * 2);
            for byte in &**bytes {
                let _ = write!(text, "{byte:02x}");
            }
            write!(f, "bytes x{text}")?;
            for relocation in &**relocations {
                write!(f, " {} {} {}", relocation.offset, relocation.object, relocation.addend)?;
            }
            writeln!(f)
        }
    }
}

/// A lane of a constant: decimal where that is exact, otherwise `x` and its bits.
fn literal(ty: Type, bits: u64) -> String {
    match ty.scalar() {
        Some(scalar) if scalar.is_int() => scalar.to_i64(bits).to_string(),
        Some(Scalar::F16) if f16::from_bits(bits as u16).is_finite() => {
            format!("{:?}", f16::from_bits(bits as u16).to_f32())
        }
        Some(Scalar::F32) if f32::from_bits(bits as u32).is_finite() => {
            format!("{:?}", f32::from_bits(bits as u32))
        }
        Some(Scalar::F64) if f64::from_bits(bits).is_finite() => format!("{:?}", f64::from_bits(bits)),
        Some(Scalar::Bool) => (bits != 0).to_string(),
        _ => format!("x{bits:x}"),
    }
}

/// A string in quotes; backslash, quote and unprintable characters are escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\{{{:x}}}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
