//! The driver as an application has it: the library is loaded, and called through its dispatch table.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::unused_self, reason = "tests")]
#![allow(clippy::macro_metavars_in_unsafe, reason = "the tests are about unsafe calls")]

use std::ffi::{OsStr, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::{LazyLock, OnceLock};

use libloading::Library;
use opencl_sys::cl_icd::cl_icd_dispatch;
use opencl_sys::{
    CL_DEVICE_TYPE_ALL, CL_SUCCESS, cl_command_queue, cl_context, cl_device_id, cl_int, cl_kernel, cl_mem,
    cl_platform_id, cl_program, cl_uint,
};

/// The variable that makes a test the application of another process.
pub const ROLE: &str = "TRIPIPE_ICD_TEST_ROLE";

/// Runs a test again in a process of its own with some variables, as the driver and the loader read them once. Returns what
/// that process wrote to the standard error; `None` in that process itself.
pub fn again<V: AsRef<OsStr>>(test: &str, variables: &[(&str, V)]) -> Option<String> {
    if std::env::var_os(ROLE).is_some() {
        return None;
    }
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ROLE, "1")
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    let printed = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && printed.contains("1 passed"), "{printed}{said}");
    Some(said)
}

/// The library, which cargo builds for tests.
pub fn library() -> PathBuf {
    built("tripipe_icd")
}

/// A library that cargo builds for tests: beside them, or one folder up.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let name = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let found = [deps.join(&name), deps.parent().unwrap().join(&name)];
    let newest = found.into_iter().filter(|path| path.exists());
    newest
        .max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
        .unwrap_or_else(|| panic!("{name} is not in {}", deps.display()))
}

static PLATFORM: LazyLock<usize> = LazyLock::new(|| {
    // SAFETY: the library has no constructors, and the function has the signature of the ICD extension.
    unsafe {
        let library = Box::leak(Box::new(Library::new(library()).unwrap()));
        let list: libloading::Symbol<
            '_,
            unsafe extern "C" fn(cl_uint, *mut cl_platform_id, *mut cl_uint) -> cl_int,
        > = library.get(b"clIcdGetPlatformIDsKHR\0").unwrap();
        let (mut platform, mut count) = (null_mut(), 0);
        assert_eq!((list(1, &raw mut platform, &raw mut count), count), (CL_SUCCESS, 1));
        platform as usize
    }
});

/// The platform.
pub fn platform() -> cl_platform_id {
    *PLATFORM as cl_platform_id
}

/// The dispatch table of a layer over the driver, if calls go through one.
pub static LAYER: OnceLock<&'static cl_icd_dispatch> = OnceLock::new();

/// The dispatch table that calls go through: the one that the platform points to, or that of the layer.
pub fn table() -> &'static cl_icd_dispatch {
    LAYER.get().copied().unwrap_or_else(driver)
}

/// The dispatch table of the driver, to which the platform points.
pub fn driver() -> &'static cl_icd_dispatch {
    // SAFETY: a handle begins with the address of the table, which lives as long as the library.
    unsafe { *platform().cast::<&'static cl_icd_dispatch>() }
}

/// Calls a function of the API.
#[macro_export]
macro_rules! cl {
    ($name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the arguments are valid, or the test is about those that are not.
        unsafe { $crate::support::table().$name.unwrap()($($argument),*) }
    };
}

/// Calls a function that returns an object, which has to succeed.
#[macro_export]
macro_rules! made {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let mut code = 1;
        let object = $crate::cl!($name($($argument,)* &raw mut code));
        assert_eq!(code, opencl_sys::CL_SUCCESS, stringify!($name));
        object
    }};
}

/// The error code of a function that returns an object, which has to fail.
#[macro_export]
macro_rules! refused {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let mut code = 1;
        let object = $crate::cl!($name($($argument,)* &raw mut code));
        assert!(object.is_null(), stringify!($name));
        code
    }};
}

/// A context with one device and a queue.
pub struct Application {
    pub device: cl_device_id,
    pub context: cl_context,
    pub queue: cl_command_queue,
}

