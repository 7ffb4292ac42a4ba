//! Programs.

use std::ffi::{c_char, c_uchar, c_void};
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{
    cl_context, cl_device_id, cl_int, cl_program, cl_program_build_info, cl_program_info, cl_uint,
};

use super::boundary::{answer, list, put, reported, status, text};
use crate::driver::binary::Binary;
use crate::driver::build::{self, BuildOptions};
use crate::driver::context::{Callback, Context};
use crate::driver::device::Device;
use crate::driver::failure::{Failure, Outcome, require};
use crate::driver::handle::{ApiObject as _, find};
use crate::driver::program::{Origin, Program, Step};

/// The callback of builds.
type BuildNotify = Option<unsafe extern "C" fn(cl_program, *mut c_void)>;

/// Calls the callback of a build with the program.
type Notification = Box<dyn FnOnce(usize) + Send>;

/// The callback of a build.
fn notification(notify: BuildNotify, user_data: *mut c_void) -> Outcome<Option<Notification>> {
    let user_data = user_data as usize;
    let Some(notify) = notify else {
        require(user_data == 0, cl::CL_INVALID_VALUE, "there is user data without a callback")?;
        return Ok(None);
    };
    // SAFETY: the application passed a function for this, which may be called from any thread.
    Ok(Some(Box::new(move |program| unsafe { notify(program as *mut c_void, user_data as *mut c_void) })))
}

/// Runs a build here, or on a thread of its own if there is a callback.
fn run(work: impl FnOnce() -> Outcome<()> + Send + 'static, notify: Option<Callback>) -> Outcome<()> {
    let Some(notify) = notify else { return work() };
    let thread = std::thread::Builder::new().name("tripipe-build".into()).spawn(move || {
        // The build's status and log say whether it failed.
        let _ = work();
        notify();
    });
    thread.map(drop).map_err(|error| Failure::new(cl::CL_OUT_OF_RESOURCES, error.to_string()))
}

/// The devices of a call; all of `others` for NULL.
unsafe fn devices(
    count: cl_uint,
    handles: *const cl_device_id,
    others: &[Arc<Device>],
) -> Outcome<Vec<Arc<Device>>> {
    // SAFETY: the application passes NULL or that number of handles.
    let handles = unsafe { list(handles, count as usize, cl::CL_INVALID_VALUE)? };
    if handles.is_empty() {
        return Ok(others.to_vec());
    }
    handles.into_iter().map(find::<Device>).collect()
}

unsafe fn options(pointer: *const c_char) -> Outcome<String> {
    // SAFETY: the application passes NULL or a text.
    if pointer.is_null() { Ok(String::new()) } else { unsafe { text(pointer) } }
}

