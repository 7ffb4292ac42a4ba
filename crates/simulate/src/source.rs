//! Source locations.

use tripipe_ir::diagnostic::SourceLocation;
use tripipe_ir::{Inst, Kernel, Module};

/// The source location of an instruction.
pub(crate) fn location_of(module: &Module, kernel: &Kernel, inst: Inst) -> Option<SourceLocation> {
    let location = kernel.locations.get(kernel.insts.get(inst)?.location?)?;
    Some(SourceLocation {
        file: module.files.get(location.file)?.to_string(),
        line: location.line,
        column: location.column,
    })
}
