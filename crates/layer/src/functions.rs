//! The functions of the API that the layer wraps: their parameters, and how to read them.
//!
//! The table has all functions of the ICD loader's dispatch table except those for Direct3D, which are passed on.
//!
//! A row has a kind: `call` returns an error code, or a value without one; `create` takes a place for the error code as
//! its last argument; `enqueue` takes a wait list and a place for an event, `map` takes these and a place for the code;
//! `mark` takes a place for an event. These last arguments are not in the rows. `..._own` is called through a function of
//! `entry::own`.
//!
//! `= how` after a parameter says what a pointer points to: `text`; `list(n)`, as many words as the parameter `n`
//! says; `bytes(n)`, `n` bytes; `module(n)`, `n` bytes of SPIR-V; `two`, `three` words; `pairs` of words that end
//! with a 0; the `format` or the `description` of an image.

macro_rules! functions {
    ($then:ident) => {
        $then! {
            call fn clGetPlatformIDs(
                num_entries: cl_uint, platforms: *mut cl_platform_id, num_platforms: *mut cl_uint
            ) -> cl_int;
            call fn clGetPlatformInfo(
                platform: cl_platform_id, param_name: cl_platform_info, param_value_size: usize,
                param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            call fn clGetDeviceIDs(
                platform: cl_platform_id, device_type: cl_device_type, num_entries: cl_uint,
                devices: *mut cl_device_id, num_devices: *mut cl_uint
            ) -> cl_int;
            call fn clGetDeviceInfo(
                device: cl_device_id, param_name: cl_device_info, param_value_size: usize,
                param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            create fn clCreateContext(
                properties: *const cl_context_properties = pairs, num_devices: cl_uint,
                devices: *const cl_device_id = list(num_devices), pfn_notify: OnContextError,
                user_data: *mut c_void
            ) -> cl_context;
            create fn clCreateContextFromType(
                properties: *const cl_context_properties = pairs, device_type: cl_device_type,
                pfn_notify: OnContextError, user_data: *mut c_void
            ) -> cl_context;
            call fn clRetainContext(context: cl_context) -> cl_int;
            call fn clReleaseContext(context: cl_context) -> cl_int;
            call fn clGetContextInfo(
                context: cl_context, param_name: cl_context_info, param_value_size: usize,
                param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            create_own fn clCreateCommandQueue(
                context: cl_context, device: cl_device_id, properties: cl_command_queue_properties
            ) -> cl_command_queue;
            call fn clRetainCommandQueue(command_queue: cl_command_queue) -> cl_int;
            call fn clReleaseCommandQueue(command_queue: cl_command_queue) -> cl_int;
            call_own fn clGetCommandQueueInfo(
                command_queue: cl_command_queue, param_name: cl_command_queue_info, param_value_size: usize,
                param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            call fn clSetCommandQueueProperty(
                command_queue: cl_command_queue, properties: cl_command_queue_properties, enable: cl_bool,
                old_properties: *mut cl_command_queue_properties
            ) -> cl_int;
            create fn clCreateBuffer(
                context: cl_context, flags: cl_mem_flags, size: usize, host_ptr: *mut c_void
            ) -> cl_mem;
            create fn clCreateImage2D(
                context: cl_context, flags: cl_mem_flags, image_format: *const cl_image_format = format,
                image_width: usize, image_height: usize, image_row_pitch: usize, host_ptr: *mut c_void
            ) -> cl_mem;
            create fn clCreateImage3D(
                context: cl_context, flags: cl_mem_flags, image_format: *const cl_image_format = format,
                image_width: usize, image_height: usize, image_depth: usize, image_row_pitch: usize,
                image_slice_pitch: usize, host_ptr: *mut c_void
            ) -> cl_mem;
            call fn clRetainMemObject(memobj: cl_mem) -> cl_int;
            call fn clReleaseMemObject(memobj: cl_mem) -> cl_int;
            call fn clGetSupportedImageFormats(
                context: cl_context, flags: cl_mem_flags, image_type: cl_mem_object_type,
                num_entries: cl_uint, image_formats: *mut cl_image_format, num_image_formats: *mut cl_uint
            ) -> cl_int;
            call fn clGetMemObjectInfo(
                memobj: cl_mem, param_name: cl_mem_info, param_value_size: usize, param_value: *mut c_void,
                param_value_size_ret: *mut usize
            ) -> cl_int;
            call fn clGetImageInfo(
                image: cl_mem, param_name: cl_image_info, param_value_size: usize, param_value: *mut c_void,
                param_value_size_ret: *mut usize
            ) -> cl_int;
            create fn clCreateSampler(
                context: cl_context, normalized_coords: cl_bool, addressing_mode: cl_addressing_mode,
                filter_mode: cl_filter_mode
            ) -> cl_sampler;
            call fn clRetainSampler(sampler: cl_sampler) -> cl_int;
            call fn clReleaseSampler(sampler: cl_sampler) -> cl_int;
            call fn clGetSamplerInfo(
                sampler: cl_sampler, param_name: cl_sampler_info, param_value_size: usize,
                param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            create fn clCreateProgramWithSource(
                context: cl_context, count: cl_uint, strings: *mut *const c_char, lengths: *const usize
            ) -> cl_program;
            create fn clCreateProgramWithBinary(
                context: cl_context, num_devices: cl_uint,
                device_list: *const cl_device_id = list(num_devices), lengths: *const usize,
                binaries: *mut *const c_uchar, binary_status: *mut cl_int
            ) -> cl_program;
            call fn clRetainProgram(program: cl_program) -> cl_int;
            call fn clReleaseProgram(program: cl_program) -> cl_int;
            call fn clBuildProgram(
                program: cl_program, num_devices: cl_uint,
                device_list: *const cl_device_id = list(num_devices), options: *const c_char = text,
                pfn_notify: OnObject, user_data: *mut c_void
            ) -> cl_int;
            call fn clUnloadCompiler() -> cl_int;
            call fn clGetProgramInfo(
                program: cl_program, param_name: cl_program_info, param_value_size: usize,
                param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            call fn clGetProgramBuildInfo(
                program: cl_program, device: cl_device_id, param_name: cl_program_build_info,
                param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            create fn clCreateKernel(program: cl_program, kernel_name: *const c_char = text) -> cl_kernel;
            call fn clCreateKernelsInProgram(
                program: cl_program, num_kernels: cl_uint, kernels: *mut cl_kernel = list(num_kernels),
                num_kernels_ret: *mut cl_uint
            ) -> cl_int;
            call fn clRetainKernel(kernel: cl_kernel) -> cl_int;
            call fn clReleaseKernel(kernel: cl_kernel) -> cl_int;
            call fn clSetKernelArg(
                kernel: cl_kernel, arg_index: cl_uint, arg_size: usize,
                arg_value: *const c_void = bytes(arg_size)
            ) -> cl_int;
            call fn clGetKernelInfo(
                kernel: cl_kernel, param_name: cl_kernel_info, param_value_size: usize,
                param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            call fn clGetKernelWorkGroupInfo(
                kernel: cl_kernel, device: cl_device_id, param_name: cl_kernel_work_group_info,
                param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            call fn clWaitForEvents(
                num_events: cl_uint, event_list: *const cl_event = list(num_events)
            ) -> cl_int;
            call_own fn clGetEventInfo(
                event: cl_event, param_name: cl_event_info, param_value_size: usize, param_value: *mut c_void,
                param_value_size_ret: *mut usize
            ) -> cl_int;
            call fn clRetainEvent(event: cl_event) -> cl_int;
            call fn clReleaseEvent(event: cl_event) -> cl_int;
            call_own fn clGetEventProfilingInfo(
                event: cl_event, param_name: cl_profiling_info, param_value_size: usize,
                param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            call fn clFlush(command_queue: cl_command_queue) -> cl_int;
            call fn clFinish(command_queue: cl_command_queue) -> cl_int;
            enqueue fn clEnqueueReadBuffer(
                command_queue: cl_command_queue, buffer: cl_mem, blocking_read: cl_bool, offset: usize,
                size: usize, ptr: *mut c_void
            );
            enqueue fn clEnqueueWriteBuffer(
                command_queue: cl_command_queue, buffer: cl_mem, blocking_write: cl_bool, offset: usize,
                size: usize, ptr: *const c_void
            );
            enqueue fn clEnqueueCopyBuffer(
                command_queue: cl_command_queue, src_buffer: cl_mem, dst_buffer: cl_mem, src_offset: usize,
                dst_offset: usize, size: usize
            );
            enqueue fn clEnqueueReadImage(
                command_queue: cl_command_queue, image: cl_mem, blocking_read: cl_bool,
                origin: *const usize = three, region: *const usize = three, row_pitch: usize,
                slice_pitch: usize, ptr: *mut c_void
            );
            enqueue fn clEnqueueWriteImage(
                command_queue: cl_command_queue, image: cl_mem, blocking_write: cl_bool,
                origin: *const usize = three, region: *const usize = three, input_row_pitch: usize,
                input_slice_pitch: usize, ptr: *const c_void
            );
            enqueue fn clEnqueueCopyImage(
                command_queue: cl_command_queue, src_image: cl_mem, dst_image: cl_mem,
                src_origin: *const usize = three, dst_origin: *const usize = three,
                region: *const usize = three
            );
            enqueue fn clEnqueueCopyImageToBuffer(
                command_queue: cl_command_queue, src_image: cl_mem, dst_buffer: cl_mem,
                src_origin: *const usize = three, region: *const usize = three, dst_offset: usize
            );
            enqueue fn clEnqueueCopyBufferToImage(
                command_queue: cl_command_queue, src_buffer: cl_mem, dst_image: cl_mem, src_offset: usize,
                dst_origin: *const usize = three, region: *const usize = three
            );
            map fn clEnqueueMapBuffer(
                command_queue: cl_command_queue, buffer: cl_mem, blocking_map: cl_bool,
                map_flags: cl_map_flags, offset: usize, size: usize
            );
            map fn clEnqueueMapImage(
                command_queue: cl_command_queue, image: cl_mem, blocking_map: cl_bool,
                map_flags: cl_map_flags, origin: *const usize = three, region: *const usize = three,
                image_row_pitch: *mut usize, image_slice_pitch: *mut usize
            );
            enqueue fn clEnqueueUnmapMemObject(
                command_queue: cl_command_queue, memobj: cl_mem, mapped_ptr: *mut c_void
            );
            enqueue fn clEnqueueNDRangeKernel(
                command_queue: cl_command_queue, kernel: cl_kernel, work_dim: cl_uint,
                global_work_offset: *const usize = list(work_dim),
                global_work_size: *const usize = list(work_dim),
                local_work_size: *const usize = list(work_dim)
            );
            enqueue fn clEnqueueTask(command_queue: cl_command_queue, kernel: cl_kernel);
            enqueue fn clEnqueueNativeKernel(
                command_queue: cl_command_queue, user_func: OnNative, args: *mut c_void, cb_args: usize,
                num_mem_objects: cl_uint, mem_list: *const cl_mem, args_mem_loc: *mut *const c_void
            );
            mark fn clEnqueueMarker(command_queue: cl_command_queue);
            call fn clEnqueueWaitForEvents(
                command_queue: cl_command_queue, num_events: cl_uint,
                event_list: *const cl_event = list(num_events)
            ) -> cl_int;
            call fn clEnqueueBarrier(command_queue: cl_command_queue) -> cl_int;
            call_own fn clGetExtensionFunctionAddress(func_name: *const c_char = text) -> *mut c_void;
            create fn clCreateFromGLBuffer(
                context: cl_context, flags: cl_mem_flags, bufobj: cl_GLuint
            ) -> cl_mem;
            create fn clCreateFromGLTexture2D(
                context: cl_context, flags: cl_mem_flags, target: cl_GLenum, miplevel: cl_GLint,
                texture: cl_GLuint
            ) -> cl_mem;
            create fn clCreateFromGLTexture3D(
                context: cl_context, flags: cl_mem_flags, target: cl_GLenum, miplevel: cl_GLint,
                texture: cl_GLuint
            ) -> cl_mem;
            create fn clCreateFromGLRenderbuffer(
                context: cl_context, flags: cl_mem_flags, renderbuffer: cl_GLuint
            ) -> cl_mem;
            call fn clGetGLObjectInfo(
                memobj: cl_mem, gl_object_type: *mut cl_gl_object_type, gl_object_name: *mut cl_GLuint
            ) -> cl_int;
            call fn clGetGLTextureInfo(
                memobj: cl_mem, param_name: cl_gl_texture_info, param_value_size: usize,
                param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            enqueue fn clEnqueueAcquireGLObjects(
                command_queue: cl_command_queue, num_objects: cl_uint,
                mem_objects: *const cl_mem = list(num_objects)
            );
            enqueue fn clEnqueueReleaseGLObjects(
                command_queue: cl_command_queue, num_objects: cl_uint,
                mem_objects: *const cl_mem = list(num_objects)
            );
            call fn clGetGLContextInfoKHR(
                properties: *const cl_context_properties = pairs, param_name: cl_gl_context_info,
                param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            call fn clSetEventCallback(
                event: cl_event, command_exec_callback_type: cl_int, pfn_notify: OnEvent,
                user_data: *mut c_void
            ) -> cl_int;
            create fn clCreateSubBuffer(
                buffer: cl_mem, flags: cl_mem_flags, buffer_create_type: cl_buffer_create_type,
                buffer_create_info: *const c_void = two
            ) -> cl_mem;
            call fn clSetMemObjectDestructorCallback(
                memobj: cl_mem, pfn_notify: OnObject, user_data: *mut c_void
            ) -> cl_int;
            create fn clCreateUserEvent(context: cl_context) -> cl_event;
            call fn clSetUserEventStatus(event: cl_event, execution_status: cl_int) -> cl_int;
            enqueue fn clEnqueueReadBufferRect(
                command_queue: cl_command_queue, buffer: cl_mem, blocking_read: cl_bool,
                buffer_origin: *const usize = three, host_origin: *const usize = three,
                region: *const usize = three, buffer_row_pitch: usize, buffer_slice_pitch: usize,
                host_row_pitch: usize, host_slice_pitch: usize, ptr: *mut c_void
            );
            enqueue fn clEnqueueWriteBufferRect(
                command_queue: cl_command_queue, buffer: cl_mem, blocking_write: cl_bool,
                buffer_origin: *const usize = three, host_origin: *const usize = three,
                region: *const usize = three, buffer_row_pitch: usize, buffer_slice_pitch: usize,
                host_row_pitch: usize, host_slice_pitch: usize, ptr: *const c_void
            );
            enqueue fn clEnqueueCopyBufferRect(
                command_queue: cl_command_queue, src_buffer: cl_mem, dst_buffer: cl_mem,
                src_origin: *const usize = three, dst_origin: *const usize = three,
                region: *const usize = three, src_row_pitch: usize, src_slice_pitch: usize,
                dst_row_pitch: usize, dst_slice_pitch: usize
            );
            call fn clCreateSubDevicesEXT(
                in_device: cl_device_id, properties: *const cl_device_partition_property_ext = pairs,
                num_entries: cl_uint, out_devices: *mut cl_device_id, num_devices: *mut cl_uint
            ) -> cl_int;
            call fn clRetainDeviceEXT(device: cl_device_id) -> cl_int;
            call fn clReleaseDeviceEXT(device: cl_device_id) -> cl_int;
            create fn clCreateEventFromGLsyncKHR(context: cl_context, sync: cl_GLsync) -> cl_event;
            call fn clCreateSubDevices(
                in_device: cl_device_id, properties: *const cl_device_partition_property = pairs,
                num_devices: cl_uint, out_devices: *mut cl_device_id, num_devices_ret: *mut cl_uint
            ) -> cl_int;
            call fn clRetainDevice(device: cl_device_id) -> cl_int;
            call fn clReleaseDevice(device: cl_device_id) -> cl_int;
            create fn clCreateImage(
                context: cl_context, flags: cl_mem_flags, image_format: *const cl_image_format = format,
                image_desc: *const cl_image_desc = description, host_ptr: *mut c_void
            ) -> cl_mem;
            create fn clCreateProgramWithBuiltInKernels(
                context: cl_context, num_devices: cl_uint,
                device_list: *const cl_device_id = list(num_devices), kernel_names: *const c_char = text
            ) -> cl_program;
            call fn clCompileProgram(
                program: cl_program, num_devices: cl_uint,
                device_list: *const cl_device_id = list(num_devices), options: *const c_char = text,
                num_input_headers: cl_uint, input_headers: *const cl_program,
                header_include_names: *mut *const c_char, pfn_notify: OnObject, user_data: *mut c_void
            ) -> cl_int;
            create fn clLinkProgram(
                context: cl_context, num_devices: cl_uint,
                device_list: *const cl_device_id = list(num_devices), options: *const c_char = text,
                num_input_programs: cl_uint, input_programs: *const cl_program = list(num_input_programs),
                pfn_notify: OnObject, user_data: *mut c_void
            ) -> cl_program;
            call fn clUnloadPlatformCompiler(platform: cl_platform_id) -> cl_int;
            call fn clGetKernelArgInfo(
                kernel: cl_kernel, arg_index: cl_uint, param_name: cl_kernel_arg_info,
                param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            enqueue fn clEnqueueFillBuffer(
                command_queue: cl_command_queue, buffer: cl_mem, pattern: *const c_void = bytes(pattern_size),
                pattern_size: usize, offset: usize, size: usize
            );
            enqueue fn clEnqueueFillImage(
                command_queue: cl_command_queue, image: cl_mem, fill_color: *const c_void,
                origin: *const usize = three, region: *const usize = three
            );
            enqueue fn clEnqueueMigrateMemObjects(
                command_queue: cl_command_queue, num_mem_objects: cl_uint,
                mem_objects: *const cl_mem = list(num_mem_objects), flags: cl_mem_migration_flags
            );
            enqueue fn clEnqueueMarkerWithWaitList(command_queue: cl_command_queue);
            enqueue fn clEnqueueBarrierWithWaitList(command_queue: cl_command_queue);
            call_own fn clGetExtensionFunctionAddressForPlatform(
                platform: cl_platform_id, func_name: *const c_char = text
            ) -> *mut c_void;
            create fn clCreateFromGLTexture(
                context: cl_context, flags: cl_mem_flags, target: cl_GLenum, miplevel: cl_GLint,
                texture: cl_GLuint
            ) -> cl_mem;
            create fn clCreateFromEGLImageKHR(
                context: cl_context, egldisplay: CLeglDisplayKHR, eglimage: CLeglImageKHR,
                flags: cl_mem_flags, properties: *const cl_egl_image_properties_khr = pairs
            ) -> cl_mem;
            enqueue fn clEnqueueAcquireEGLObjectsKHR(
                command_queue: cl_command_queue, num_objects: cl_uint,
                mem_objects: *const cl_mem = list(num_objects)
            );
            enqueue fn clEnqueueReleaseEGLObjectsKHR(
                command_queue: cl_command_queue, num_objects: cl_uint,
                mem_objects: *const cl_mem = list(num_objects)
            );
            create fn clCreateEventFromEGLSyncKHR(
                context: cl_context, sync: CLeglSyncKHR, display: CLeglDisplayKHR
            ) -> cl_event;
            create_own fn clCreateCommandQueueWithProperties(
                context: cl_context, device: cl_device_id, properties: *const cl_queue_properties = pairs
            ) -> cl_command_queue;
            create fn clCreatePipe(
                context: cl_context, flags: cl_mem_flags, pipe_packet_size: cl_uint,
                pipe_max_packets: cl_uint, properties: *const cl_pipe_properties = pairs
            ) -> cl_mem;
            call fn clGetPipeInfo(
                pipe: cl_mem, param_name: cl_pipe_info, param_value_size: usize, param_value: *mut c_void,
                param_value_size_ret: *mut usize
            ) -> cl_int;
            call fn clSVMAlloc(
                context: cl_context, flags: cl_svm_mem_flags, size: usize, alignment: cl_uint
            ) -> *mut c_void;
            call fn clSVMFree(context: cl_context, svm_pointer: *mut c_void) -> ();
            enqueue fn clEnqueueSVMFree(
                command_queue: cl_command_queue, num_svm_pointers: cl_uint,
                svm_pointers: *mut *mut c_void = list(num_svm_pointers),
                pfn_free_func: OnSvmFree, user_data: *mut c_void
            );
            enqueue fn clEnqueueSVMMemcpy(
                command_queue: cl_command_queue, blocking_copy: cl_bool, dst_ptr: *mut c_void,
                src_ptr: *const c_void, size: usize
            );
            enqueue fn clEnqueueSVMMemFill(
                command_queue: cl_command_queue, svm_ptr: *mut c_void,
                pattern: *const c_void = bytes(pattern_size), pattern_size: usize, size: usize
            );
            enqueue fn clEnqueueSVMMap(
                command_queue: cl_command_queue, blocking_map: cl_bool, flags: cl_map_flags,
                svm_ptr: *mut c_void, size: usize
            );
            enqueue fn clEnqueueSVMUnmap(command_queue: cl_command_queue, svm_ptr: *mut c_void);
            create fn clCreateSamplerWithProperties(
                context: cl_context, sampler_properties: *const cl_sampler_properties
            ) -> cl_sampler;
            call fn clSetKernelArgSVMPointer(
                kernel: cl_kernel, arg_index: cl_uint, arg_value: *const c_void
            ) -> cl_int;
            call fn clSetKernelExecInfo(
                kernel: cl_kernel, param_name: cl_kernel_exec_info, param_value_size: usize,
                param_value: *const c_void
            ) -> cl_int;
            call fn clGetKernelSubGroupInfoKHR(
                in_kernel: cl_kernel, in_device: cl_device_id, param_name: cl_kernel_sub_group_info,
                input_value_size: usize, input_value: *const c_void, param_value_size: usize,
                param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            create fn clCloneKernel(source_kernel: cl_kernel) -> cl_kernel;
            create fn clCreateProgramWithIL(
                context: cl_context, il: *const c_void = module(length), length: usize
            ) -> cl_program;
            enqueue fn clEnqueueSVMMigrateMem(
                command_queue: cl_command_queue, num_svm_pointers: cl_uint, svm_pointers: *mut *const c_void,
                sizes: *const usize, flags: cl_mem_migration_flags
            );
            call fn clGetDeviceAndHostTimer(
                device: cl_device_id, device_timestamp: *mut cl_ulong, host_timestamp: *mut cl_ulong
            ) -> cl_int;
            call fn clGetHostTimer(device: cl_device_id, host_timestamp: *mut cl_ulong) -> cl_int;
            call fn clGetKernelSubGroupInfo(
                kernel: cl_kernel, device: cl_device_id, param_name: cl_kernel_sub_group_info,
                input_value_size: usize, input_value: *const c_void, param_value_size: usize,
                param_value: *mut c_void, param_value_size_ret: *mut usize
            ) -> cl_int;
            call fn clSetDefaultDeviceCommandQueue(
                context: cl_context, device: cl_device_id, command_queue: cl_command_queue
            ) -> cl_int;
            call fn clSetProgramReleaseCallback(
                program: cl_program, pfn_notify: OnObject, user_data: *mut c_void
            ) -> cl_int;
            call fn clSetProgramSpecializationConstant(
                program: cl_program, spec_id: cl_uint, spec_size: usize,
                spec_value: *const c_void = bytes(spec_size)
            ) -> cl_int;
            create fn clCreateBufferWithProperties(
                context: cl_context, properties: *const cl_mem_properties = pairs, flags: cl_mem_flags,
                size: usize, host_ptr: *mut c_void
            ) -> cl_mem;
            create fn clCreateImageWithProperties(
                context: cl_context, properties: *const cl_mem_properties = pairs, flags: cl_mem_flags,
                image_format: *const cl_image_format = format, image_desc: *const cl_image_desc = description,
                host_ptr: *mut c_void
            ) -> cl_mem;
            call fn clSetContextDestructorCallback(
                context: cl_context, pfn_notify: OnObject, user_data: *mut c_void
            ) -> cl_int;
        }
    };
}
pub(crate) use functions;