constructor! {
    fn clCreateProgramWithSource(
        context: cl_context,
        count: cl_uint,
        strings: *mut *const c_char,
        lengths: *const usize,
    ) {
        let context = find::<Context>(context)?;
        require(count > 0 && !strings.is_null(), cl::CL_INVALID_VALUE, "there is no source")?;
        let mut source = Vec::new();
        for index in 0..count as usize {
            let string = strings.add(index).read_unaligned();
            require(!string.is_null(), cl::CL_INVALID_VALUE, "a part of the source is NULL")?;
            let length = if lengths.is_null() { 0 } else { lengths.add(index).read_unaligned() };
            let bytes = if length == 0 {
                std::ffi::CStr::from_ptr(string).to_bytes()
            } else {
                std::slice::from_raw_parts(string.cast::<u8>(), length)
            };
            source.extend_from_slice(bytes);
        }
        // Some applications count the 0 at the end.
        while source.last() == Some(&0) {
            source.pop();
        }
        let source = String::from_utf8_lossy(&source).into_owned();
        let devices = context.devices().to_vec();
        Ok(Program::new(context, devices, Origin::Source(source)).handle().pointer())
    }

    fn clCreateProgramWithIL(context: cl_context, pointer: *const c_void, length: usize) {
        let context = find::<Context>(context)?;
        require(!pointer.is_null() && length > 0, cl::CL_INVALID_VALUE, "there is no module")?;
        let bytes: Vec<u8> = list(pointer.cast::<u8>(), length, cl::CL_INVALID_VALUE)?;
        build::check_module(&bytes)?;
        let devices = context.devices().to_vec();
        Ok(Program::new(context, devices, Origin::Module(bytes)).handle().pointer())
    }

    fn clCreateProgramWithBinary(
        context: cl_context,
        num_devices: cl_uint,
        device_list: *const cl_device_id,
        lengths: *const usize,
        binaries: *mut *const c_uchar,
        binary_status: *mut cl_int,
    ) {
        let context = find::<Context>(context)?;
        let some = num_devices > 0 && !device_list.is_null() && !lengths.is_null() && !binaries.is_null();
        require(some, cl::CL_INVALID_VALUE, "there is no device or no binary")?;
        let devices = devices(num_devices, device_list, &[])?;
        for device in &devices {
            context.check_device(device)?;
        }
        let mut first = None;
        for index in 0..devices.len() {
            let (length, bytes) = (lengths.add(index).read_unaligned(), binaries.add(index).read_unaligned());
            let place = if binary_status.is_null() { binary_status } else { binary_status.add(index) };
            if length == 0 || bytes.is_null() {
                put(place, cl::CL_INVALID_VALUE);
                return Err(Failure::new(cl::CL_INVALID_VALUE, "a binary is empty"));
            }
            let decoded = Binary::decode(&list(bytes, length, cl::CL_INVALID_VALUE)?);
            put(place, decoded.as_ref().err().map_or(cl::CL_SUCCESS, |failure| failure.code));
            let decoded = decoded?;
            first.get_or_insert(decoded);
        }
        let binary = first.ok_or_else(|| Failure::new(cl::CL_INVALID_VALUE, "there is no binary"))?;
        Ok(Program::new(context, devices, Origin::Binary(binary)).handle().pointer())
    }

    fn clCreateProgramWithBuiltInKernels(
        context: cl_context,
        _num_devices: cl_uint,
        _devices: *const cl_device_id,
        _names: *const c_char,
    ) {
        find::<Context>(context)?;
        Err(Failure::new(cl::CL_INVALID_VALUE, "no device has built-in kernels"))
    }
}

/// Links programs. If they do not link, it returns a program, which has the log, beside the error.
#[allow(non_snake_case, clippy::too_many_arguments, reason = "a function of the API")]
pub(crate) unsafe extern "C" fn clLinkProgram(
    context: cl_context,
    num_devices: cl_uint,
    device_list: *const cl_device_id,
    option_text: *const c_char,
    num_programs: cl_uint,
    programs: *const cl_program,
    notify: BuildNotify,
    user_data: *mut c_void,
    errcode_ret: *mut cl_int,
) -> *mut c_void {
    let mut made = std::ptr::null_mut();
    let code = status(|| {
        let context = find::<Context>(context)?;
        let notify = notification(notify, user_data)?;
        require(
            num_programs > 0 && !programs.is_null(),
            cl::CL_INVALID_VALUE,
            "there is no program to link",
        )?;
        // SAFETY: the application passes lists of these lengths, and a text that ends with a 0.
        let (handles, devices, text) = unsafe {
            let handles = list(programs, num_programs as usize, cl::CL_INVALID_VALUE)?;
            (handles, devices(num_devices, device_list, context.devices())?, options(option_text)?)
        };
        let programs: Vec<Arc<Program>> = handles.into_iter().map(find::<Program>).collect::<Outcome<_>>()?;
        for device in &devices {
            context.check_device(device)?;
        }
        let parsed = BuildOptions::parse(&text);
        let parsed = parsed.map_err(|failure| Failure { code: cl::CL_INVALID_LINKER_OPTIONS, ..failure })?;
        let (linked, outcome) = Program::link(&context, devices, &programs, &text, &parsed);
        let Some(linked) = linked else { return outcome };
        made = linked.handle().pointer();
        if let Some(notify) = notify {
            notify(linked.handle().address());
            return Ok(());
        }
        reported(&linked, outcome)
    });
    // SAFETY: the application passes NULL or a place for the code.
    unsafe { put(errcode_ret, code) };
    made
}

references! { Program: clRetainProgram, clReleaseProgram; }

