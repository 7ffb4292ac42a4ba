//! The simulator with a phone's probe, so that the library chooses its kernels for phones.

use std::sync::Arc;

use tripipe_conformance::phone::mali_g610;
use tripipe_device::Probe;
use tripipe_launch::{
    Access, ExecuteError, Executor, ImageShape, KernelFacts, Launch, MemoryId, MemoryKind, Program, Timing,
};
use tripipe_simulate::Simulator;

/// A simulator that presents itself as another device.
pub struct Disguised {
    inner: Simulator,
    probe: Probe,
}

impl Disguised {
    /// A Mali with warps.
    pub fn mali(inner: Simulator) -> Self {
        Self { inner, probe: mali_g610() }
    }

    /// A Mali with vector units.
    pub fn midgard(inner: Simulator) -> Self {
        let name = "Mali-T860 r2p0".to_owned();
        let version = "OpenCL 1.2 v1.r14p0".to_owned();
        let extensions = vec!["cl_khr_fp16".to_owned(), "cl_khr_image2d_from_buffer".to_owned()];
        Self {
            inner,
            probe: Probe {
                name,
                version,
                extensions,
                opencl_c: (1, 2),
                max_work_group_size: 256,
                ..mali_g610()
            },
        }
    }

    /// An Adreno, which has dedicated local memory.
    pub fn adreno(inner: Simulator) -> Self {
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
        Self { inner, probe }
    }
}

impl Executor for Disguised {
    fn probe(&self) -> &Probe {
        &self.probe
    }

    fn allocate(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        self.inner.allocate(kind, access, initial)
    }

    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        self.inner.image_over_buffer(buffer, shape, row_pitch_bytes)
    }

    fn release(&mut self, memory: MemoryId) -> Result<(), ExecuteError> {
        self.inner.release(memory)
    }

    fn write(&mut self, memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError> {
        self.inner.write(memory, offset, bytes)
    }

    fn read(&mut self, memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError> {
        self.inner.read(memory, offset, into)
    }

    fn prepare(&mut self, program: &Arc<Program>, entry: &str) -> Result<KernelFacts, ExecuteError> {
        self.inner.prepare(program, entry)
    }

    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        self.inner.run(launches)
    }
}
