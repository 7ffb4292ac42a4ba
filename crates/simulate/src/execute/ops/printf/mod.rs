//! `printf`: output as in C, with OpenCL's vectors (OpenCL C 3.0, 6.15.14).

mod number;

use half::f16;
use tripipe_ir::{Kernel, Op, Scalar, Type};

use super::copy::read;
use super::memory::outside;
use crate::execute::code::Inst;
use crate::execute::rows::{WIDTH, lanes};
use crate::execute::state::State;
use number::{Directive, Length, Piece, pieces};

/// Maximum number of bytes that a launch may print; the rest is dropped.
const MAX_PRINTED: usize = 16 << 20;

const CUT: &[u8] = b"\n[printf: output beyond 16 MiB is left out]\n";

/// Appends a text to the output of a launch. The first text that does not fit is cut and followed by a note.
pub(crate) fn append(printed: &mut Vec<u8>, text: &[u8]) {
    let Some(room) = MAX_PRINTED.checked_sub(printed.len()) else { return };
    printed.extend_from_slice(&text[..text.len().min(room)]);
    if text.len() > room {
        printed.extend_from_slice(CUT);
    }
}

/// Prints for each lane, in order.
pub(super) fn print(s: &mut State<'_>, i: &Inst) -> bool {
    let kernel: &Kernel = s.kernel;
    let inst = &kernel.insts[i.origin];
    let Op::Printf(format) = inst.op else { return true };
    let pieces = pieces(&kernel.formats[format as usize]);
    for lane in lanes(s.mask) {
        let mut text = Vec::new();
        let mut operands = inst.operands.iter().enumerate();
        for piece in &pieces {
            let directive = match piece {
                Piece::Text(plain) => {
                    text.extend_from_slice(plain.as_bytes());
                    continue;
                }
                Piece::Directive(directive) => directive,
            };
            // A directive without an argument prints nothing.
            let Some((index, operand)) = operands.next() else { continue };
            let ty = kernel.ty(*operand);
            let row = i.arg(index);
            if directive.conversion == b's' && ty.is_pointer() {
                let address = s.warp.rows.words(row)[lane];
                let Some(string) = string(s, i, lane, address, directive.precision) else { return false };
                directive.pad(&mut text, &[], &string, false);
                continue;
            }
            let bytes = ty.scalar().map_or(8, Scalar::bytes);
            for component in 0..directive.components.min(usize::from(ty.lanes())) {
                if component > 0 {
                    text.push(b',');
                }
                let bits = s.warp.rows.bits(row, component * WIDTH + lane, bytes);
                value(&mut text, directive, ty, bits);
            }
        }
        append(&mut s.printed, &text);
    }
    true
}

/// Prints a number.
fn value(text: &mut Vec<u8>, directive: &Directive<'_>, ty: Type, bits: u64) {
    let scalar = ty.scalar().unwrap_or(Scalar::I64);
    match directive.conversion {
        b'd' | b'i' => directive.signed(text, sized(directive.length, scalar, bits)),
        b'o' | b'u' | b'x' | b'X' => {
            let number = sized(directive.length, scalar, bits).cast_unsigned();
            // C converts the argument to the unsigned type of this length.
            let unused = 64 - 8 * directive.length.bytes().min(8);
            directive.unsigned(text, number << unused >> unused);
        }
        b'c' => directive.pad(text, &[], &[bits as u8], false),
        b'p' => directive.pointer(text, bits),
        // A number is not a string.
        b's' => {}
        _ => directive.float(
            text,
            match scalar {
                Scalar::F16 => f16::from_bits(bits as u16).to_f64(),
                Scalar::F32 => f64::from(f32::from_bits(bits as u32)),
                _ => f64::from_bits(bits),
            },
        ),
    }
}

/// An integer argument as a signed number of the size given by the directive.
fn sized(length: Length, scalar: Scalar, bits: u64) -> i64 {
    let unused = 64 - 8 * scalar.bytes().min(length.bytes());
    (bits << unused).cast_signed() >> unused
}

/// The bytes that `%s` prints, without the terminating zero; the precision limits their number.
fn string(
    s: &mut State<'_>,
    i: &Inst,
    lane: usize,
    address: u64,
    precision: Option<usize>,
) -> Option<Vec<u8>> {
    if address == 0 {
        return Some(b"(null)".to_vec());
    }
    let mut text = Vec::new();
    while precision.is_none_or(|precision| text.len() < precision) {
        // Byte by byte, because the object may end right behind the terminating zero.
        let at = address.wrapping_add(text.len() as u64);
        match read(s, lane, at, 1).as_deref() {
            Some([0]) => break,
            Some(byte) => text.extend_from_slice(byte),
            None => {
                outside(s, i, lane, at, 1, false);
                return None;
            }
        }
    }
    Some(text)
}
