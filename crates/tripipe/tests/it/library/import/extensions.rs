//! Memory that requires an extension, on the stand-in driver. A driver is loaded once per process, so each case is run
//! by a child process.

#[path = "../../../../../opencl/tests/it/support/stand_in.rs"]
pub(crate) mod stand_in;

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::ptr::NonNull;

use tripipe::filter::{Border, Chain, PixelType, Raster};
use tripipe::{Extents, Size};
use tripipe_opencl::memory::DmaBuf;

use super::*;

const ROLE: &str = "TRIPIPE_TEST_CHILD";

/// A file instead of a dma-buf: the stand-in accepts it, the kernel's ioctl for host access does not. It contains the
/// numbers from 0 on.
fn file() -> File {
    let file = tempfile::tempfile().unwrap();
    let bytes: Vec<u8> = (0..2048u32).flat_map(u32::to_ne_bytes).collect();
    file.write_all_at(&bytes, 0).unwrap();
    file
}

/// A dma-buf of 4000 bytes of the file, and the number of its descriptor.
fn dma_buf(file: &File) -> (DmaBuf, i32) {
    let fd = OwnedFd::from(file.try_clone().unwrap());
    let number = fd.as_raw_fd();
    (DmaBuf::new(fd, 4000).unwrap(), number)
}

fn is_open(fd: i32) -> bool {
    std::fs::symlink_metadata(format!("/proc/self/fd/{fd}")).is_ok()
}

/// Checks that the library holds no driver objects any more.
fn nothing_is_left() -> Result<(), Error> {
    assert_eq!(tripipe_opencl::live_objects(), 0);
    Ok(())
}

fn import_dma_buf() -> Result<(), Error> {
    let context = context().unwrap();
    let file = file();
    let (dma_buf, number) = dma_buf(&file);
    let mut vector = Vector::<u32>::import(&context, dma_buf.clone().into(), 1000)?;
    let too_long = |length| Vector::<u32>::import(&context, dma_buf.clone().into(), length);
    refused(too_long(1001), "bytes 4004 to 4004 are not inside an object of 4000");
    refused(too_long(usize::MAX), "do not fit into memory");
    drop(dma_buf);
    // Host access goes through the kernel, which detects that this is not a dma-buf.
    refused(vector.to_vec(), "DMA_BUF_IOCTL_SYNC");
    refused(vector.write(&[1; 1000]), "DMA_BUF_IOCTL_SYNC");
    refused(vector.map(<[u32]>::len), "DMA_BUF_IOCTL_SYNC");
    // With Qualcomm's extension the driver accesses it for the host: the contents of the file at that moment.
    if context.probe().unwrap().has_extension("cl_qcom_ext_host_ptr") {
        let copy = vector.to_context(&context).unwrap();
        file.write_all_at(&77u32.to_ne_bytes(), 4).unwrap();
        let later = vector.to_context(&context).unwrap();
        assert!(copy.to_vec().unwrap().into_iter().eq(0..1000));
        assert_eq!(later.to_vec().unwrap()[..4], [0, 77, 2, 3]);
    }
    let matrix = vector.share().into_matrix(Extents::new(10, 100)).unwrap();
    drop((vector, context));
    assert!(is_open(number), "the matrix still needs it");
    drop(matrix);
    assert!(!is_open(number), "nobody needs it any more");
    nothing_is_left()
}

fn import_hardware_buffer() -> Result<(), Error> {
    let context = context().unwrap();
    let mut own = 0u64;
    // SAFETY: the stand-in does not access hardware buffers.
    let mut external = |bytes| unsafe { External::hardware_buffer(NonNull::from(&mut own).cast(), bytes) };
    let mut vector = Vector::<u16>::import(&context, external(64), 32)?;
    refused(
        Vector::<u16>::import(&context, external(64), 33),
        "bytes 66 to 66 are not inside an object of 64",
    );
    refused(Vector::<u16>::import(&context, external(0), 0), "size 0");
    if context.probe().unwrap().has_extension("cl_qcom_ext_host_ptr") {
        vector.write(&[9; 32]).unwrap();
        vector.map_mut(|values| values[1] = 4).unwrap();
        assert_eq!(vector.to_vec().unwrap()[..3], [9, 4, 9]);
    } else {
        refused(vector.to_vec(), "access by the host");
        refused(vector.write(&[9; 32]), "access by the host");
    }
    drop((vector, context));
    nothing_is_left()
}

/// The CPU path cannot do what is left to it while kernels are being built: the kernels do it, once they are built.
fn operate_on_hardware_buffers() -> Result<(), Error> {
    for context in crate::library::in_the_background(Context::builder()) {
        let (mut from, mut to) = (0u64, 0u64);
        let import = |buffer: &mut u64| {
            // SAFETY: the stand-in does not access hardware buffers.
            let external = unsafe { External::hardware_buffer(NonNull::from(buffer).cast(), 63) };
            let raster = Raster::packed(Size::new(9, 7), 1, PixelType::U8);
            Vector::<u8>::import(&context, external, 63)?.into_image(raster)
        };
        let (from, mut to) = (import(&mut from)?, import(&mut to)?);
        let chain = Chain::parse("box:3", Border::Replicate).unwrap();
        let filter = context.filter(&chain, from.raster(), to.raster())?;
        assert_eq!(filter.explain().fallback.as_deref(), Some("its kernels are being built"));
        filter.run(&from, &mut to)?.wait()?;
        assert_eq!(filter.explain().fallback, None);
    }
    nothing_is_left()
}

