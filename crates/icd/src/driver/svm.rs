//! Shared virtual memory.
//!
//! The application's addresses are valid in kernels, as arguments and where they are stored in memory; all other
//! memory has addresses of the simulator.

use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::cl_svm_mem_flags;
use tripipe_launch::locks::lock;

use super::context::Context;
use super::failure::{Failure, Outcome, require};
use super::storage::{ALIGNMENT, Storage};
use crate::host::HostBlock;

impl Context {
    /// Shared virtual memory of `size` bytes; returns its address.
    ///
    /// # Errors
    /// Not offered by a device, wrong flags or alignment, a size of 0 or above the limit, or no memory.
    pub fn svm_alloc(&self, flags: cl_svm_mem_flags, size: usize, alignment: usize) -> Outcome<usize> {
        let access = cl::CL_MEM_READ_WRITE | cl::CL_MEM_WRITE_ONLY | cl::CL_MEM_READ_ONLY;
        let known = access | cl::CL_MEM_SVM_FINE_GRAIN_BUFFER;
        let offered = self.devices().iter().any(|device| device.probe.svm.coarse_buffer);
        require(offered, cl::CL_INVALID_OPERATION, "no device of the context has shared virtual memory")?;
        require(flags & !known == 0, cl::CL_INVALID_VALUE, "the flags are not offered")?;
        require((flags & access).count_ones() <= 1, cl::CL_INVALID_VALUE, "the flags exclude each other")?;
        let fits = size > 0 && size as u64 <= self.largest_buffer();
        require(fits, cl::CL_INVALID_BUFFER_SIZE, "the size is 0 or above the limit")?;
        let alignment = if alignment == 0 { ALIGNMENT } else { alignment };
        let aligned = alignment.is_power_of_two() && alignment <= ALIGNMENT;
        require(aligned, cl::CL_INVALID_VALUE, "the alignment is not a power of two up to 128")?;
        let block = HostBlock::new(size, ALIGNMENT);
        let block = block.ok_or_else(|| Failure::new(cl::CL_OUT_OF_RESOURCES, "no memory"))?;
        let address = block.range().address();
        lock(&self.svm).insert(
            address,
            Storage::shared(&self.engine, block, flags & cl::CL_MEM_SVM_FINE_GRAIN_BUFFER != 0)?,
        );
        Ok(address)
    }

    /// Frees shared virtual memory; an address of something else is ignored.
    pub fn svm_free(&self, address: usize) {
        let block = lock(&self.svm).remove(&address);
        drop(block);
    }

    /// The shared virtual memory that an address is in.
    pub fn svm_at(&self, address: usize) -> Option<Arc<Storage>> {
        let blocks = lock(&self.svm);
        let (start, block) = blocks.range(..=address).next_back()?;
        (address - start < block.size()).then(|| Arc::clone(block))
    }
}
