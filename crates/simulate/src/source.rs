//! Source locations.

use tripipe_ir::diagnostic::SourcePlace;
use tripipe_ir::{Inst, Kernel, Module};

/// The source location of an instruction.
pub(crate) fn place_of(module: &Module, kernel: &Kernel, inst: Inst) -> Option<SourcePlace> {
    let place = kernel.places.get(kernel.insts.get(inst)?.place?)?;
    Some(SourcePlace {
        file: module.files.get(place.file)?.to_string(),
        line: place.line,
        column: place.column,
    })
}
