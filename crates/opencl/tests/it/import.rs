//! Imported memory: OpenCL buffers on the first device, the vendors' extensions on the stand-in driver, each case in a
//! separate process.

#![allow(unsafe_code, reason = "tests; raw OpenCL objects are what is imported")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use tripipe_launch::{
    Access, Argument, ExecuteError, Executor, Launch, MemoryId, MemoryKind, NdRange, Program,
};
use tripipe_opencl::memory::{External, HostMemory};
use tripipe_opencl::{CacheChoice, Context, ExecutorOptions, OpenClExecutor};

use crate::{raw, support};

fn options() -> ExecutorOptions {
    ExecutorOptions::default().cache(CacheChoice::Off)
}

/// Adds `by` to `len` numbers of `memory`.
fn add(executor: &mut OpenClExecutor, memory: MemoryId, by: i32, len: usize) -> Result<(), ExecuteError> {
    let source = "kernel void add(global int *all, int by) { all[get_global_id(0)] += by; }";
    let launch = Launch {
        program: Arc::new(Program::from_source("add.cl", source)),
        entry: "add".to_owned(),
        arguments: vec![Argument::Memory(memory), by.into()],
        range: NdRange::d1(len),
    };
    executor.run(&[launch]).map(drop)
}

fn read(executor: &mut OpenClExecutor, memory: MemoryId, len: usize) -> Vec<i32> {
    let mut bytes = vec![0; 4 * len];
    executor.read(memory, 0, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|b| i32::from_ne_bytes(b.try_into().unwrap())).collect()
}

/// A context and its buffers, made as by another user of OpenCL.
struct Other {
    context: *mut c_void,
    device: *mut c_void,
}

impl Other {
    fn new() -> Option<Self> {
        support::device()?;
        let device = raw::first_device();
        Some(Self { context: raw::context(device), device })
    }

    fn buffer(&self, flags: u64, values: &mut [i32]) -> *mut c_void {
        raw::buffer(self.context, flags, values)
    }
}

#[test]
fn a_buffer_of_another_user_is_used_in_its_own_context_only() {
    let Some(other) = Other::new() else { return };
    let buffer = other.buffer(opencl_sys::CL_MEM_READ_WRITE, &mut [1, 2, 3]);
    // SAFETY: both are live.
    let context = unsafe { Context::over(other.context, other.device) }.unwrap();
    let mut executor = OpenClExecutor::over(&context, &options()).unwrap();
    // SAFETY: live, and not used elsewhere.
    let external = || unsafe { External::buffer(buffer) }.unwrap();
    let memory = executor.import(external(), Access::ReadWrite).unwrap();
    assert_eq!(raw::references(buffer), 2);
    add(&mut executor, memory, 10, 3).unwrap();
    assert_eq!(read(&mut executor, memory, 3), [11, 12, 13]);
    executor.write(memory, 4, &7i32.to_ne_bytes()).unwrap();
    assert_eq!(read(&mut executor, memory, 3), [11, 7, 13]);
    let error = executor.read(memory, 8, &mut [0; 5]).unwrap_err();
    assert!(error.to_string().contains("object of 12"), "{error}");

    let mut elsewhere = support::executor().unwrap();
    let error = elsewhere.import(external(), Access::ReadWrite).unwrap_err();
    assert!(error.to_string().contains("another context"), "{error}");

    // The other user releases it first.
    executor.release(memory).unwrap();
    assert_eq!(raw::references(buffer), 1);
    let memory = executor.import(external(), Access::Read).unwrap();
    raw::release_buffer(buffer);
    assert_eq!(read(&mut executor, memory, 3), [11, 7, 13]);
    drop((executor, elsewhere, context));
    raw::release_context(other.context);
}

