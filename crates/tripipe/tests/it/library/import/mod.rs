//! Imported memory: an application's own OpenCL buffers and host memory on the first device, and memory that requires
//! an extension on the stand-in driver, each case in its own process.
#![allow(
    unsafe_code,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests; an application vouches for what it imports, and raw OpenCL objects are what is imported"
)]

#[cfg(target_os = "linux")]
pub(crate) mod extensions;

use std::ffi::c_void;

use crate::raw;
use opencl_sys::cl_mem_flags;
use tripipe::{Context, Device, Error, ErrorKind, Extents, Vector};
use tripipe_opencl::memory::{External, HostMemory};
use tripipe_opencl::{CacheChoice, ExecutorOptions, OpenClExecutor, devices};

/// The first OpenCL device, if there is one; `TRIPIPE_REQUIRE_OPENCL=1` requires one.
fn device() -> Option<tripipe_opencl::Device> {
    match devices() {
        Ok(devices) => devices.into_iter().next(),
        Err(error) => {
            let required = std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_some_and(|value| value == "1");
            assert!(!required, "TRIPIPE_REQUIRE_OPENCL=1, but {error}");
            eprintln!("skipped: no OpenCL device: {error}");
            None
        }
    }
}

fn options() -> ExecutorOptions {
    ExecutorOptions::default().cache(CacheChoice::Off)
}

/// A context on the first device, without a cache.
fn context() -> Option<Context> {
    Some(Context::builder().build_over(OpenClExecutor::new(&device()?, &options()).unwrap()).unwrap())
}

/// An application that uses OpenCL itself: its own context, queue and buffers.
struct Application {
    context: *mut c_void,
    device: *mut c_void,
    queue: *mut c_void,
}

impl Application {
    /// On the first device, in the driver's numbering.
    fn new() -> Option<Self> {
        device()?;
        let device = raw::first_device();
        let context = raw::context(device);
        let queue = raw::queue(context, device, false);
        Some(Self { context, device, queue })
    }

    /// A context of the library over this one.
    fn shared(&self) -> Context {
        // SAFETY: both are live.
        let context = unsafe { tripipe_opencl::Context::over(self.context, self.device) }.unwrap();
        Context::builder().build_over(OpenClExecutor::over(&context, &options()).unwrap()).unwrap()
    }

    fn buffer(&self, flags: cl_mem_flags, values: &mut [f32]) -> *mut c_void {
        raw::buffer(self.context, flags, values)
    }

    fn read(&self, buffer: *mut c_void, count: usize) -> Vec<f32> {
        raw::read(self.queue, buffer, count)
    }

    fn write(&self, buffer: *mut c_void, values: &[f32]) {
        raw::write(self.queue, buffer, values);
    }
}

/// The buffer as external memory to import.
fn external(buffer: *mut c_void) -> External {
    // SAFETY: it is live, and the application and the library wait for each other.
    unsafe { External::buffer(buffer) }.unwrap()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, words: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
}

