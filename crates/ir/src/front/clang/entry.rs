//! Entry points of SPIR-V modules.

/// `OpEntryPoint` and `OpExecutionMode`.
const ENTRY_POINT: u32 = 15;
const EXECUTION_MODE: u32 = 16;
/// Words before the first instruction.
const HEADER: usize = 5;

/// The module without the entry point of that name; its function remains, without callers. Bytes that are not a module
/// in this machine's byte order are returned unchanged.
pub(super) fn remove_entry_point(spirv: &[u8], kernel: &str) -> Vec<u8> {
    let (words, []) = spirv.as_chunks::<4>() else { return spirv.to_vec() };
    let words: Vec<u32> = words.iter().map(|word| u32::from_ne_bytes(*word)).collect();
    let mut kept = spirv.get(..4 * HEADER).unwrap_or(spirv).to_vec();
    let mut function = None;
    let mut at = HEADER;
    while let Some(head) = words.get(at) {
        let (opcode, length) = (head & 0xFFFF, ((head >> 16) as usize).max(1));
        let Some(instruction) = words.get(at..at + length) else { return spirv.to_vec() };
        let dropped = match (opcode, instruction) {
            (ENTRY_POINT, [_, _, id, name @ ..]) if starts_with(name, kernel) => {
                function = Some(*id);
                true
            }
            (EXECUTION_MODE, [_, id, ..]) => function == Some(*id),
            _ => false,
        };
        if !dropped {
            kept.extend_from_slice(&spirv[4 * at..4 * (at + length)]);
        }
        at += length;
    }
    kept
}

/// Whether words start with that string and its terminating zero.
fn starts_with(words: &[u32], text: &str) -> bool {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.take(text.len() + 1).eq(text.bytes().chain([0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn one_kernel_goes_with_its_modes() {
        let header = [0x0723_0203, 0x0001_0300, 0, 10, 0];
        let entry = |id, name| [5 << 16 | ENTRY_POINT, 6, id, u32::from_le_bytes(name), 0];
        let mode = |id| [3 << 16 | EXECUTION_MODE, id, 31];
        let module = |kernels: &[(u32, [u8; 4])]| {
            let mut words = header.to_vec();
            words.extend(kernels.iter().flat_map(|kernel| entry(kernel.0, kernel.1)));
            words.extend(kernels.iter().flat_map(|kernel| mode(kernel.0)));
            bytes(&words)
        };
        let both = module(&[(1, *b"abcd"), (2, *b"abcx")]);
        assert_eq!(remove_entry_point(&both, "abcd"), module(&[(2, *b"abcx")]));
        // Neither a prefix of a name nor a longer name matches.
        assert_eq!(remove_entry_point(&both, "abc"), both);
        assert_eq!(remove_entry_point(&both, "abcde"), both);
        for cut in 0..both.len() {
            assert_eq!(remove_entry_point(&both[..cut], "none"), both[..cut]);
        }
    }
}
