//! Kernels.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{
    cl_device_id, cl_kernel, cl_kernel_arg_info, cl_kernel_exec_info, cl_kernel_info,
    cl_kernel_sub_group_info, cl_kernel_work_group_info, cl_program, cl_uint,
};
use tripipe_launch::locks::lock;

use super::boundary::{answer, asked, list, put, reported, text};
use crate::driver::device::Device;
use crate::driver::failure::{Failure, Outcome, require};
use crate::driver::handle::{ApiObject as _, find};
use crate::driver::kernel::{ArgumentBytes, Kernel};
use crate::driver::program::Program;

/// The device of a query: the only one of the program for NULL.
fn device_of(kernel: &Kernel, handle: cl_device_id) -> Outcome<Arc<Device>> {
    if !handle.is_null() {
        let device = find::<Device>(handle)?;
        kernel.program.check_devices(std::slice::from_ref(&device))?;
        return Ok(device);
    }
    match kernel.program.devices() {
        [device] => Ok(Arc::clone(device)),
        _ => Err(Failure::new(cl::CL_INVALID_DEVICE, "the program has several devices, and none is named")),
    }
}

constructor! {
    fn clCreateKernel(program: cl_program, name: *const c_char) {
        let program = find::<Program>(program)?;
        let name = text(name)?;
        Ok(reported(&program, Kernel::new(&program, &name))?.handle().pointer())
    }

    fn clCloneKernel(kernel: cl_kernel) {
        Ok(find::<Kernel>(kernel)?.duplicate().handle().pointer())
    }
}

references! { Kernel: clRetainKernel, clReleaseKernel; }

function! {
    fn clCreateKernelsInProgram(
        program: cl_program,
        num_kernels: cl_uint,
        kernels: *mut cl_kernel,
        num_kernels_ret: *mut cl_uint,
    ) {
        let program = find::<Program>(program)?;
        let count = Kernel::count(&program)?;
        if !kernels.is_null() {
            require(num_kernels as usize >= count, cl::CL_INVALID_VALUE, "there are too few places")?;
            for (index, kernel) in Kernel::all(&program)?.iter().enumerate() {
                put(kernels.add(index), kernel.handle().pointer());
            }
        }
        put(num_kernels_ret, count as cl_uint);
        Ok(())
    }

    fn clSetKernelArg(kernel: cl_kernel, index: cl_uint, size: usize, value: *const c_void) {
        let kernel = find::<Kernel>(kernel)?;
        // More bytes than an argument can have are not read.
        let most = size.min(1 << 16);
        let bytes: Option<Vec<u8>> = if value.is_null() || kernel.is_local(index) {
            None
        } else {
            Some(list(value.cast::<u8>(), kernel.argument_bytes(index)?.min(most), cl::CL_INVALID_ARG_SIZE)?)
        };
        let local_value = kernel.is_local(index) && !value.is_null();
        require(!local_value, cl::CL_INVALID_ARG_VALUE, "local memory has no value")?;
        reported(&kernel, kernel.set(index, &ArgumentBytes { bytes: bytes.as_deref(), size }))
    }

    fn clSetKernelArgSVMPointer(kernel: cl_kernel, index: cl_uint, pointer: *const c_void) {
        let kernel = find::<Kernel>(kernel)?;
        reported(&kernel, kernel.set_shared(index, pointer as usize))
    }

    fn clSetKernelExecInfo(
        kernel: cl_kernel,
        query: cl_kernel_exec_info,
        size: usize,
        value: *const c_void,
    ) {
        let kernel = find::<Kernel>(kernel)?;
        let none = query == cl::CL_KERNEL_EXEC_INFO_SVM_PTRS && size == 0;
        require(!value.is_null() || none, cl::CL_INVALID_VALUE, "the value is NULL")?;
        match query {
            cl::CL_KERNEL_EXEC_INFO_SVM_PTRS => {
                let sized = size.is_multiple_of(size_of::<usize>());
                require(sized, cl::CL_INVALID_VALUE, "the size is not that of pointers")?;
                let pointers = list(value.cast::<usize>(), size / size_of::<usize>(), cl::CL_INVALID_VALUE)?;
                let context = kernel.program.owner();
                let blocks = pointers.into_iter().filter(|pointer| *pointer != 0).map(|pointer| {
                    let none = || Failure::new(cl::CL_INVALID_VALUE, "a pointer is not in shared memory");
                    context.svm_at(pointer).ok_or_else(none)
                });
                *lock(&kernel.shared) = blocks.collect::<Outcome<_>>()?;
                Ok(())
            }
            cl::CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM => {
                require(size == 4, cl::CL_INVALID_VALUE, "the size is not that of a cl_bool")?;
                let wanted = value.cast::<u32>().read_unaligned() != 0;
                require(!wanted, cl::CL_INVALID_OPERATION, "fine-grained system memory is not offered")
            }
            other => Err(Failure::new(cl::CL_INVALID_VALUE, format!("{other:#x} is not information of kernels"))),
        }
    }

    fn clGetKernelSubGroupInfo(
        kernel: cl_kernel,
        device: cl_device_id,
        query: cl_kernel_sub_group_info,
        input_size: usize,
        input: *const c_void,
        size: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        let kernel = find::<Kernel>(kernel)?;
        let device = device_of(&kernel, device)?;
        let numbers = if input.is_null() {
            Vec::new()
        } else {
            let count = (input_size / size_of::<usize>()).min(3);
            list(input.cast::<usize>(), count, cl::CL_INVALID_VALUE).unwrap_or_default()
        };
        let mut bytes = reported(&kernel, kernel.sub_group_info(&device, query, &numbers))?;
        if query == cl::CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT && !value.is_null() {
            // The application chooses how many dimensions it wants.
            bytes.truncate(size);
        }
        answer(&bytes, size, value, size_ret)
    }
}

query! {
    fn clGetKernelInfo(kernel: cl_kernel, query: cl_kernel_info) {
        asked::<Kernel>(kernel, |kernel| kernel.info(query))
    }

    fn clGetKernelArgInfo(kernel: cl_kernel, index: cl_uint, query: cl_kernel_arg_info) {
        asked::<Kernel>(kernel, |kernel| kernel.argument_info(index, query))
    }

    fn clGetKernelWorkGroupInfo(kernel: cl_kernel, device: cl_device_id, query: cl_kernel_work_group_info) {
        let kernel = find::<Kernel>(kernel)?;
        let device = device_of(&kernel, device)?;
        reported(&kernel, kernel.work_group_info(&device, query))
    }
}
