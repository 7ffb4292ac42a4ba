//! Memory shared between Linux devices through a file descriptor.

use std::ffi::c_void;
use std::fmt;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, OnceLock};

use rustix::io::Errno;
use rustix::ioctl::{self, Opcode, Setter, opcode};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use tripipe_launch::Access;

use crate::memory::MemoryError;

/// `DMA_BUF_IOCTL_SYNC` of `linux/dma-buf.h`: `_IOW('b', 0, struct dma_buf_sync)`; the struct is one 64-bit word of
/// the flags below.
const SYNC: Opcode = opcode::write::<u64>(b'b', 0);
const SYNC_READ: u64 = 1;
const SYNC_WRITE: u64 = 2;
const SYNC_END: u64 = 4;

/// A dma-buf: memory that a camera, a decoder, a display or another process shares through a file descriptor. Cheap to
/// clone; clones are the same memory, and the descriptor is closed with the last of them.
///
/// The system maintains the caches if it is informed: the host may access the memory, through any mapping, only while
/// a [`HostAccess`] exists, and no kernel may use it meanwhile. [`crate::OpenClExecutor`] ensures this for its own
/// reads, writes and in-place accesses.
///
/// The caller must synchronise with other devices: OpenCL does not wait for them. Submit a launch that uses the memory
/// only after they have finished with it (a camera's buffer was dequeued, a fence has signalled), and give it back to
/// them only after the launch has ended.
///
/// ```no_run
/// use std::os::fd::OwnedFd;
///
/// use tripipe_launch::{Access, Executor, ExecuteError, MemoryId};
/// use tripipe_opencl::OpenClExecutor;
/// use tripipe_opencl::memory::{DmaBuf, MemoryError};
///
/// /// A camera's buffer, for kernels to read where it is.
/// fn import(executor: &mut OpenClExecutor, fd: OwnedFd, bytes: usize) -> Result<(DmaBuf, MemoryId), ExecuteError> {
///     let frame = DmaBuf::new(fd, bytes).map_err(|error| ExecuteError::Backend {
///         during: "the camera's buffer".to_owned(),
///         source: error.into(),
///     })?;
///     let memory = executor.import(frame.clone().into(), Access::Read)?;
///     executor.with_bytes(memory, 0..bytes.min(16), &mut |start| println!("{start:?}"))?;
///     Ok((frame, memory))
/// }
///
/// /// The same buffer through a mapping the caller has anyway.
/// fn brighten(frame: &DmaBuf, mapped: &mut [u8]) -> Result<(), MemoryError> {
///     let access = frame.host_access(Access::ReadWrite)?;
///     mapped.iter_mut().for_each(|value| *value = value.saturating_add(16));
///     access.end()
/// }
/// ```
#[derive(Clone)]
pub struct DmaBuf(Arc<Inner>);

struct Inner {
    file: File,
    bytes: usize,
    /// Created when the host first accesses the memory.
    mapping: OnceLock<FileMapping>,
}

impl DmaBuf {
    /// The first `bytes` bytes of a dma-buf. Takes ownership of the descriptor.
    ///
    /// # Errors
    /// 0 bytes, or more than the dma-buf reports.
    pub fn new(fd: OwnedFd, bytes: usize) -> Result<Self, MemoryError> {
        if bytes == 0 {
            return Err(MemoryError::Empty);
        }
        let dma_buf = Self(Arc::new(Inner { file: File::from(fd), bytes, mapping: OnceLock::new() }));
        dma_buf.check_room(bytes)?;
        Ok(dma_buf)
    }

    /// The number of bytes used.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Begins an access by the host through a mapping of the caller's own: waits for the devices that use the memory,
    /// if their drivers report that, and makes their writes visible in the caches. Kernels may use the memory again
    /// after the guard is dropped.
    ///
    /// # Errors
    /// The descriptor is not a dma-buf, or the kernel refuses.
    pub fn host_access(&self, access: Access) -> Result<HostAccess<'_>, MemoryError> {
        let flags = match access {
            Access::Read => SYNC_READ,
            Access::Write => SYNC_WRITE,
            Access::ReadWrite => SYNC_READ | SYNC_WRITE,
        };
        self.sync(flags)?;
        Ok(HostAccess { dma_buf: self, flags, open: true })
    }

    /// Checks that the dma-buf has at least `bytes` bytes, if it reports its size.
    pub(super) fn check_room(&self, bytes: usize) -> Result<(), MemoryError> {
        // Kernels without SEEK_END for dma-bufs: the import checks the size instead.
        match (&self.0.file).seek(SeekFrom::End(0)) {
            Ok(size) if size < bytes as u64 => {
                Err(MemoryError::Bounds { offset: 0, len: bytes, bytes: size as usize })
            }
            _ => Ok(()),
        }
    }

    /// The file system and inode that all descriptors of the dma-buf share; `None` if the system does not report them.
    pub(super) fn inode(&self) -> Option<(u64, u64)> {
        self.0.file.metadata().ok().map(|file| (file.dev(), file.ino()))
    }

    pub(super) fn fd(&self) -> RawFd {
        self.0.file.as_raw_fd()
    }

    /// The host's address of the memory, valid as long as `self`. Page aligned.
    pub(super) fn pointer(&self) -> Result<*mut u8, MemoryError> {
        if let Some(mapping) = self.0.mapping.get() {
            return Ok(mapping.start.cast());
        }
        let mapping = FileMapping::new(&self.0.file, self.0.bytes)?;
        Ok(self.0.mapping.get_or_init(|| mapping).start.cast())
    }

    fn sync(&self, flags: u64) -> Result<(), MemoryError> {
        loop {
            // SAFETY: the opcode takes a pointer to a 64-bit word, which lives for the call; the kernel rejects the
            // request on a descriptor that is not a dma-buf.
            let done = unsafe { ioctl::ioctl(self.0.file.as_fd(), Setter::<SYNC, u64>::new(flags)) };
            match done {
                // Retry, as the kernel's documentation of the request requires.
                Err(Errno::AGAIN | Errno::INTR) => {}
                done => return done.map_err(system("DMA_BUF_IOCTL_SYNC")),
            }
        }
    }
}

