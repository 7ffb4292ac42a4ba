//! Directives of a format, and the formatting of numbers.

/// A part of a format.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece<'f> {
    /// Text that is printed unchanged.
    Text(&'f str),
    /// A directive, which takes an argument.
    Directive(Directive<'f>),
}

/// The size of an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Length {
    /// As an `int`.
    #[default]
    Int,
    /// `hh`
    Char,
    /// `h`
    Short,
    /// `l`
    Long,
}

impl Length {
    /// Bytes of an integer.
    pub(super) const fn bytes(self) -> u32 {
        match self {
            Self::Char => 1,
            Self::Short => 2,
            Self::Int => 4,
            Self::Long => 8,
        }
    }
}

/// `%[flags][width][.precision][vector][length]conversion`
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Directive<'f> {
    /// The flags present, out of `-+ #0`.
    flags: &'f str,
    width: usize,
    pub(super) precision: Option<usize>,
    /// Components of a vector, 1 for scalars.
    pub(super) components: usize,
    pub(super) length: Length,
    pub(super) conversion: u8,
}

/// Maximum width or precision of a single directive.
const MAX_WIDTH: usize = 1 << 20;

/// No number has more than 1074 digits after the point, and none has more before it.
const MAX_DIGITS: usize = 1100;

/// The parts of a format. Anything that is not a directive of OpenCL C is printed unchanged.
pub(super) fn pieces(format: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while !rest.is_empty() {
        let plain = rest.find('%').unwrap_or(rest.len());
        if plain > 0 {
            pieces.push(Piece::Text(&rest[..plain]));
            rest = &rest[plain..];
            continue;
        }
        if rest.starts_with("%%") {
            pieces.push(Piece::Text("%"));
            rest = &rest[2..];
        } else if let Some((directive, behind)) = directive(&rest[1..]) {
            pieces.push(Piece::Directive(directive));
            rest = behind;
        } else {
            pieces.push(Piece::Text("%"));
            rest = &rest[1..];
        }
    }
    pieces
}

/// Parses a directive after its `%`; returns it with the remaining text.
fn directive(text: &str) -> Option<(Directive<'_>, &str)> {
    let mut own = Directive { components: 1, ..Directive::default() };
    let mut rest = text;
    rest = rest.trim_start_matches(['-', '+', ' ', '#', '0']);
    own.flags = &text[..text.len() - rest.len()];
    own.width = number(&mut rest).unwrap_or(0);
    if let Some(behind) = rest.strip_prefix('.') {
        rest = behind;
        own.precision = Some(number(&mut rest).unwrap_or(0));
    }
    if let Some(behind) = rest.strip_prefix('v') {
        rest = behind;
        own.components = number(&mut rest).filter(|count| matches!(count, 2 | 3 | 4 | 8 | 16))?;
    }
    // Longer words first: `hh` and `hl` start with `h`.
    for (word, length) in
        [("hh", Length::Char), ("hl", Length::Int), ("h", Length::Short), ("l", Length::Long)]
    {
        if let Some(behind) = rest.strip_prefix(word) {
            (rest, own.length) = (behind, length);
            break;
        }
    }
    own.conversion = *rest.as_bytes().first()?;
    b"diouxXcspfFeEgGaA".contains(&own.conversion).then(|| (own, &rest[1..]))
}

fn number(rest: &mut &str) -> Option<usize> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (own, behind) = rest.split_at(digits);
    *rest = behind;
    (digits > 0).then(|| own.parse().unwrap_or(MAX_WIDTH).min(MAX_WIDTH))
}

