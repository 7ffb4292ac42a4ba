//! Binaries of programs, as the application gets and passes them.

use opencl_sys as cl;
use opencl_sys::cl_program_binary_type;

use super::failure::{Failure, Outcome};

/// The first bytes of a binary; the last of them is its version.
const MAGIC: [u8; 8] = *b"TRIPIPE\x01";

/// A compiled or linked program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// Compiled object, library or executable.
    pub kind: cl_program_binary_type,
    /// The options that it was built with.
    pub options: String,
    /// The module.
    pub spirv: Vec<u8>,
}

impl Binary {
    /// The bytes of the binary: magic, kind, lengths, options, module.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.kind.to_le_bytes());
        bytes.extend((self.options.len() as u64).to_le_bytes());
        bytes.extend((self.spirv.len() as u64).to_le_bytes());
        bytes.extend(self.options.as_bytes());
        bytes.extend(&self.spirv);
        bytes
    }

    /// The binary of bytes.
    ///
    /// # Errors
    /// They are not a binary of this driver.
    pub fn decode(bytes: &[u8]) -> Outcome<Self> {
        let wrong = || Failure::new(cl::CL_INVALID_BINARY, "the binary is not one of this driver");
        let rest = bytes.strip_prefix(&MAGIC).ok_or_else(wrong)?;
        let (kind, rest) = rest.split_first_chunk::<4>().ok_or_else(wrong)?;
        let (options, rest) = rest.split_first_chunk::<8>().ok_or_else(wrong)?;
        let (spirv, rest) = rest.split_first_chunk::<8>().ok_or_else(wrong)?;
        let kind = u32::from_le_bytes(*kind);
        let length = |bytes: &[u8; 8]| usize::try_from(u64::from_le_bytes(*bytes)).map_err(|_| wrong());
        let (options, spirv) = (length(options)?, length(spirv)?);
        let kinds = [
            cl::CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
            cl::CL_PROGRAM_BINARY_TYPE_LIBRARY,
            cl::CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
        ];
        if !kinds.contains(&kind) || options.checked_add(spirv) != Some(rest.len()) {
            return Err(wrong());
        }
        let (options, spirv) = rest.split_at(options);
        let options = String::from_utf8(options.to_vec()).map_err(|_| wrong())?;
        Ok(Self { kind, options, spirv: spirv.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_round_trip_and_others_are_errors() {
        let binary = Binary {
            kind: cl::CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
            options: "-DN=4".into(),
            spirv: vec![3, 2, 35, 7, 9],
        };
        let bytes = binary.encode();
        assert_eq!(Binary::decode(&bytes), Ok(binary));
        for length in 0..bytes.len() {
            assert!(Binary::decode(&bytes[..length]).is_err(), "{length}");
        }
        for index in 0..8 + 4 + 16 {
            let mut wrong = bytes.clone();
            wrong[index] ^= 0x80;
            assert!(Binary::decode(&wrong).is_err(), "{index}");
        }
    }
}
