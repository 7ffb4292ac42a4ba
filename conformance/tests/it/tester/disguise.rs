//! The simulator with a phone's probe, so that the library chooses its kernels for phones.

use tripipe_conformance::phone::mali_g610;
use tripipe_device::Probe;
use tripipe_launch::{Executor, Intercept, Layer};
use tripipe_simulate::Simulator;

/// A simulator that presents itself as another device.
pub type Disguised = Layer<Simulator, Disguise>;

/// The probe that it presents.
pub struct Disguise(Probe);

/// A Mali with warps.
pub fn mali(inner: Simulator) -> Disguised {
    Layer::new(inner, Disguise(mali_g610()))
}

/// A Mali with vector units.
pub fn midgard(inner: Simulator) -> Disguised {
    let probe = Probe {
        name: "Mali-T860 r2p0".to_owned(),
        version: "OpenCL 1.2 v1.r14p0".to_owned(),
        extensions: vec!["cl_khr_fp16".to_owned(), "cl_khr_image2d_from_buffer".to_owned()],
        opencl_c: (1, 2),
        max_work_group_size: 256,
        ..mali_g610()
    };
    Layer::new(inner, Disguise(probe))
}

/// An Adreno, which has dedicated local memory.
pub fn adreno(inner: Simulator) -> Disguised {
    let probe = Probe {
        platform: "QUALCOMM Snapdragon(TM)".to_owned(),
        vendor: "QUALCOMM".to_owned(),
        name: "QUALCOMM Adreno(TM)".to_owned(),
        version: "OpenCL 2.0 Adreno(TM) 640".to_owned(),
        extensions: vec!["cl_khr_fp16".to_owned(), "cl_khr_image2d_from_buffer".to_owned()],
        local_memory_dedicated: true,
        non_uniform_work_groups: true,
        ..mali_g610()
    };
    Layer::new(inner, Disguise(probe))
}

impl<E: Executor> Intercept<E> for Disguise {
    fn probe<'p>(&'p self, _: &'p E) -> &'p Probe {
        &self.0
    }
}
