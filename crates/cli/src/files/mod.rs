//! Files in and out: pictures, arrays, and outputs that are written completely or not at all.

pub(crate) mod folder;
pub(crate) mod frame;
pub(crate) mod input;
pub(crate) mod memory;
pub(crate) mod npy;
mod npy_header;
pub(crate) mod originals;
pub(crate) mod output;
pub(crate) mod picture;
mod several;
