//! Command queues.

use opencl_sys as cl;
use opencl_sys::{
    cl_bool, cl_command_queue, cl_command_queue_info, cl_command_queue_properties, cl_context, cl_device_id,
    cl_queue_properties,
};

use super::boundary::{asked, pairs};
use crate::driver::context::Context;
use crate::driver::device::Device;
use crate::driver::failure::{Failure, require};
use crate::driver::handle::{ApiObject as _, find};
use crate::driver::queue::Queue;

// `cl_khr_priority_hints`. The hint does not change predicted times.
const PRIORITY: u32 = cl::CL_QUEUE_PRIORITY_KHR as u32;
const PRIORITIES: [u64; 3] = [1, 2, 4];

constructor! {
    fn clCreateCommandQueue(
        context: cl_context,
        device: cl_device_id,
        properties: cl_command_queue_properties,
    ) {
        let (context, device) = (find::<Context>(context)?, find::<Device>(device)?);
        Ok(Queue::new(context, device, properties, Vec::new())?.handle().pointer())
    }

    fn clCreateCommandQueueWithProperties(
        context: cl_context,
        device: cl_device_id,
        properties: *const cl_queue_properties,
    ) {
        let (context, device) = (find::<Context>(context)?, find::<Device>(device)?);
        let array = pairs(properties);
        let (mut bits, mut size) = (0, None);
        for pair in array.chunks_exact(2) {
            match pair[0] as u32 {
                cl::CL_QUEUE_PROPERTIES => bits = pair[1],
                cl::CL_QUEUE_SIZE => size = Some(pair[1]),
                PRIORITY if device.opencl.has("cl_khr_priority_hints") => {
                    require(PRIORITIES.contains(&pair[1]), cl::CL_INVALID_VALUE, "a priority is high, medium or low")?;
                }
                other => {
                    let what = format!("{other:#x} is not a property of queues");
                    return Err(Failure::new(cl::CL_INVALID_VALUE, what));
                }
            }
        }
        let on_device = bits & cl::CL_QUEUE_ON_DEVICE != 0;
        require(size.is_none() || on_device, cl::CL_INVALID_VALUE, "only queues on devices have a size")?;
        Ok(Queue::new(context, device, bits, array)?.handle().pointer())
    }
}

references! { Queue: clRetainCommandQueue, clReleaseCommandQueue; }

function! {
    fn clSetCommandQueueProperty(
        queue: cl_command_queue,
        _properties: cl_command_queue_properties,
        _enable: cl_bool,
        _old_properties: *mut cl_command_queue_properties,
    ) {
        find::<Queue>(queue)?;
        Err(Failure::new(cl::CL_INVALID_OPERATION, "properties of queues do not change since OpenCL 1.1"))
    }

    fn clSetDefaultDeviceCommandQueue(context: cl_context, device: cl_device_id, _queue: cl_command_queue) {
        find::<Context>(context)?.check_device(&*find::<Device>(device)?)?;
        Err(Failure::new(cl::CL_INVALID_OPERATION, "queues on devices are not offered"))
    }

    fn clFlush(queue: cl_command_queue) {
        // Commands run as soon as they can.
        find::<Queue>(queue).map(drop)
    }

    fn clFinish(queue: cl_command_queue) {
        find::<Queue>(queue)?.finish()
    }
}

query! {
    fn clGetCommandQueueInfo(queue: cl_command_queue, query: cl_command_queue_info) {
        asked::<Queue>(queue, |queue| queue.info(query))
    }
}
