//! The arguments of planned launches.

use tripipe_launch::Argument;

use super::Slot;
use crate::Role;

/// The arguments of a launch, in order. One that holds the element offset of an operand says so, wherever it stands.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    pub(super) all: Vec<Argument<Slot>>,
    /// Those that hold offsets, by index.
    pub(super) offsets: Vec<(usize, Role)>,
}

impl Arguments {
    /// Adds an argument.
    #[must_use]
    pub fn with(mut self, argument: impl Into<Argument<Slot>>) -> Self {
        self.all.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn with_all(mut self, arguments: impl IntoIterator<Item: Into<Argument<Slot>>>) -> Self {
        self.all.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds an argument, a `uint` or a vector of `uint` whose first element is the offset of `operand`; `None` when it is not
    /// that of an operand.
    #[must_use]
    pub fn at(mut self, operand: impl Into<Option<Role>>, offset: impl Into<Argument<Slot>>) -> Self {
        self.offsets.extend(operand.into().map(|operand| (self.all.len(), operand)));
        self.with(offset)
    }

    /// Adds all arguments of `other`.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        let before = self.all.len();
        self.offsets.extend(other.offsets.into_iter().map(|(index, operand)| (before + index, operand)));
        self.all.extend(other.all);
        self
    }
}

impl From<Vec<Argument<Slot>>> for Arguments {
    fn from(all: Vec<Argument<Slot>>) -> Self {
        Self { all, offsets: Vec::new() }
    }
}

impl<const N: usize> From<[Argument<Slot>; N]> for Arguments {
    fn from(all: [Argument<Slot>; N]) -> Self {
        Vec::from(all).into()
    }
}
