//! Verifies and cleans a translated kernel.

use super::options::Options;
use crate::diagnostic::{LoadError, SourceLocation, SpirvLocation};
use crate::{Kernel, Module, Op, Type, transform, verify};

/// Verifies and cleans a kernel as soon as it is translated, so that only one kernel at a time has its full size.
pub(super) fn finish(kernel: &mut Kernel, module: &Module, options: &Options) -> Result<(), LoadError> {
    let check = |kernel: &Kernel| {
        verify::verify_kernel(kernel, &module.objects)
            .map_err(|error| LoadError::Inconsistent { kernel: kernel.name.clone(), error })
    };
    check(kernel)?;
    transform::run(kernel, &options.transform);
    check(kernel)?;
    if options.transform.promote { refuse_handles_in_memory(kernel, module) } else { Ok(()) }
}

/// Images and samplers have no bytes: a variable that holds one must have become a value.
fn refuse_handles_in_memory(kernel: &Kernel, module: &Module) -> Result<(), LoadError> {
    for inst in kernel.blocks.values().flat_map(|block| &block.insts) {
        let inst = &kernel.insts[*inst];
        let value = match inst.op {
            Op::Load(_) => inst.result,
            Op::Store(_) => inst.operands.get(1).copied(),
            _ => None,
        };
        if !value.is_some_and(|value| matches!(kernel.ty(value), Type::Image(_) | Type::Sampler)) {
            continue;
        }
        let source =
            inst.location.map(|location| kernel.locations[location]).map(|location| SourceLocation {
                file: module.files[location.file].to_string(),
                line: location.line,
                column: location.column,
            });
        let opcode = if inst.result.is_some() { "OpLoad" } else { "OpStore" };
        let location = SpirvLocation {
            opcode: opcode.into(),
            kernel: kernel.name.clone(),
            source,
            ..SpirvLocation::default()
        };
        let feature = "an image or sampler in an array or behind a pointer".into();
        return Err(LoadError::Unsupported { location: Box::new(location), feature });
    }
    Ok(())
}
