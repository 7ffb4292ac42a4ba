//! The cached form of a program: the driver's binary, and the kernels with their arguments.
//!
//! The key covers everything that a binary depends on: source, options, device, driver and platform. It does not cover
//! included files: a program must be self-contained. The arguments are stored because a driver need not provide them
//! for a program made from a binary, and launches are checked against them. The driver may reject a valid binary; then
//! the program is built from source.

use tripipe_cache::Key;
use tripipe_launch::{Program, Source};

use crate::devices::Device;
use crate::kernel::{ArgumentInfo, Space};

/// Incremented whenever the format, or anything about how binaries are made, changes.
const VERSION: u32 = 3;

/// The key of `program` on `device`, built with `options` (all of them, in order).
pub(crate) fn key(program: &Program, options: &str, device: &Device) -> Key {
    let probe = device.probe();
    let (form, source): (&[u8], &[u8]) = match &program.source {
        Source::OpenClC(text) => (b"c", text.as_bytes()),
        Source::SpirV(words) => (b"spirv", words),
        _ => (b"", b""),
    };
    Key::of(
        "program",
        &[
            &VERSION.to_le_bytes(),
            form,
            source,
            options.as_bytes(),
            probe.name.as_bytes(),
            probe.vendor.as_bytes(),
            probe.version.as_bytes(),
            probe.driver.as_bytes(),
            probe.platform.as_bytes(),
            device.platform_version().as_bytes(),
        ],
    )
}

/// The cached data of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The binary that the driver returned.
    pub(crate) binary: Vec<u8>,
    /// The kernels whose arguments were known.
    pub(crate) kernels: Vec<RecordedKernel>,
}

/// A kernel and its arguments, as the driver reported them when the program was built from source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedKernel {
    pub(crate) name: String,
    pub(crate) arguments: Vec<ArgumentInfo>,
}

impl Entry {
    /// The serialised form: numbers little-endian, lists and strings preceded by their length.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.binary.len() + 256);
        put_count(&mut body, self.kernels.len());
        for kernel in &self.kernels {
            put_bytes(&mut body, kernel.name.as_bytes());
            put_count(&mut body, kernel.arguments.len());
            for argument in &kernel.arguments {
                put_bytes(&mut body, argument.name.as_bytes());
                put_bytes(&mut body, argument.type_name.as_bytes());
                body.push(match argument.space {
                    Space::Global => 0,
                    Space::Constant => 1,
                    Space::Local => 2,
                    Space::Private => 3,
                });
                body.push(u8::from(argument.read_only));
            }
        }
        put_bytes(&mut body, &self.binary);
        body
    }

    /// Parses the output of [`Self::encode`]; `None` for anything else.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut body = Reader(bytes);
        let mut kernels = Vec::new();
        for _ in 0..body.number()? {
            let name = body.text()?;
            let mut arguments = Vec::new();
            for _ in 0..body.number()? {
                let (name, type_name) = (body.text()?, body.text()?);
                let space = match body.take(1)? {
                    [0] => Space::Global,
                    [1] => Space::Constant,
                    [2] => Space::Local,
                    [3] => Space::Private,
                    _ => return None,
                };
                let read_only = match body.take(1)? {
                    [0] => false,
                    [1] => true,
                    _ => return None,
                };
                arguments.push(ArgumentInfo { name, type_name, space, read_only });
            }
            kernels.push(RecordedKernel { name, arguments });
        }
        let binary = body.bytes()?.to_vec();
        body.0.is_empty().then_some(Self { binary, kernels })
    }
}

fn put_count(to: &mut Vec<u8>, count: usize) {
    to.extend_from_slice(&(count as u64).to_le_bytes());
}

fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put_count(to, bytes.len());
    to.extend_from_slice(bytes);
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        self.take(len)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_binary_come_back() {
        let argument = |name: &str, type_name: &str, space| ArgumentInfo {
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            space,
            read_only: space == Space::Constant,
        };
        let entry = Entry {
            binary: vec![1, 2, 3],
            kernels: vec![
                RecordedKernel { name: "none".to_owned(), arguments: Vec::new() },
                RecordedKernel {
                    name: "all".to_owned(),
                    arguments: vec![
                        argument("a", "float*", Space::Global),
                        argument("b", "float4*", Space::Constant),
                        argument("c", "int*", Space::Local),
                        argument("d", "uint", Space::Private),
                    ],
                },
            ],
        };
        let kept = entry.encode();
        for cut in 0..kept.len() {
            assert_eq!(Entry::decode(&kept[..cut]), None, "cut to {cut}");
        }
        assert_eq!(Entry::decode(&[&kept[..], &[0]].concat()), None);
        assert_eq!(Entry::decode(&kept), Some(entry));
    }

    #[test]
    fn a_wrong_length_does_not_panic() {
        for body in [u64::MAX.to_le_bytes().to_vec(), [1u64.to_le_bytes(), u64::MAX.to_le_bytes()].concat()] {
            assert_eq!(Entry::decode(&body), None);
        }
    }
}
