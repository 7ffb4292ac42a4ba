//! Types of expressions and variables.

use std::fmt;

/// A number's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `bool`.
    Bool,
    /// An integer.
    Integer {
        /// Its width: 8, 16, 32 or 64.
        bits: u8,
        /// Whether it is signed.
        signed: bool,
    },
    /// A floating-point number of 16, 32 or 64 bits.
    Float {
        /// Its width.
        bits: u8,
    },
}

impl Scalar {
    /// `int`.
    pub const INT: Self = Self::Integer { bits: 32, signed: true };
    /// `short`.
    pub const SHORT: Self = Self::Integer { bits: 16, signed: true };

    /// Its width in bits; that of `bool` is 8.
    pub fn bits(self) -> u8 {
        match self {
            Self::Bool => 8,
            Self::Integer { bits, .. } | Self::Float { bits } => bits,
        }
    }

    /// Whether it is an integer or `bool`.
    pub fn is_integer(self) -> bool {
        !matches!(self, Self::Float { .. })
    }

    /// Its name in OpenCL C.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Integer { bits: 8, signed: true } => "char",
            Self::Integer { bits: 8, signed: false } => "uchar",
            Self::Integer { bits: 16, signed: true } => "short",
            Self::Integer { bits: 16, signed: false } => "ushort",
            Self::Integer { bits: 64, signed: true } => "long",
            Self::Integer { bits: 64, signed: false } => "ulong",
            Self::Integer { signed: true, .. } => "int",
            Self::Integer { .. } => "uint",
            Self::Float { bits: 16 } => "half",
            Self::Float { bits: 64 } => "double",
            Self::Float { .. } => "float",
        }
    }

    /// The least and the greatest value of an integer; `None` for floating point and for 64 bits.
    pub fn range(self) -> Option<(i64, i64)> {
        match self {
            Self::Bool => Some((0, 1)),
            Self::Integer { bits: 64, .. } | Self::Float { .. } => None,
            Self::Integer { bits, signed: true } => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            Self::Integer { bits, signed: false } => Some((0, (1 << bits) - 1)),
        }
    }

    fn of_words(words: &[&str]) -> Option<Self> {
        let has = |word: &str| words.contains(&word);
        let integer = |bits, signed| Some(Self::Integer { bits, signed });
        if words.len() == 1 {
            match words[0] {
                "uchar" => return integer(8, false),
                "ushort" => return integer(16, false),
                "uint" => return integer(32, false),
                "ulong" | "size_t" | "uintptr_t" => return integer(64, false),
                "ptrdiff_t" | "intptr_t" => return integer(64, true),
                "bool" | "_Bool" => return Some(Self::Bool),
                "half" | "__fp16" | "_Float16" => return Some(Self::Float { bits: 16 }),
                "float" => return Some(Self::Float { bits: 32 }),
                "double" => return Some(Self::Float { bits: 64 }),
                _ => {}
            }
        }
        let known = ["unsigned", "signed", "char", "short", "int", "long"];
        if words.is_empty() || !words.iter().all(|word| known.contains(word)) {
            return None;
        }
        let bits = if has("char") {
            8
        } else if has("short") {
            16
        } else if has("long") {
            64
        } else {
            32
        };
        integer(bits, !has("unsigned"))
    }
}

/// An address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Space {
    /// `__private`, also where none is written.
    #[default]
    Private,
    /// `__global`.
    Global,
    /// `__constant`.
    Constant,
    /// `__local`.
    Local,
    /// `__generic`.
    Generic,
}

/// A type. Qualifiers are kept where a pointer's target has them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `void`.
    Void,
    /// A number.
    Scalar(Scalar),
    /// A vector of 2, 3, 4, 8 or 16 lanes (or another count that a vendor offers).
    Vector(Scalar, u8),
    /// A pointer.
    Pointer {
        /// What it points to.
        to: Box<Type>,
        /// The address space of what it points to.
        space: Space,
        /// Whether what it points to is `const`.
        constant: bool,
        /// Whether the pointer is `restrict`.
        restrict: bool,
    },
    /// An array.
    Array(Box<Type>, u64),
    /// Structs, images, functions and everything else, in clang's words.
    Other(String),
}

impl Type {
    /// The type of a number, or of a vector's lanes.
    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) | Self::Vector(scalar, _) => Some(*scalar),
            _ => None,
        }
    }

    /// The number's type; `None` for vectors and everything else.
    pub fn as_number(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// The lanes of a number (1) or a vector; 0 for all other types.
    pub fn lanes(&self) -> u8 {
        match self {
            Self::Scalar(_) => 1,
            Self::Vector(_, lanes) => *lanes,
            _ => 0,
        }
    }

    /// The type that a pointer points to, or an array's element type.
    pub fn element(&self) -> Option<&Self> {
        match self {
            Self::Pointer { to, .. } => Some(to),
            Self::Array(of, _) => Some(of),
            _ => None,
        }
    }

    /// Reads clang's words for a type: `const __global uchar *restrict __private`.
    pub fn parse(text: &str) -> Self {
        parse(text).unwrap_or_else(|| Self::Other(text.to_owned()))
    }
}

