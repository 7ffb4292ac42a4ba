//! The rules of the checks: one [`Rule`] for each kind of finding, with its explanation.
//!
//! Codes are never renamed and never reused, because users' files refer to them. Their code compiles, with the
//! options of a first line `// options:`.

mod arguments;
mod bounds;
mod collectives;
mod floats;
mod images;
mod integers;
mod outcome;
mod pointers;
mod races;
mod values;

use tripipe_ir::diagnostic::Rule;

pub use arguments::{ALIASING_ARGUMENTS, ARGUMENT_TYPE, READ_ONLY_WRITE, UNUSED_ARGUMENT, WRITE_ONLY_READ};
pub use bounds::{INNER_ARRAY_BOUNDS, LANE_OUT_OF_RANGE, OUT_OF_BOUNDS_READ, OUT_OF_BOUNDS_WRITE};
pub use collectives::{
    ASYNC_COPY_DIVERGENCE, ASYNC_COPY_UNWAITED, BARRIER_DIVERGENCE, COLLECTIVE_DIVERGENCE,
};
pub use floats::{ACCURACY_LOST, FLOAT_TO_INT_RANGE, HALF_OVERFLOW, HALF_UNDERFLOW, NAN_BORN};
pub use images::{IMAGE_READ_OUTSIDE, IMAGE_WRITE_OUTSIDE};
pub use integers::{DIVISION_BY_ZERO, DIVISION_OVERFLOW, SHIFT_PAST_WIDTH, SIGNED_OVERFLOW};
pub use outcome::{INFINITE_LOOP, KERNEL_WITHOUT_EFFECT};
pub use pointers::{ADDRESS_OVERFLOW, DANGLING_POINTER, MISALIGNED_ACCESS, MISALIGNED_VECTOR, NULL_POINTER};
pub use races::{ATOMIC_MIXED, DATA_RACE, DATA_RACE_BETWEEN_GROUPS, SAME_VALUE_RACE, WRONG_FENCE};
pub use values::UNINITIALISED_VALUE;

/// Every rule of the checks, by topic.
pub const ALL: &[&Rule] = &[
    &OUT_OF_BOUNDS_READ,
    &OUT_OF_BOUNDS_WRITE,
    &INNER_ARRAY_BOUNDS,
    &LANE_OUT_OF_RANGE,
    &NULL_POINTER,
    &DANGLING_POINTER,
    &MISALIGNED_ACCESS,
    &MISALIGNED_VECTOR,
    &ADDRESS_OVERFLOW,
    &SIGNED_OVERFLOW,
    &UNINITIALISED_VALUE,
    &DATA_RACE,
    &DATA_RACE_BETWEEN_GROUPS,
    &SAME_VALUE_RACE,
    &ATOMIC_MIXED,
    &WRONG_FENCE,
    &BARRIER_DIVERGENCE,
    &COLLECTIVE_DIVERGENCE,
    &ASYNC_COPY_DIVERGENCE,
    &ASYNC_COPY_UNWAITED,
    &IMAGE_READ_OUTSIDE,
    &IMAGE_WRITE_OUTSIDE,
    &READ_ONLY_WRITE,
    &WRITE_ONLY_READ,
    &ALIASING_ARGUMENTS,
    &UNUSED_ARGUMENT,
    &ARGUMENT_TYPE,
    &DIVISION_BY_ZERO,
    &DIVISION_OVERFLOW,
    &SHIFT_PAST_WIDTH,
    &FLOAT_TO_INT_RANGE,
    &HALF_OVERFLOW,
    &HALF_UNDERFLOW,
    &ACCURACY_LOST,
    &NAN_BORN,
    &KERNEL_WITHOUT_EFFECT,
    &INFINITE_LOOP,
];

/// The rule with this code.
pub fn find(code: &str) -> Option<&'static Rule> {
    ALL.iter().copied().find(|rule| rule.code == code)
}
