//! Protobuf messages that are built field by field.

use std::convert::Infallible;

use micropb::{PbEncoder, Tag, WIRE_TYPE_I64, WIRE_TYPE_LEN, WIRE_TYPE_VARINT};

/// A message; each method adds a field by its number.
pub(super) struct Message(PbEncoder<Vec<u8>>);

impl Message {
    pub(super) fn new() -> Self {
        Self(PbEncoder::new(Vec::new()))
    }

    pub(super) fn uint(mut self, field: u32, value: u64) -> Self {
        done(self.0.encode_tag(Tag::from_parts(field, WIRE_TYPE_VARINT)));
        done(self.0.encode_varint64(value));
        self
    }

    pub(super) fn double(mut self, field: u32, value: f64) -> Self {
        done(self.0.encode_tag(Tag::from_parts(field, WIRE_TYPE_I64)));
        done(self.0.encode_double(value));
        self
    }

    pub(super) fn text(mut self, field: u32, value: &str) -> Self {
        done(self.0.encode_tag(Tag::from_parts(field, WIRE_TYPE_LEN)));
        done(self.0.encode_string(value));
        self
    }

    pub(super) fn message(mut self, field: u32, value: &Self) -> Self {
        done(self.0.encode_tag(Tag::from_parts(field, WIRE_TYPE_LEN)));
        done(self.0.encode_bytes(value.0.as_writer()));
        self
    }

    /// Adds one field for each item.
    pub(super) fn each<T>(self, items: impl IntoIterator<Item = T>, add: impl Fn(Self, T) -> Self) -> Self {
        items.into_iter().fold(self, add)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0.into_writer()
    }
}

/// Writing to memory does not fail.
fn done(result: Result<(), Infallible>) {
    match result {
        Ok(()) => {}
    }
}
