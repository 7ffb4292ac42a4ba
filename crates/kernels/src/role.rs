//! The operands of computations by their role.

use std::fmt;

/// What an operand is for. Operands are found by their role, never by their position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The left factor of a product.
    A,
    /// The right factor of a product.
    B,
    /// The result of a product, whose old contents may also be read.
    C,
    /// The offsets of the products of a batch.
    Offsets,
    /// The multipliers and shifts that convert sums to bytes.
    Scales,
    /// One number for each column, for the stage of the epilogue with this index.
    BiasColumns(usize),
    /// One number for each row, for the stage of the epilogue with this index.
    BiasRows(usize),
    /// The matrix that the stage of the epilogue with this index adds.
    Residual(usize),
    /// The only thing that is read, or the first one of several.
    Source,
    /// The luma of a frame.
    Luma,
    /// The chroma of a frame.
    Chroma,
    /// The first of two vectors.
    X,
    /// The second of two vectors.
    Y,
    /// The array that the step with this index reads.
    Step(usize),
    /// What is written.
    Result,
}

impl fmt::Display for Role {
    /// Formats as `A`, `bias of columns`, `source`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::Offsets => "offsets",
            Self::Scales => "scales",
            Self::BiasColumns(_) => "bias of columns",
            Self::BiasRows(_) => "bias of rows",
            Self::Residual(_) => "residual",
            Self::Source => "source",
            Self::Luma => "luma",
            Self::Chroma => "chroma",
            Self::X => "x",
            Self::Y => "y",
            Self::Step(index) => return write!(f, "operand of step {index}"),
            Self::Result => "result",
        })
    }
}