/// The type as it is written in OpenCL C, without qualifiers; arrays and pointers are written as in a cast.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Void => f.write_str("void"),
            Self::Scalar(scalar) => f.write_str(scalar.name()),
            Self::Vector(scalar, lanes) => write!(f, "{}{lanes}", scalar.name()),
            Self::Pointer { to, space, constant, .. } => {
                let space = match space {
                    Space::Private => "",
                    Space::Global => "global ",
                    Space::Constant => "constant ",
                    Space::Local => "local ",
                    Space::Generic => "generic ",
                };
                write!(f, "{space}{}{to} *", if *constant { "const " } else { "" })
            }
            Self::Array(of, length) => write!(f, "{of}[{length}]"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// Vector types by name: `uchar4`.
fn named_vector(word: &str) -> Option<Type> {
    let digits = word.find(|letter: char| letter.is_ascii_digit())?;
    let lanes: u8 = word[digits..].parse().ok()?;
    let scalar = Scalar::of_words(&[&word[..digits]])?;
    (lanes > 1).then_some(Type::Vector(scalar, lanes))
}

fn parse(text: &str) -> Option<Type> {
    // Arrays are last: `__private int[3]`, and vectors have their lanes in an attribute.
    let text = text.trim();
    let mut text = text.to_owned();
    let mut lanes = None;
    if let Some(at) = text.find("__attribute__((ext_vector_type(") {
        let rest = &text[at + "__attribute__((ext_vector_type(".len()..];
        let end = rest.find(')')?;
        lanes = Some(rest[..end].parse::<u8>().ok()?);
        let after = rest[end..].strip_prefix(")))")?.to_owned();
        text = format!("{}{after}", &text[..at]);
    }
    if text.contains('(') {
        return None;
    }
    if let Some(open) = text.rfind('[')
        && text.ends_with(']')
    {
        let first = text.find('[').unwrap_or(open);
        let length: u64 = text[first + 1..first + 1 + text[first + 1..].find(']')?].parse().ok()?;
        let element = format!("{}{}", &text[..first], &text[first + 1 + text[first + 1..].find(']')? + 1..]);
        let element = match lanes {
            Some(lanes) => format!("{element} __attribute__((ext_vector_type({lanes})))"),
            None => element,
        };
        return Some(Type::Array(Box::new(Type::parse(&element)), length));
    }
    if let Some(star) = text.rfind('*') {
        let (target, own) = (text[..star].trim(), &text[star + 1..]);
        let words: Vec<&str> = target.split_whitespace().collect();
        let space = words.iter().rev().find_map(|word| space(word)).unwrap_or_default();
        let to = if target.contains('*') {
            Type::parse(target)
        } else {
            match lanes {
                Some(lanes) => Type::parse(&format!("{target} __attribute__((ext_vector_type({lanes})))")),
                None => Type::parse(target),
            }
        };
        let constant = words.contains(&"const");
        let restrict = own.split_whitespace().any(|word| word == "restrict" || word == "__restrict");
        return Some(Type::Pointer { to: Box::new(to), space, constant, restrict });
    }
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| space(word).is_none() && !["const", "volatile", "restrict"].contains(word))
        .collect();
    if words == ["void"] {
        return Some(Type::Void);
    }
    if let [word] = words[..]
        && let Some(vector) = named_vector(word)
    {
        return Some(vector);
    }
    let scalar = Scalar::of_words(&words)?;
    Some(lanes.map_or(Type::Scalar(scalar), |lanes| Type::Vector(scalar, lanes)))
}

fn space(word: &str) -> Option<Space> {
    match word {
        "__private" | "private" => Some(Space::Private),
        "__global" | "global" => Some(Space::Global),
        "__constant" | "constant" => Some(Space::Constant),
        "__local" | "local" => Some(Space::Local),
        "__generic" => Some(Space::Generic),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clangs_words_are_read() {
        let uchar = Type::Scalar(Scalar::Integer { bits: 8, signed: false });
        assert_eq!(Type::parse("const __global uchar"), uchar);
        let pointer = Type::parse("const __global uchar *restrict __private");
        let expected = Type::Pointer {
            to: Box::new(uchar.clone()),
            space: Space::Global,
            constant: true,
            restrict: true,
        };
        assert_eq!(pointer, expected);
        let float4 = Type::Vector(Scalar::Float { bits: 32 }, 4);
        assert_eq!(Type::parse("float __private __attribute__((ext_vector_type(4)))"), float4);
        assert_eq!(Type::parse("__global float4 *__private").element(), Some(&float4));
        assert_eq!(Type::parse("__private int[3]"), Type::Array(Box::new(Type::Scalar(Scalar::INT)), 3));
        let two = Type::parse("__private float[3][5]");
        let row = Type::Array(Box::new(Type::Scalar(Scalar::Float { bits: 32 })), 5);
        assert_eq!(two, Type::Array(Box::new(row), 3));
        assert_eq!(Type::parse("unsigned long"), Type::Scalar(Scalar::Integer { bits: 64, signed: false }));
        assert!(matches!(Type::parse("unsigned long (*)(unsigned int)"), Type::Other(_)));
    }
}
