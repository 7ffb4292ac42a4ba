//! What compilers make of a kernel, kept: GPUs with one compiler and one register file share it.

use std::cell::RefCell;
use std::rc::Rc;

use tripipe_device::Gpu;
use tripipe_ir::Kernel;
use tripipe_machine::{Code, compile, same_code};

/// Kernels with what was made of them.
#[derive(Default)]
pub(crate) struct Codes {
    kernels: RefCell<Vec<(Kernel, Made)>>,
}

/// For one GPU of each compiler what it has made.
type Made = Vec<(&'static Gpu, Rc<Code>)>;

impl Codes {
    /// What the GPU's compiler makes of the kernel.
    pub(crate) fn get(&self, kernel: &Kernel, gpu: &'static Gpu) -> Rc<Code> {
        let mut kernels = self.kernels.borrow_mut();
        let at = kernels.iter().position(|known| known.0 == *kernel).unwrap_or(kernels.len());
        if at == kernels.len() {
            kernels.push((kernel.clone(), Vec::new()));
        }
        let made = &mut kernels[at].1;
        if let Some((_, code)) = made.iter().find(|(other, _)| same_code(other, gpu)) {
            return Rc::clone(code);
        }
        let code = Rc::new(compile(kernel, gpu));
        made.push((gpu, Rc::clone(&code)));
        code
    }
}