#[test]
fn an_applications_buffer_is_the_vectors_memory() {
    let Some(application) = Application::new() else { return };
    let context = application.shared();
    let buffer = application.buffer(opencl_sys::CL_MEM_READ_WRITE, &mut [1.0, 2.0, 3.0, 4.0]);
    let mut vector = Vector::<f32>::import(&context, external(buffer), 4).unwrap();
    assert_eq!(vector.to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    // Each reads what the other writes, and kernels use it.
    application.write(buffer, &[5.0, 6.0, 7.0, 8.0]);
    assert_eq!(vector.to_vec().unwrap(), [5.0, 6.0, 7.0, 8.0]);
    vector.write(&[1.0, 1.0, 2.0, 2.0]).unwrap();
    assert_eq!(application.read(buffer, 4), [1.0, 1.0, 2.0, 2.0]);
    vector.map_mut(|values| values[3] = -1.0).unwrap();
    assert_eq!(application.read(buffer, 4), [1.0, 1.0, 2.0, -1.0]);
    let x = Vector::from_slice(&context, &[10.0, 20.0, 30.0, 40.0]).unwrap();
    vector.add_scaled(0.5, &x).unwrap().wait().unwrap();
    assert_eq!(application.read(buffer, 4), [6.0, 11.0, 17.0, 19.0]);
    // A copy is independent.
    let copy = vector.to_context(&context).unwrap();
    context.finish().unwrap();
    application.write(buffer, &[0.0; 4]);
    assert_eq!(copy.to_vec().unwrap(), [6.0, 11.0, 17.0, 19.0]);
    assert_eq!(vector.to_vec().unwrap(), [0.0; 4]);
}

#[test]
fn an_applications_buffer_lives_as_long_as_either_needs_it() {
    let Some(application) = Application::new() else { return };
    let context = application.shared();
    let buffer = application.buffer(opencl_sys::CL_MEM_READ_WRITE, &mut [1.0, 2.0, 3.0, 4.0]);
    let vector = Vector::<f32>::import(&context, external(buffer), 4).unwrap();
    assert_eq!(raw::references(buffer), 2);
    // The matrix refers to the memory too.
    let matrix = vector.share().into_matrix(Extents::new(2, 2)).unwrap();
    drop(vector);
    assert_eq!(raw::references(buffer), 2);
    drop(matrix);
    assert_eq!(raw::references(buffer), 1);
    // The application releases it first, and its context too.
    let vector = Vector::<f32>::import(&context, external(buffer), 4).unwrap();
    drop(context);
    raw::release_buffer(buffer);
    raw::release_queue(application.queue);
    raw::release_context(application.context);
    assert_eq!(vector.to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn an_applications_buffer_that_does_not_fit_is_refused() {
    let Some(application) = Application::new() else { return };
    let context = application.shared();
    let buffer = application.buffer(opencl_sys::CL_MEM_READ_WRITE, &mut [1.0, 2.0, 3.0]);
    let import = |context: &Context, length| Vector::<f32>::import(context, external(buffer), length);
    refused(import(&context, 4), "bytes 16 to 16 are not inside an object of 12");
    refused(import(&context, usize::MAX), "do not fit into memory");
    refused(Vector::<f32>::import(&self::context().unwrap(), external(buffer), 3), "another context");
    let constant = application.buffer(opencl_sys::CL_MEM_READ_ONLY, &mut [1.0]);
    refused(Vector::<f32>::import(&context, external(constant), 1), "was not made for");
    // No references to these remain.
    assert_eq!((raw::references(buffer), raw::references(constant)), (1, 1));
    // A length below the actual one is accepted, down to zero.
    assert_eq!(import(&context, 2).unwrap().to_vec().unwrap(), [1.0, 2.0]);
    assert!(import(&context, 0).unwrap().to_vec().unwrap().is_empty());
    // The CPU path cannot import it.
    let cpu = Context::new(&Device::Cpu).unwrap();
    refused(import(&cpu, 3), "does not support imported memory");
    refused(
        Vector::<u8>::import(&cpu, External::host(HostMemory::zeroed(8).unwrap()), 8),
        "does not support",
    );
    assert_eq!(raw::references(buffer), 1);
}

#[test]
fn one_buffer_imported_twice_is_one_memory() {
    let Some(application) = Application::new() else { return };
    let context = application.shared();
    let buffer = application.buffer(opencl_sys::CL_MEM_READ_WRITE, &mut [1.0; 1024]);
    let import = |buffer, length| Vector::<f32>::import(&context, external(buffer), length).unwrap();
    // The result of an operation may not be one of its operands, whatever the handle.
    let (first, mut again) = (import(buffer, 1024), import(buffer, 1024));
    let error = again.add_scaled(2.0, &first).unwrap_err();
    assert!(error.kind() == ErrorKind::Aliased, "{error}");
    // Parts of one buffer overlap only where their bytes do.
    let (low, high) = (raw::part(buffer, 0, 2048), raw::part(buffer, 2048, 2048));
    let (low, mut high) = (import(low, 512), import(high, 512));
    high.add_scaled(2.0, &low).unwrap().wait().unwrap();
    assert_eq!(high.to_vec().unwrap(), [3.0; 512]);
    let middle = import(raw::part(buffer, 1024, 2048), 512);
    let error = high.add_scaled(2.0, &middle).unwrap_err();
    assert!(error.kind() == ErrorKind::Aliased, "{error}");
    // Slices of the same bytes are not lent twice either.
    let within = again.map_mut(|_| first.map(|_| ()).is_err()).unwrap();
    assert!(within, "one handle was written while the other was read");
}

#[test]
fn host_memory_becomes_a_vector_without_a_copy() {
    let Some(context) = context() else { return };
    let mut memory = HostMemory::zeroed(4096).unwrap();
    memory[4..8].copy_from_slice(&2.5f32.to_ne_bytes());
    let address = memory.as_ptr() as usize;
    let mut vector = Vector::<f32>::import(&context, External::host(memory), 1024).unwrap();
    assert_eq!(vector.to_vec().unwrap()[..3], [0.0, 2.5, 0.0]);
    let x = Vector::from_slice(&context, &[2.0f32; 1024]).unwrap();
    vector.add_scaled(2.0, &x).unwrap().wait().unwrap();
    vector.map_mut(|values| values[0] += 0.5).unwrap();
    let (at, first) = vector.map(|values| (values.as_ptr() as usize, values[..3].to_vec())).unwrap();
    assert_eq!(first, [4.5, 6.5, 4.0]);
    // PoCL's devices run in this memory; others may make a copy.
    if context.probe().is_some_and(|probe| probe.platform.contains("Portable Computing Language")) {
        assert_eq!(at, address);
    }
    let short = External::host(HostMemory::zeroed(15).unwrap());
    refused(Vector::<f32>::import(&context, short, 4), "bytes 16 to 16 are not inside an object of 15");
}
