//! `.npy` files, written and read only by the description of the format.

/// A version 1.0 file.
pub(super) fn file(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

pub(super) fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Header text and data of a version 1.0 file.
pub(super) fn parts(bytes: &[u8]) -> (String, &[u8]) {
    assert!(bytes.starts_with(b"\x93NUMPY\x01\x00"));
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    (String::from_utf8(bytes[10..10 + length].to_vec()).unwrap(), &bytes[10 + length..])
}
