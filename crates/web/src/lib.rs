//! Static analysis of SPIR-V in a browser: what `tripipe analyze` says of a module, computed in WebAssembly.
//!
//! The page (`page/index.html`) calls three functions: [`input`] has room for a request in JSON or for a module,
//! [`answer`] answers the request, and [`output`] is where the answer lies. Bytes of both sides are in buffers of
//! this crate, so that nothing here needs `unsafe` code. `scripts/web` builds all of it into `target/web`.
//!
//! What a browser lacks is clang, so a module is analysed as it is, and rewrites price no advice. The page's own modules
//! were optimised as a driver does when it was built. The digits are those of the command for the same module.

mod analysis;
mod request;

use std::sync::{Mutex, PoisonError};

pub use request::{Analyze, Ask, Failure, respond};

/// What the page sends, and what it is answered.
struct Buffers {
    request: Vec<u8>,
    module: Vec<u8>,
    answer: Vec<u8>,
}

static BUFFERS: Mutex<Buffers> =
    Mutex::new(Buffers { request: Vec::new(), module: Vec::new(), answer: Vec::new() });

/// Room for so many bytes: of a request, a text in JSON ([`Ask`]), or else of a module. The address holds until the next
/// call.
#[allow(unsafe_code, reason = "a name that the page can call; no other function has it")]
#[unsafe(export_name = "tripipe_input")]
pub extern "C" fn input(is_module: bool, bytes: usize) -> *mut u8 {
    let mut buffers = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
    let Buffers { request, module, .. } = &mut *buffers;
    let buffer = if is_module { module } else { request };
    buffer.clear();
    buffer.resize(bytes, 0);
    buffer.as_mut_ptr()
}

/// Answers the request: the number of bytes of the answer; if negative, that of a sentence that says why there is none.
#[allow(unsafe_code, reason = "a name that the page can call; no other function has it")]
#[unsafe(export_name = "tripipe_answer")]
pub extern "C" fn answer() -> isize {
    let mut buffers = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = respond(&buffers.request, &buffers.module);
    let is_answered = answer.is_ok();
    buffers.answer = answer.unwrap_or_else(|failure| failure.to_string()).into_bytes();
    let bytes = buffers.answer.len() as isize;
    if is_answered { bytes } else { -bytes }
}

/// The address of the answer, which holds until the next one.
#[allow(unsafe_code, reason = "a name that the page can call; no other function has it")]
#[unsafe(export_name = "tripipe_output")]
pub extern "C" fn output() -> *const u8 {
    BUFFERS.lock().unwrap_or_else(PoisonError::into_inner).answer.as_ptr()
}