#[test]
fn a_buffer_is_used_as_it_was_made_for() {
    let Some(other) = Other::new() else { return };
    // SAFETY: both are live.
    let context = unsafe { Context::over(other.context, other.device) }.unwrap();
    let mut executor = OpenClExecutor::over(&context, &options()).unwrap();
    for (flags, fits, not) in [
        (opencl_sys::CL_MEM_READ_ONLY, Access::Read, Access::Write),
        (opencl_sys::CL_MEM_WRITE_ONLY, Access::Write, Access::ReadWrite),
    ] {
        let buffer = other.buffer(flags, &mut [5]);
        // SAFETY: live, and not used elsewhere.
        let external = || unsafe { External::buffer(buffer) }.unwrap();
        assert!(executor.import(external(), fits).is_ok());
        let error = executor.import(external(), not).unwrap_err();
        assert!(error.to_string().contains("was not made for"), "{error}");
    }
    // SAFETY: null is rejected without access; an unknown device id is only compared.
    let nothing = unsafe { Context::over(other.context, null_mut()) }.unwrap_err();
    assert!(nothing.to_string().contains("not among those found"), "{nothing}");
}

#[test]
fn host_memory_is_used_in_place() {
    let Some(mut executor) = support::executor() else { return };
    let mut memory = HostMemory::zeroed(8192).unwrap();
    memory[..8].copy_from_slice(&[1i32.to_ne_bytes(), 2i32.to_ne_bytes()].concat());
    let address = memory.as_ptr() as usize;
    let memory = executor.import(External::host(memory), Access::ReadWrite).unwrap();
    add(&mut executor, memory, 5, 2048).unwrap();
    assert_eq!(read(&mut executor, memory, 3), [6, 7, 5]);
    let mut seen = 0;
    executor
        .with_bytes(memory, 4..8, &mut |bytes| {
            seen = bytes.as_ptr() as usize;
            assert_eq!(bytes, 7i32.to_ne_bytes());
        })
        .unwrap();
    // PoCL's devices use this memory directly; others may make a copy.
    if executor.probe().platform.contains("Portable Computing Language") {
        assert_eq!(seen, address + 4);
    }
    executor.release(memory).unwrap();
}

#[cfg(target_os = "linux")]
mod extensions {
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::process::Command;
    use std::ptr::NonNull;

    use tripipe_opencl::devices;
    use tripipe_opencl::memory::DmaBuf;

    use super::*;
    use crate::stand_in;

    const ROLE: &str = "TRIPIPE_TEST_CHILD";

    fn executor() -> OpenClExecutor {
        OpenClExecutor::new(&devices().unwrap()[0], &options()).unwrap()
    }

    /// Number of memory objects of the stand-in driver that remain.
    fn buffers() -> usize {
        // SAFETY: the library is loaded already, and the function is the stand-in's own.
        unsafe {
            let library = libloading::Library::new(std::env::var_os("TRIPIPE_OPENCL").unwrap()).unwrap();
            library.get::<extern "C" fn() -> usize>(b"stand_in_buffers\0").unwrap()()
        }
    }

    fn is_open(fd: i32) -> bool {
        std::fs::symlink_metadata(format!("/proc/self/fd/{fd}")).is_ok()
    }

