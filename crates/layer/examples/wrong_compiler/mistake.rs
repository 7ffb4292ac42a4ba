//! Mistakes in SPIR-V.

use std::collections::{HashMap, HashSet};

const EXT_INST_IMPORT: u32 = 11;
const EXT_INST: u32 = 12;
const TYPE_INT: u32 = 21;
const DECORATE: u32 = 71;
const I_ADD: u32 = 128;
const F_ADD: u32 = 129;
const F_MUL: u32 = 133;
const SHIFT_RIGHT_LOGICAL: u32 = 194;
const SHIFT_RIGHT_ARITHMETIC: u32 = 195;
const CONTROL_BARRIER: u32 = 224;
const MEMORY_BARRIER: u32 = 225;
/// The decoration of a conversion with a rounding.
const ROUNDING_MODE: u32 = 39;
/// Instructions of `OpenCL.std`.
const FMA: u32 = 26;
const U_ADD_SAT: u32 = 144;

/// The words of a module with a mistake of a kind.
pub(crate) fn insert_mistake(words: &[u32], kind: &str) -> Result<Vec<u32>, String> {
    let (header, body) = words.split_at_checked(5).ok_or("no module")?;
    let mut instructions: Vec<&[u32]> = Vec::new();
    let mut rest = body;
    while let Some(first) = rest.first() {
        let (one, behind) = rest.split_at_checked(first.wrapping_shr(16).max(1) as usize).ok_or("cut off")?;
        instructions.push(one);
        rest = behind;
    }
    let code = |one: &[u32]| one[0] & 0xFFFF;
    let library =
        instructions.iter().find(|one| code(one) == EXT_INST_IMPORT).map(|one| one[1]).ok_or("no library")?;
    let ints: HashSet<u32> =
        instructions.iter().filter(|one| code(one) == TYPE_INT && one[2] == 32).map(|one| one[1]).collect();
    let products: HashMap<u32, &[u32]> =
        instructions.iter().filter(|one| code(one) == F_MUL).map(|one| (one[2], *one)).collect();
    let mut all = header.to_vec();
    for one in instructions {
        let of_library = |number: u32, operands: &[u32]| -> Vec<u32> {
            let mut call = vec![0, one[1], one[2], library, number];
            call.extend_from_slice(operands);
            call[0] = (call.len() as u32) << 16 | EXT_INST;
            call
        };
        let product = |operand: u32| products.get(&operand).copied();
        let wrong: Option<Vec<u32>> = match (kind, code(one)) {
            ("barriers", CONTROL_BARRIER | MEMORY_BARRIER) => Some(Vec::new()),
            ("roundings", DECORATE) if one[2] == ROUNDING_MODE => Some(Vec::new()),
            ("shifts", SHIFT_RIGHT_ARITHMETIC) if ints.contains(&one[1]) => {
                Some([&[one[0] & !0xFFFF | SHIFT_RIGHT_LOGICAL], &one[1..]].concat())
            }
            ("sums", I_ADD) if ints.contains(&one[1]) => Some(of_library(U_ADD_SAT, &one[3..])),
            ("products", F_ADD) => product(one[3])
                .map(|product| of_library(FMA, &[product[3], product[4], one[4]]))
                .or_else(|| Some(of_library(FMA, &[product(one[4])?[3], product(one[4])?[4], one[3]]))),
            _ => None,
        };
        all.extend_from_slice(wrong.as_deref().unwrap_or(one));
    }
    Ok(all)
}
