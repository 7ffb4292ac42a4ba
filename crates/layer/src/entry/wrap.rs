//! What the layer does around a call.

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::time::Instant;

use opencl_sys::{CL_SUCCESS, cl_event, cl_int, cl_uint};

use super::{MISSING, put, read};
use crate::call::Call;
use crate::function::Function;
use crate::layer::{Layer, Prepared};

/// The callbacks of the API.
pub(super) type OnContextError =
    Option<unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>;
/// Programs, memory objects and contexts.
pub(super) type OnObject = Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>;
pub(super) type OnEvent = Option<unsafe extern "C" fn(cl_event, cl_int, *mut c_void)>;
pub(super) type OnNative = Option<unsafe extern "C" fn(*mut c_void)>;
pub(super) type OnSvmFree = Option<unsafe extern "C" fn(*mut c_void, cl_uint, *mut *mut c_void, *mut c_void)>;

/// An argument as a number.
pub(super) trait Word: Copy {
    /// The number; of a pointer the address.
    fn word(self) -> u64;
}

macro_rules! words {
    ($($ty:ty: $value:ident => $word:expr;)*) => {
        $(impl Word for $ty {
            fn word(self) -> u64 {
                let $value = self;
                $word
            }
        })*
    };
}
words! {
    u32: value => value.into();
    i32: value => i64::from(value) as u64;
    u64: value => value;
    usize: value => value as u64;
    OnContextError: value => value.map_or(0, |function| function as usize as u64);
    OnObject: value => value.map_or(0, |function| function as usize as u64);
    OnEvent: value => value.map_or(0, |function| function as usize as u64);
    OnNative: value => value.map_or(0, |function| function as usize as u64);
    OnSvmFree: value => value.map_or(0, |function| function as usize as u64);
}

impl<T> Word for *const T {
    fn word(self) -> u64 {
        self.addr() as u64
    }
}

impl<T> Word for *mut T {
    fn word(self) -> u64 {
        self.addr() as u64
    }
}

/// The result of a function without a place for an error code.
pub(super) trait Answer: Copy {
    /// What it returns if the driver does not have it.
    const MISSING: Self;

    /// The error code, and the pointer that it returned.
    fn outcome(self) -> (cl_int, u64);
}

impl Answer for cl_int {
    const MISSING: Self = MISSING;

    fn outcome(self) -> (cl_int, u64) {
        (self, 0)
    }
}

impl Answer for *mut c_void {
    const MISSING: Self = null_mut();

    fn outcome(self) -> (cl_int, u64) {
        (CL_SUCCESS, self.word())
    }
}

impl Answer for () {
    const MISSING: Self = ();

    fn outcome(self) -> (cl_int, u64) {
        (CL_SUCCESS, 0)
    }
}

/// A call that goes on: what the layer did before it.
struct CallInProgress {
    layer: &'static Layer,
    prepared: Option<Prepared>,
    start: Instant,
}

/// Begins a call; `None` if the layer does nothing.
///
/// # Safety
/// The words are the arguments of the function, as the application passed them.
unsafe fn begin(function: Function, words: &[u64]) -> Option<CallInProgress> {
    let layer = Layer::current()?;
    // SAFETY: as the caller promises; the driver will read the same.
    let arguments = || unsafe { read::arguments(layer, function, words, true) };
    let prepared =
        catch_unwind(AssertUnwindSafe(|| layer.before(function, words, &arguments))).ok().flatten();
    Some(CallInProgress { layer, prepared, start: Instant::now() })
}

impl CallInProgress {
    /// Ends a call. `own_event` is an event that the layer asked for, `event` one of the application.
    ///
    /// # Safety
    /// As for [`begin`].
    unsafe fn end(
        self,
        function: Function,
        words: &[u64],
        (code, result): (cl_int, u64),
        (event, own_event): (cl_event, cl_event),
    ) {
        let time = [self.start, Instant::now()];
        let layer = self.layer;
        // A panic is not reported: the application's results do not depend on it.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: as the caller promises.
            let arguments = unsafe { read::arguments(layer, function, words, code == CL_SUCCESS) };
            let call = Call {
                function,
                number: layer.next_number(),
                arguments,
                code,
                result,
                event: event.word(),
                thread: layer.thread(),
                time,
            };
            layer.after(call, own_event.word(), self.prepared);
        }));
    }
}

