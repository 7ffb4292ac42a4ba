//! The virtual GPUs of a context.

use std::sync::{Arc, Mutex};

use opencl_sys as cl;
use tripipe_launch::locks::lock;
use tripipe_launch::{ExecuteError, Executor as _, MemoryId, Program};
use tripipe_timing::{VirtualGpu, VirtualOptions};

use super::device::Device;
use super::failure::{Failure, Outcome};
use super::settings::{Execute, Settings};

/// The virtual GPUs of a context, one for each device that was used.
pub struct Engine {
    slots: Vec<Slot>,
}

/// A device, and its virtual GPU once it was used.
struct Slot {
    device: Arc<Device>,
    gpu: Mutex<Option<VirtualGpu>>,
    /// What the GPU no longer needs.
    released: Mutex<Released>,
}

#[derive(Default)]
struct Released {
    /// Whether there is a GPU to release something of.
    used: bool,
    memory: Vec<MemoryId>,
    programs: Vec<Arc<Program>>,
}

impl Engine {
    /// An engine for devices.
    pub fn new(devices: &[Arc<Device>]) -> Self {
        let slot = |device: &Arc<Device>| Slot {
            device: Arc::clone(device),
            gpu: Mutex::default(),
            released: Mutex::default(),
        };
        Self { slots: devices.iter().map(slot).collect() }
    }

    /// Calls `with` with the virtual GPU of a device, one caller at a time.
    ///
    /// # Errors
    /// Another context's device; those of `with`.
    pub fn with<R>(&self, device: &Device, with: impl FnOnce(&mut VirtualGpu) -> Outcome<R>) -> Outcome<R> {
        let found = self.slots.iter().find(|slot| slot.device.index == device.index);
        let slot = found.ok_or_else(|| {
            Failure::new(
                cl::CL_INVALID_DEVICE,
                format!("{} is not a device of the context", device.gpu.name()),
            )
        })?;
        let mut gpu = lock(&slot.gpu);
        let gpu = gpu.get_or_insert_with(|| {
            let settings = Settings::current();
            let options = VirtualOptions {
                time_only: settings.execute != Execute::All,
                tolerant: !settings.check,
                inject: settings.inject,
                ..VirtualOptions::default()
            };
            VirtualGpu::new(device.gpu, options)
        });
        let released =
            std::mem::replace(&mut *lock(&slot.released), Released { used: true, ..Released::default() });
        for memory in released.memory {
            // It is the GPU's own object, which nothing else releases.
            let _ = gpu.release(memory);
        }
        for program in released.programs {
            gpu.release_program(&program);
        }
        with(gpu)
    }

    /// Takes memory of all devices for an object.
    ///
    /// # Errors
    /// One has not as much left.
    pub fn allocate(&self, bytes: usize) -> Outcome<()> {
        for (index, slot) in self.slots.iter().enumerate() {
            if let Err(failure) = slot.device.allocate(bytes as u64) {
                self.slots[..index].iter().for_each(|slot| slot.device.release(bytes as u64));
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Gives back memory of all devices.
    pub fn release(&self, bytes: usize) {
        self.slots.iter().for_each(|slot| slot.device.release(bytes as u64));
    }

    /// Notes a memory object to release before the next use of its device.
    pub fn release_later(&self, device: usize, memory: MemoryId) {
        if let Some(slot) = self.slots.iter().find(|slot| slot.device.index == device) {
            lock(&slot.released).memory.push(memory);
        }
    }

    /// Notes a program whose built parts the devices release before their next use.
    pub fn release_program_later(&self, program: &Arc<Program>) {
        for slot in &self.slots {
            let mut released = lock(&slot.released);
            if released.used {
                released.programs.push(Arc::clone(program));
            }
        }
    }
}

/// The code of the API for an executor's error.
pub fn failure(error: &ExecuteError) -> Failure {
    let code = match error {
        ExecuteError::Build { .. } => cl::CL_BUILD_PROGRAM_FAILURE,
        ExecuteError::NoSuchKernel { .. } => cl::CL_INVALID_KERNEL_NAME,
        ExecuteError::ArgumentCount { .. } | ExecuteError::Argument { .. } | ExecuteError::Operand { .. } => {
            cl::CL_INVALID_KERNEL_ARGS
        }
        ExecuteError::Range { .. } => cl::CL_INVALID_WORK_GROUP_SIZE,
        ExecuteError::Memory { .. } => cl::CL_INVALID_MEM_OBJECT,
        _ => cl::CL_OUT_OF_RESOURCES,
    };
    Failure::new(code, error.to_string())
}
