//! What goes wrong while a kernel runs.

pub mod rules;