impl fmt::Debug for DmaBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DmaBuf").field("fd", &self.fd()).field("bytes", &self.0.bytes).finish()
    }
}

/// The host may access a dma-buf while this exists.
#[must_use = "access ends when this is dropped"]
pub struct HostAccess<'a> {
    dma_buf: &'a DmaBuf,
    flags: u64,
    open: bool,
}

impl HostAccess<'_> {
    /// Ends the access and makes the host's writes visible to devices. Dropping it does the same, but can only log
    /// errors.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn end(mut self) -> Result<(), MemoryError> {
        self.open = false;
        self.dma_buf.sync(self.flags | SYNC_END)
    }
}

impl Drop for HostAccess<'_> {
    fn drop(&mut self) {
        if self.open
            && let Err(error) = self.dma_buf.sync(self.flags | SYNC_END)
        {
            tracing::warn!(%error, "host access to a dma-buf could not be ended");
        }
    }
}

/// A shared mapping of a file.
struct FileMapping {
    start: *mut c_void,
    bytes: usize,
}

impl FileMapping {
    fn new(file: &File, bytes: usize) -> Result<Self, MemoryError> {
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the system chooses; no existing mapping is replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, both, MapFlags::SHARED, file, 0) };
        Ok(Self { start: start.map_err(system("mmap"))?, bytes })
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and unmapped once; the pointer is not used any more.
        if let Err(error) = unsafe { munmap(self.start, self.bytes) } {
            tracing::warn!(%error, "a dma-buf could not be unmapped");
        }
    }
}

// SAFETY: an address range of the process; its users synchronise their accesses.
unsafe impl Send for FileMapping {}
// SAFETY: as above.
unsafe impl Sync for FileMapping {}

fn system(call: &'static str) -> impl Fn(Errno) -> MemoryError {
    move |error| MemoryError::System { call, code: error.raw_os_error() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: u64) -> OwnedFd {
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes).unwrap();
        file.into()
    }

    #[test]
    fn the_request_is_the_kernels() {
        // _IOW: direction 1 in bits 30 and 31, size 8 from bit 16, 'b' from bit 8, number 0.
        assert_eq!(SYNC, 0x4008_6200);
    }

    #[test]
    fn a_file_that_is_not_a_dma_buf_is_detected() {
        let dma_buf = DmaBuf::new(file(4096), 4096).unwrap();
        let Err(error) = dma_buf.host_access(Access::Read) else { panic!() };
        // ENOTTY; ENOSYS of an emulator that does not know the request.
        let is = |code| error == MemoryError::System { call: "DMA_BUF_IOCTL_SYNC", code };
        assert!(is(25) || is(38), "{error:?}");
    }

    #[test]
    fn lengths_beyond_the_file_are_rejected() {
        assert_eq!(DmaBuf::new(file(4096), 0).err(), Some(MemoryError::Empty));
        let error = DmaBuf::new(file(4096), 4097).err();
        assert_eq!(error, Some(MemoryError::Bounds { offset: 0, len: 4097, bytes: 4096 }));
    }

    #[test]
    fn clones_share_one_mapping_that_is_the_file() {
        let dma_buf = DmaBuf::new(file(4096), 4096).unwrap();
        let pointer = dma_buf.pointer().unwrap();
        assert_eq!(dma_buf.clone().pointer(), Ok(pointer));
        // SAFETY: the mapping is live and long enough.
        unsafe { pointer.add(7).write(42) };
        let mut found = [0; 1];
        std::os::unix::fs::FileExt::read_exact_at(&dma_buf.0.file, &mut found, 7).unwrap();
        assert_eq!(found, [42]);
    }
}