/// A device, a context, and a queue with these properties.
pub fn application(properties: u64) -> Application {
    let mut device = null_mut();
    let found = cl!(clGetDeviceIDs(platform(), CL_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut()));
    assert_eq!(found, CL_SUCCESS);
    let context = made!(clCreateContext(std::ptr::null(), 1, &raw const device, None, null_mut()));
    let queue = made!(clCreateCommandQueue(context, device, properties));
    Application { device, context, queue }
}

impl Application {
    /// A program from source, not built.
    pub fn program(&self, source: &str) -> cl_program {
        let (mut text, length) = (source.as_ptr().cast(), source.len());
        made!(clCreateProgramWithSource(self.context, 1, &raw mut text, &raw const length))
    }

    /// A kernel of a program that is built.
    pub fn kernel(&self, source: &str, name: &str) -> cl_kernel {
        let program = self.program(source);
        let built = cl!(clBuildProgram(program, 0, std::ptr::null(), std::ptr::null(), None, null_mut()));
        assert_eq!(built, CL_SUCCESS, "{}", self.log(program));
        let name = std::ffi::CString::new(name).unwrap();
        made!(clCreateKernel(program, name.as_ptr()))
    }

    /// The build log of a program.
    pub fn log(&self, program: cl_program) -> String {
        text(|size, value, size_ret| {
            cl!(clGetProgramBuildInfo(
                program,
                self.device,
                opencl_sys::CL_PROGRAM_BUILD_LOG,
                size,
                value,
                size_ret
            ))
        })
    }

    /// A buffer.
    pub fn buffer<T: bytemuck::Pod>(&self, flags: u64, contents: &[T]) -> cl_mem {
        let flags = flags | opencl_sys::CL_MEM_COPY_HOST_PTR;
        made!(clCreateBuffer(self.context, flags, size_of_val(contents), contents.as_ptr() as *mut c_void))
    }

    /// All numbers of a buffer.
    pub fn read<T: bytemuck::Pod>(&self, buffer: cl_mem, count: usize) -> Vec<T> {
        let mut numbers = vec![T::zeroed(); count];
        let (bytes, to) = (size_of_val(&numbers[..]), numbers.as_mut_ptr().cast());
        let read =
            cl!(clEnqueueReadBuffer(self.queue, buffer, 1, 0, bytes, to, 0, std::ptr::null(), null_mut()));
        assert_eq!(read, CL_SUCCESS);
        numbers
    }

    /// Sets an argument to a value.
    pub fn set<T>(&self, kernel: cl_kernel, index: u32, value: &T) {
        let set = cl!(clSetKernelArg(kernel, index, size_of::<T>(), std::ptr::from_ref(value).cast()));
        assert_eq!(set, CL_SUCCESS, "argument {index}");
    }

    /// Runs a kernel over a range of one dimension.
    pub fn run(&self, kernel: cl_kernel, global: usize) {
        assert_eq!(self.enqueue(kernel, global), CL_SUCCESS);
        assert_eq!(cl!(clFinish(self.queue)), CL_SUCCESS);
    }

    /// The code that a launch of `global` work-items gets.
    pub fn enqueue(&self, kernel: cl_kernel, global: usize) -> cl_int {
        let (sizes, events) = (std::ptr::null(), std::ptr::null());
        let global = &raw const global;
        cl!(clEnqueueNDRangeKernel(self.queue, kernel, 1, sizes, global, sizes, 0, events, null_mut()))
    }
}

/// The text that a query answers.
pub fn text(ask: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> String {
    let mut size = 0;
    assert_eq!(ask(0, null_mut(), &raw mut size), CL_SUCCESS);
    let mut bytes = vec![0u8; size];
    assert_eq!(ask(size, bytes.as_mut_ptr().cast(), null_mut()), CL_SUCCESS);
    assert_eq!(bytes.pop(), Some(0));
    String::from_utf8(bytes).unwrap()
}

/// The number that a query answers.
pub fn number<T: bytemuck::Pod>(ask: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> T {
    let (mut value, mut size) = (T::zeroed(), 0);
    assert_eq!(ask(size_of::<T>(), (&raw mut value).cast(), &raw mut size), CL_SUCCESS);
    assert_eq!(size, size_of::<T>());
    value
}