fn import_host() -> Result<(), Error> {
    let context = context().unwrap();
    let mut memory = HostMemory::zeroed(64).unwrap();
    memory[4..8].copy_from_slice(&7u32.to_ne_bytes());
    let address = memory.as_ptr() as usize;
    let mut vector = Vector::<u32>::import(&context, External::host(memory), 16)?;
    assert_eq!(vector.to_vec().unwrap()[..3], [0, 7, 0]);
    vector.map_mut(|values| values[0] = 1).unwrap();
    let copy = vector.to_context(&context).unwrap();
    vector.write(&[3; 16]).unwrap();
    assert_eq!(vector.map(|values| (values.as_ptr() as usize, values[15])).unwrap(), (address, 3));
    assert_eq!(copy.to_vec().unwrap()[..3], [1, 7, 0]);
    refused(
        Vector::<u32>::import(&context, External::host(HostMemory::zeroed(63).unwrap()), 16),
        "bytes 64 to 64 are not inside an object of 63",
    );
    drop((vector, copy, context));
    nothing_is_left()
}

fn import_buffer() -> Result<(), Error> {
    let application = Application::new().unwrap();
    let context = application.shared();
    let buffer = application.buffer(opencl_sys::CL_MEM_READ_WRITE, &mut [1.0, 2.0, 3.0]);
    let mut vector = Vector::<f32>::import(&context, external(buffer), 3)?;
    application.write(buffer, &[4.0, 5.0, 6.0]);
    assert_eq!(vector.to_vec().unwrap(), [4.0, 5.0, 6.0]);
    vector.write(&[7.0, 8.0, 9.0]).unwrap();
    assert_eq!(application.read(buffer, 3), [7.0, 8.0, 9.0]);
    refused(
        Vector::<f32>::import(&context, external(buffer), 4),
        "bytes 16 to 16 are not inside an object of 12",
    );
    drop((vector, context));
    nothing_is_left()
}

/// Not a test by itself: the child processes run it.
#[test]
fn child() {
    let Some(role) = std::env::var_os(ROLE) else { return };
    let outcome = match role.to_str().unwrap() {
        "dma-buf" => import_dma_buf(),
        "hardware-buffer" => import_hardware_buffer(),
        "hardware-buffer-operations" => operate_on_hardware_buffers(),
        "host" => import_host(),
        "buffer" => import_buffer(),
        other => panic!("{other}"),
    };
    println!("outcome: {}", outcome.map_or_else(|error| error.to_string(), |()| "imported".to_owned()));
}

/// The output of a child process that runs `role` on a driver with these extensions.
#[track_caller]
fn outcome(role: &str, extensions: &str) -> String {
    outcome_with("sound", role, extensions)
}

/// The same with a driver in this mode.
#[track_caller]
fn outcome_with(mode: &str, role: &str, extensions: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["library::import::extensions::child", "--exact", "--nocapture"])
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
        assert_eq!(outcome("dma-buf", extensions), "imported", "{extensions}");
    }
    for extensions in ["", "cl_arm_import_memory cl_arm_import_memory_host", "cl_qcom_dmabuf_host_ptr"] {
        let said = outcome("dma-buf", extensions);
        for wanted in
            ["cl_arm_import_memory_dma_buf", "cl_qcom_dmabuf_host_ptr", "Stand-In GPU does not support"]
        {
            assert!(said.contains(wanted), "{said}");
        }
    }
}

#[test]
fn hardware_buffers() {
    for extensions in [
        "cl_arm_import_memory cl_arm_import_memory_android_hardware_buffer",
        "cl_qcom_ext_host_ptr cl_qcom_android_ahardwarebuffer_host_ptr",
    ] {
        assert_eq!(outcome("hardware-buffer", extensions), "imported", "{extensions}");
    }
    let extensions = "cl_arm_import_memory cl_arm_import_memory_android_hardware_buffer";
    assert_eq!(outcome_with("build-slow", "hardware-buffer-operations", extensions), "imported");
    for extensions in ["", "cl_qcom_ext_host_ptr cl_qcom_ion_host_ptr"] {
        let said = outcome("hardware-buffer", extensions);
        assert!(said.contains("cl_arm_import_memory_android_hardware_buffer"), "{said}");
        assert!(said.contains("Stand-In GPU does not support"), "{said}");
    }
}

#[test]
fn imports_that_need_no_extension() {
    for extensions in ["", "cl_arm_import_memory cl_arm_import_memory_host"] {
        assert_eq!(outcome("host", extensions), "imported", "{extensions}");
        assert_eq!(outcome("buffer", extensions), "imported", "{extensions}");
    }
}
