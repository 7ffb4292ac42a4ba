//! The text form: one line per instruction; it prints ([`std::fmt::Display`] of [`crate::Module`]) and parses back
//! ([`parse`]) to the same module.
//!
//! ```text
//! tripipe-ir 1
//! file0 "add.cl"
//! kernel "add" {
//!   parameter "a" "int*" pointer global align 4 to i32
//!   place !0 file0 2 11
//!   const %3: i32 = 1
//! b0(%0 "a": ptr.global):
//!   %1: i32 = load.4 %0 !0
//!   %2 "sum": i32 = add [nsw] %1, %3 !0
//!   store.4 %0, %2 !0
//!   return
//! }
//! ```

mod lex;
mod parse;
mod print;

pub use parse::{ParseError, parse};