/// Passes a call on. `next` is the function; `None` if the driver does not have it.
///
/// # Safety
/// The words are the arguments of the function, as the application passed them.
pub(super) unsafe fn call<F, R: Answer>(
    function: Function,
    words: &[u64],
    next: Option<F>,
    call: impl FnOnce(F) -> R,
) -> R {
    let Some(next) = next else { return R::MISSING };
    // SAFETY: as the caller promises.
    let going = unsafe { begin(function, words) };
    let answer = call(next);
    if let Some(going) = going {
        // SAFETY: as the caller promises.
        unsafe { going.end(function, words, answer.outcome(), (null_mut(), null_mut())) };
    }
    answer
}

/// Passes a call on that makes something.
///
/// # Safety
/// As for [`call`]; `errcode_ret` is NULL or a place for a code.
pub(super) unsafe fn create<F>(
    function: Function,
    words: &[u64],
    errcode_ret: *mut cl_int,
    next: Option<F>,
    call: impl FnOnce(F, *mut cl_int) -> *mut c_void,
) -> *mut c_void {
    let Some(next) = next else {
        // SAFETY: as the caller promises.
        unsafe { put(errcode_ret, MISSING) };
        return null_mut();
    };
    // SAFETY: as the caller promises.
    let going = unsafe { begin(function, words) };
    let mut code = CL_SUCCESS;
    let made = call(next, &raw mut code);
    // SAFETY: as the caller promises.
    unsafe { put(errcode_ret, code) };
    if let Some(going) = going {
        // SAFETY: as the caller promises.
        unsafe { going.end(function, words, (code, made.word()), (null_mut(), null_mut())) };
    }
    made
}

/// Passes an enqueue on. If the application wants no event, and the layer does, the layer asks for one.
///
/// # Safety
/// As for [`call`]; `event` is NULL or a place for an event.
pub(super) unsafe fn enqueue<F>(
    function: Function,
    words: &[u64],
    event: *mut cl_event,
    next: Option<F>,
    call: impl FnOnce(F, *mut cl_event) -> cl_int,
) -> cl_int {
    let mut code = MISSING;
    // SAFETY: as the caller promises.
    unsafe {
        map(function, words, event, &raw mut code, next, |next, event, code| {
            *code = call(next, event);
            null_mut()
        });
    }
    code
}

/// Passes an enqueue on that returns a pointer.
///
/// # Safety
/// As for [`enqueue`] and [`create`].
pub(super) unsafe fn map<F>(
    function: Function,
    words: &[u64],
    event: *mut cl_event,
    errcode_ret: *mut cl_int,
    next: Option<F>,
    call: impl FnOnce(F, *mut cl_event, &mut cl_int) -> *mut c_void,
) -> *mut c_void {
    let Some(next) = next else {
        // SAFETY: as the caller promises.
        unsafe { put(errcode_ret, MISSING) };
        return null_mut();
    };
    // SAFETY: as the caller promises.
    let Some(going) = (unsafe { begin(function, words) }) else {
        let mut code = CL_SUCCESS;
        let mapped = call(next, event, &mut code);
        // SAFETY: as the caller promises.
        unsafe { put(errcode_ret, code) };
        return mapped;
    };
    let (mut made, mut code) = (null_mut(), CL_SUCCESS);
    let is_own = event.is_null() && going.layer.wants_event();
    let place = if is_own { &raw mut made } else { event };
    let mapped = call(next, place, &mut code);
    // SAFETY: as the caller promises.
    unsafe { put(errcode_ret, code) };
    let events = if code != CL_SUCCESS || place.is_null() {
        (null_mut(), null_mut())
    } else if is_own {
        (null_mut(), made)
    } else {
        // SAFETY: the driver has put an event there.
        (unsafe { event.read_unaligned() }, null_mut())
    };
    // SAFETY: as the caller promises.
    unsafe { going.end(function, words, (code, mapped.word()), events) };
    mapped
}
