//! Cached compiler output of a kernel: GPUs with the same compiler and register file share it.

use std::cell::RefCell;
use std::rc::Rc;

use tripipe_device::Gpu;
use tripipe_ir::Kernel;
use tripipe_machine::{Code, compile, same_code};

/// Kernels with their compiled code.
#[derive(Default)]
pub(crate) struct Codes {
    kernels: RefCell<Vec<(Kernel, CodeByGpu)>>,
}

/// The compiled code for one GPU of each compiler.
type CodeByGpu = Vec<(&'static Gpu, Rc<Code>)>;

impl Codes {
    /// The kernel's code from the GPU's compiler.
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