    /// A file instead of a dma-buf: the stand-in accepts it, the kernel's request for host access does not.
    fn file(bytes: u64) -> (OwnedFd, i32) {
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes).unwrap();
        let fd = OwnedFd::from(file);
        let number = fd.as_raw_fd();
        (fd, number)
    }

    fn import_dma_buf() -> String {
        let mut executor = executor();
        let (fd, number) = file(4096);
        let dma_buf = DmaBuf::new(fd, 4000).unwrap();
        let memory = match executor.import(dma_buf.clone().into(), Access::ReadWrite) {
            Ok(memory) => memory,
            Err(error) => {
                drop(dma_buf);
                assert!(!is_open(number) && buffers() == 0);
                return error.to_string();
            }
        };
        assert_eq!(buffers(), 1);
        add(&mut executor, memory, 1, 1000).unwrap();
        // Host access goes through the kernel, which rejects a file that is not a dma-buf.
        let error = executor.read(memory, 0, &mut [0; 4]).unwrap_err();
        assert!(error.to_string().contains("DMA_BUF_IOCTL_SYNC"), "{error}");
        let error = executor.write(memory, 0, &[0; 4]).unwrap_err();
        assert!(error.to_string().contains("DMA_BUF_IOCTL_SYNC"), "{error}");
        let past = executor.read(memory, 3999, &mut [0; 2]).unwrap_err();
        assert!(past.to_string().contains("object of 4000"), "{past}");

        drop(dma_buf);
        assert!(is_open(number), "the object still needs it");
        executor.release(memory).unwrap();
        assert_eq!(buffers(), 0);
        assert!(!is_open(number), "nobody needs it any more");
        // A new file with the same descriptor number must not be closed.
        let (next, again) = file(1);
        assert_eq!(again, number);
        drop(executor);
        assert!(is_open(again));
        drop(next);
        "imported".to_owned()
    }

    fn import_padded() -> String {
        let mut executor = executor();
        let dma_buf = DmaBuf::new(file(4096).0, 4096).unwrap();
        match executor.import(dma_buf.into(), Access::ReadWrite) {
            Ok(_) => "imported".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn import_hardware_buffer() -> String {
        let mut executor = executor();
        let mut own = 0u64;
        // SAFETY: the stand-in does not access the hardware buffer.
        let external = unsafe { External::hardware_buffer(NonNull::from(&mut own).cast(), 64) };
        let memory = match executor.import(external, Access::Read) {
            Ok(memory) => memory,
            Err(error) => return error.to_string(),
        };
        add(&mut executor, memory, 1, 16).unwrap();
        let read = executor.read(memory, 0, &mut [0; 4]);
        executor.release(memory).unwrap();
        assert_eq!(buffers(), 0);
        read.map_or_else(|error| error.to_string(), |()| "imported and read".to_owned())
    }

    fn import_host() -> String {
        let mut executor = executor();
        let mut memory = HostMemory::zeroed(64).unwrap();
        memory[5] = 9;
        let address = memory.as_ptr() as usize;
        let memory = match executor.import(External::host(memory), Access::ReadWrite) {
            Ok(memory) => memory,
            Err(error) => {
                assert_eq!(buffers(), 0);
                return error.to_string();
            }
        };
        let mut seen = 0;
        executor
            .with_bytes_mut(memory, 4..8, &mut |bytes| {
                seen = bytes.as_ptr() as usize;
                assert_eq!(bytes, [0, 9, 0, 0]);
                bytes[0] = 1;
            })
            .unwrap();
        assert_eq!(seen, address + 4);
        executor.write(memory, 6, &[2]).unwrap();
        let mut found = [0; 4];
        executor.read(memory, 4, &mut found).unwrap();
        assert_eq!(found, [1, 9, 2, 0]);
        let whole =
            executor.import(External::host(HostMemory::zeroed(64).unwrap()), Access::ReadWrite).unwrap();
        executor.copy(memory, 4, whole, 60, 4).unwrap();
        executor.read(whole, 60, &mut found).unwrap();
        assert_eq!(found, [1, 9, 2, 0]);
        executor.release(memory).unwrap();
        executor.release(whole).unwrap();
        assert_eq!(buffers(), 0);
        "imported".to_owned()
    }

    /// An out-of-memory error counts allocated memory, not memory that was imported and released.
    fn import_and_run_out() -> String {
        let mut executor = executor();
        let own = executor.allocate(&MemoryKind::Buffer { bytes: 64 }, Access::ReadWrite, None).unwrap();
        let host = External::host(HostMemory::zeroed(48).unwrap());
        let memory = executor.import(host, Access::ReadWrite).unwrap();
        executor.release(memory).unwrap();
        add(&mut executor, own, 1, 16).unwrap_err().to_string()
    }

    /// Not a test of its own: the code that the children run.
    #[test]
    fn child() {
        let Some(role) = std::env::var_os(ROLE) else { return };
        let outcome = match role.to_str().unwrap() {
            "dma-buf" => import_dma_buf(),
            "padded" => import_padded(),
            "hardware-buffer" => import_hardware_buffer(),
            "host" => import_host(),
            "out-of-memory" => import_and_run_out(),
            other => panic!("{other}"),
        };
        println!("outcome: {outcome}");
    }

    #[track_caller]
    fn outcome(role: &str, extensions: &str, mode: &str) -> String {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["import::extensions::child", "--exact", "--nocapture"])
            .env(ROLE, role)
            .env("TRIPIPE_OPENCL", stand_in::stand_in())
            .env("TRIPIPE_STAND_IN", mode)
            .env("TRIPIPE_STAND_IN_EXTENSIONS", extensions)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let (_, outcome) = text.split_once("outcome: ").unwrap_or_else(|| panic!("{text}"));
        outcome.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn dma_bufs() {
        for extensions in [
            "cl_arm_import_memory cl_arm_import_memory_dma_buf",
            "cl_qcom_ext_host_ptr cl_qcom_dmabuf_host_ptr",
            "cl_qcom_ext_host_ptr cl_qcom_ion_host_ptr",
        ] {
            assert_eq!(outcome("dma-buf", extensions, ""), "imported", "{extensions}");
        }
        for extensions in ["", "cl_arm_import_memory cl_arm_import_memory_host", "cl_qcom_dmabuf_host_ptr"] {
            let said = outcome("dma-buf", extensions, "");
            for wanted in
                ["cl_arm_import_memory_dma_buf", "cl_qcom_dmabuf_host_ptr", "Stand-In GPU does not support"]
            {
                assert!(said.contains(wanted), "{said}");
            }
        }
        // The object is released and the descriptor closed; the child checks this.
        let said = outcome("dma-buf", "cl_arm_import_memory cl_arm_import_memory_dma_buf", "refuse-callback");
        assert!(said.contains("clSetMemObjectDestructorCallback"), "{said}");
    }

    #[test]
    fn adreno_requires_padding_after_the_bytes() {
        assert_eq!(outcome("padded", "cl_arm_import_memory cl_arm_import_memory_dma_buf", ""), "imported");
        let said = outcome("padded", "cl_qcom_ext_host_ptr cl_qcom_dmabuf_host_ptr", "");
        assert!(said.contains("bytes 0 to 4160 are not inside an object of 4096"), "{said}");
    }

    #[test]
    fn hardware_buffers() {
        let arm = "cl_arm_import_memory cl_arm_import_memory_android_hardware_buffer";
        let said = outcome("hardware-buffer", arm, "");
        assert!(said.contains("access by the host"), "{said}");
        let qcom = "cl_qcom_ext_host_ptr cl_qcom_android_ahardwarebuffer_host_ptr";
        assert_eq!(outcome("hardware-buffer", qcom, ""), "imported and read");
        let said = outcome("hardware-buffer", "cl_qcom_ext_host_ptr cl_qcom_ion_host_ptr", "");
        assert!(said.contains("cl_arm_import_memory_android_hardware_buffer"), "{said}");
    }

    #[test]
    fn host_memory_with_and_without_arms_extension() {
        for extensions in ["", "cl_arm_import_memory cl_arm_import_memory_host"] {
            assert_eq!(outcome("host", extensions, ""), "imported", "{extensions}");
            let said = outcome("host", extensions, "refuse-callback");
            assert!(said.contains("clSetMemObjectDestructorCallback"), "{said}");
            let said = outcome("out-of-memory", extensions, "out-of-memory-late");
            assert!(said.contains("64 bytes do not fit the device"), "{said}");
        }
    }
}