function! {
    fn clBuildProgram(
        program: cl_program,
        num_devices: cl_uint,
        device_list: *const cl_device_id,
        option_text: *const c_char,
        notify: BuildNotify,
        user_data: *mut c_void,
    ) {
        let found = find::<Program>(program)?;
        let notify = notification(notify, user_data)?;
        found.check_devices(&devices(num_devices, device_list, found.devices())?)?;
        let text = options(option_text)?;
        let parsed = BuildOptions::parse(&text)?;
        found.begin(&text)?;
        let handle = program as usize;
        let notify = notify.map(|notify| -> Callback { Box::new(move || notify(handle)) });
        let owned = Arc::clone(&found);
        reported(&found, run(move || owned.build(Step::Build, &parsed, &[]), notify))
    }

    fn clCompileProgram(
        program: cl_program,
        num_devices: cl_uint,
        device_list: *const cl_device_id,
        option_text: *const c_char,
        num_headers: cl_uint,
        header_programs: *const cl_program,
        header_names: *mut *const c_char,
        notify: BuildNotify,
        user_data: *mut c_void,
    ) {
        let found = find::<Program>(program)?;
        let notify = notification(notify, user_data)?;
        found.check_devices(&devices(num_devices, device_list, found.devices())?)?;
        let text_of_options = options(option_text)?;
        let parsed = BuildOptions::parse(&text_of_options);
        let parsed = parsed.map_err(|failure| Failure { code: cl::CL_INVALID_COMPILER_OPTIONS, ..failure })?;
        let handles = list(header_programs, num_headers as usize, cl::CL_INVALID_VALUE)?;
        let names = list(header_names.cast_const(), num_headers as usize, cl::CL_INVALID_VALUE)?;
        let mut headers = Vec::new();
        for (handle, name) in handles.into_iter().zip(names) {
            let header = find::<Program>(handle)?;
            let Origin::Source(source) = &header.origin else {
                return Err(Failure::new(cl::CL_INVALID_VALUE, "a header has no source"));
            };
            headers.push((text(name)?, source.clone()));
        }
        found.begin(&text_of_options)?;
        let handle = program as usize;
        let notify = notify.map(|notify| -> Callback { Box::new(move || notify(handle)) });
        let owned = Arc::clone(&found);
        reported(&found, run(move || owned.build(Step::Compile, &parsed, &headers), notify))
    }

    fn clGetProgramInfo(
        program: cl_program,
        query: cl_program_info,
        size: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        let program = find::<Program>(program)?;
        if query != cl::CL_PROGRAM_BINARIES {
            return answer(&reported(&program, program.info(query))?, size, value, size_ret);
        }
        // The application passes a list of places, and NULL for binaries that it does not want.
        let count = program.devices().len();
        put(size_ret, count * size_of::<*mut c_uchar>());
        if value.is_null() {
            return Ok(());
        }
        require(size >= count * size_of::<*mut c_uchar>(), cl::CL_INVALID_VALUE, "there are too few places")?;
        let binary = program.binary();
        for index in 0..count {
            let place = value.cast::<*mut c_uchar>().add(index).read_unaligned();
            if !place.is_null() {
                std::ptr::copy_nonoverlapping(binary.as_ptr(), place, binary.len());
            }
        }
        Ok(())
    }

    fn clSetProgramSpecializationConstant(
        program: cl_program,
        id: cl_uint,
        size: usize,
        value: *const c_void,
    ) {
        let program = find::<Program>(program)?;
        require(!value.is_null() && size > 0, cl::CL_INVALID_VALUE, "the value is NULL")?;
        program.set_specialization(id, list(value.cast::<u8>(), size, cl::CL_INVALID_VALUE)?)
    }

    fn clSetProgramReleaseCallback(
        program: cl_program,
        _notify: BuildNotify,
        _user_data: *mut c_void,
    ) {
        find::<Program>(program)?;
        Err(Failure::new(cl::CL_INVALID_OPERATION, "programs have no destructors of global variables"))
    }
}

query! {
    fn clGetProgramBuildInfo(program: cl_program, device: cl_device_id, query: cl_program_build_info) {
        let program = find::<Program>(program)?;
        let device = find::<Device>(device)?;
        reported(&program, program.build_info(&device, query))
    }
}
