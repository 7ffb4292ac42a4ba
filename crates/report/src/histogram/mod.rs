//! The frequency of each value in a picture, as text.

mod text;

pub use text::text;
