//! Launch files: parsing, errors and their messages, loading.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

mod documentation;
mod keys;
mod loaded;
mod refused;
mod robust;
mod sequence;
mod sim;
mod tuning;

use tripipe_launch_file::{
    Array, ElementType, FileError, Files, LaunchFile, Limits, Loaded, Parameter, ParameterKind, Pixels,
    Signature,
};

/// A file with these arguments and the required keys.
fn with(arguments: &str) -> String {
    format!("source = \"k.cl\"\nglobal = 8\n{arguments}")
}

fn parse(text: &str) -> Result<LaunchFile, FileError> {
    tripipe_launch_file::parse(text, "k.toml")
}

fn element(name: &str) -> ElementType {
    ElementType::from_opencl_name(name).unwrap()
}

/// A kernel `k` with parameters `a`, `b`, ... of these kinds.
fn kernel(kinds: &[ParameterKind]) -> Signature {
    let names = ('a'..='z').map(|name| name.to_string());
    let parameters = names.zip(kinds).map(|(name, kind)| Parameter { name, kind: kind.clone() });
    Signature { kernel: "k".to_owned(), parameters: parameters.collect() }
}

fn buffer(name: &str) -> ParameterKind {
    ParameterKind::Buffer { element: ElementType::from_opencl_name(name) }
}

fn value(name: &str) -> ParameterKind {
    ParameterKind::Value(element(name))
}

/// Returns the same three files for every name.
struct Shelf {
    bytes: Vec<u8>,
    array: Array,
    pixels: Pixels,
}

impl Default for Shelf {
    fn default() -> Self {
        let numbers = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].into_iter().flat_map(f32::to_ne_bytes).collect();
        Self {
            bytes: (1..=12).collect(),
            array: Array { extents: vec![2, 3], scalar: element("float").scalar(), bytes: numbers },
            pixels: Pixels { width: 2, height: 1, channels: 3, bytes: vec![10, 20, 30, 40, 50, 60] },
        }
    }
}

impl Files for Shelf {
    fn bytes(&mut self, path: &str, at_most: u64) -> Result<Vec<u8>, String> {
        if path == "missing.bin" {
            return Err("missing.bin is not there; check the path".to_owned());
        }
        if self.bytes.len() as u64 > at_most {
            return Err(format!("{path} has more than {at_most} bytes"));
        }
        Ok(self.bytes.clone())
    }

    fn array(&mut self, _: &str, _: u64) -> Result<Array, String> {
        Ok(self.array.clone())
    }

    /// Gray is the first channel, alpha is 255.
    fn picture(&mut self, _: &str, channels: Option<usize>, _: u64) -> Result<Pixels, String> {
        let found = &self.pixels;
        let channels = channels.unwrap_or(found.channels);
        let pixel = |pixel: &[u8]| match channels {
            1 => vec![pixel[0]],
            2 => vec![pixel[0], 255],
            3 => pixel.to_vec(),
            _ => [pixel, &[255]].concat(),
        };
        let bytes = found.bytes.chunks(found.channels).flat_map(pixel).collect();
        Ok(Pixels { channels, bytes, ..found.clone() })
    }
}

fn load(text: &str, kinds: &[ParameterKind]) -> Result<Loaded, FileError> {
    parse(text)?.load(&[kernel(kinds)], &mut Shelf::default(), Limits::default())
}