impl Directive<'_> {
    fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// Prints a sign or prefix and the digits after it, padded to the width.
    pub(super) fn pad(&self, text: &mut Vec<u8>, prefix: &[u8], body: &[u8], zeros: bool) {
        let fill = self.width.saturating_sub(prefix.len() + body.len());
        let (before, between, behind) = match (self.has('-'), zeros) {
            (true, _) => (0, 0, fill),
            (false, true) => (0, fill, 0),
            (false, false) => (fill, 0, 0),
        };
        text.resize(text.len() + before, b' ');
        text.extend_from_slice(prefix);
        text.resize(text.len() + between, b'0');
        text.extend_from_slice(body);
        text.resize(text.len() + behind, b' ');
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.has('+'), self.has(' ')) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    fn integer(&self, text: &mut Vec<u8>, prefix: &str, mut digits: String) {
        // C prints no digits for a zero with precision 0.
        if digits == "0" && self.precision == Some(0) {
            digits.clear();
        }
        let least = self.precision.unwrap_or(1);
        // C ignores the flag `0` if there is a precision.
        let zeros = self.has('0') && self.precision.is_none();
        digits.insert_str(0, &"0".repeat(least.saturating_sub(digits.len())));
        self.pad(text, prefix.as_bytes(), digits.as_bytes(), zeros);
    }

    /// `d`, `i`
    pub(super) fn signed(&self, text: &mut Vec<u8>, number: i64) {
        self.integer(text, self.sign(number < 0), number.unsigned_abs().to_string());
    }

    /// `o`, `u`, `x`, `X`
    pub(super) fn unsigned(&self, text: &mut Vec<u8>, number: u64) {
        let marked = self.has('#') && number != 0;
        match self.conversion {
            b'x' => self.integer(text, if marked { "0x" } else { "" }, format!("{number:x}")),
            b'X' => self.integer(text, if marked { "0X" } else { "" }, format!("{number:X}")),
            b'o' => {
                let digits = format!("{number:o}");
                let padded = self.precision.is_some_and(|precision| precision > digits.len());
                // The first digit must be a zero.
                let zero = self.has('#') && !padded && (number != 0 || self.precision == Some(0));
                self.integer(text, if zero { "0" } else { "" }, digits);
            }
            _ => self.integer(text, "", number.to_string()),
        }
    }

    /// `p`
    pub(super) fn pointer(&self, text: &mut Vec<u8>, bits: u64) {
        if bits == 0 {
            return self.pad(text, &[], b"(nil)", false);
        }
        self.integer(text, "0x", format!("{bits:x}"));
    }

    /// `f`, `e`, `g`, `a`, in lower or upper case.
    pub(super) fn float(&self, text: &mut Vec<u8>, number: f64) {
        let sign = self.sign(number.is_sign_negative());
        let size = number.abs();
        let (prefix, mut body) = if number.is_nan() {
            (sign.to_owned(), "nan".to_owned())
        } else if number.is_infinite() {
            (sign.to_owned(), "inf".to_owned())
        } else {
            match self.conversion.to_ascii_lowercase() {
                b'f' => (sign.to_owned(), self.fixed(size, self.precision.unwrap_or(6))),
                b'e' => (sign.to_owned(), self.exponential(size, self.precision.unwrap_or(6))),
                b'g' => (sign.to_owned(), self.general(size)),
                _ => (format!("{sign}0x"), self.hexadecimal(size)),
            }
        };
        let mut prefix = prefix;
        if self.conversion.is_ascii_uppercase() {
            prefix.make_ascii_uppercase();
            body.make_ascii_uppercase();
        }
        self.pad(text, prefix.as_bytes(), body.as_bytes(), self.has('0') && number.is_finite());
    }

    fn fixed(&self, size: f64, precision: usize) -> String {
        let mut digits = format!("{size:.*}", precision.min(MAX_DIGITS));
        self.finish(&mut digits, precision);
        digits
    }

    /// Appends the digits that are zero for all numbers, and the point if the flag requests it.
    fn finish(&self, digits: &mut String, precision: usize) {
        digits.extend(std::iter::repeat_n('0', precision.saturating_sub(MAX_DIGITS)));
        if precision == 0 && self.has('#') {
            digits.push('.');
        }
    }

    fn exponential(&self, size: f64, precision: usize) -> String {
        let (mut digits, exponent) = scientific(size, precision.min(MAX_DIGITS));
        self.finish(&mut digits, precision);
        with_exponent(&digits, exponent)
    }

    fn general(&self, size: f64) -> String {
        let precision = self.precision.unwrap_or(6).max(1);
        // C chooses the style by the exponent after rounding: with two digits, 9.96 counts as 10.
        let (_, exponent) = scientific(size, (precision - 1).min(MAX_DIGITS));
        let fixed = exponent >= -4 && exponent < precision as i32;
        let mut digits = if fixed {
            self.fixed(size, (precision as i32 - 1 - exponent) as usize)
        } else {
            let (mut digits, _) = scientific(size, (precision - 1).min(MAX_DIGITS));
            self.finish(&mut digits, precision - 1);
            digits
        };
        if !self.has('#') && digits.contains('.') {
            digits.truncate(digits.trim_end_matches('0').trim_end_matches('.').len());
        }
        if fixed { digits } else { with_exponent(&digits, exponent) }
    }

    fn hexadecimal(&self, size: f64) -> String {
        const FRACTION_BITS: usize = 52;
        let bits = size.to_bits();
        let (biased, fraction) = ((bits >> FRACTION_BITS) as i32, bits & ((1 << FRACTION_BITS) - 1));
        let exponent = match (biased, fraction) {
            (0, 0) => 0,
            // Subnormal numbers have no leading one, and the smallest exponent.
            (0, _) => -1022,
            _ => biased - 1023,
        };
        let mut significand = u64::from(biased != 0) << FRACTION_BITS | fraction;
        let precision = self.precision.unwrap_or(FRACTION_BITS / 4);
        if precision < FRACTION_BITS / 4 {
            // Round to nearest, ties to even.
            let cut = FRACTION_BITS - 4 * precision;
            let (rest, half) = (significand & ((1 << cut) - 1), 1 << (cut - 1));
            significand >>= cut;
            significand += u64::from(rest > half || (rest == half && significand & 1 == 1));
            significand <<= cut;
        }
        let fraction = significand & ((1 << FRACTION_BITS) - 1);
        let mut digits = format!("{fraction:013x}");
        match self.precision {
            Some(precision) => {
                digits.truncate(precision);
                digits.extend(std::iter::repeat_n('0', precision.saturating_sub(FRACTION_BITS / 4)));
            }
            None => digits.truncate(digits.trim_end_matches('0').len()),
        }
        let point = if digits.is_empty() && !self.has('#') { "" } else { "." };
        format!("{}{point}{digits}p{exponent:+}", significand >> FRACTION_BITS)
    }
}

/// One digit, a point, `precision` digits; and the decimal exponent.
fn scientific(size: f64, precision: usize) -> (String, i32) {
    let text = format!("{size:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or(0))
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}
