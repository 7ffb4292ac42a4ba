//! What is known of a launch.

use std::collections::BTreeMap;

use tripipe_ir::Kernel;
use tripipe_ir::flow::{Atom, ranges};
use tripipe_ir::op::QueryKind;

/// What is known of the launch that a kernel is analysed for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// Values of integer arguments, by position.
    pub arguments: BTreeMap<usize, i64>,
    /// The global size.
    pub global: Option<[u64; 3]>,
    /// The local size.
    pub local: Option<[u64; 3]>,
}

impl Setup {
    /// The same for a kernel, whose own work-group size takes precedence, with values of its integer arguments by name;
    /// those of other names are left out.
    #[must_use]
    pub fn of_kernel<'n>(
        mut self,
        kernel: &Kernel,
        arguments: impl IntoIterator<Item = (&'n str, i64)>,
    ) -> Self {
        if let Some(required) = kernel.required_local_size {
            self.local = Some(required.map(u64::from));
        }
        for (name, value) in arguments {
            if let Some(position) = kernel.parameters.iter().position(|parameter| parameter.name == name) {
                self.arguments.insert(position, value);
            }
        }
        self
    }

    /// The value of an atom, if it follows from the setup.
    pub(crate) fn value(&self, kernel: &Kernel, atom: Atom) -> Option<i64> {
        let size = |sizes: Option<[u64; 3]>, dimension: u8| {
            sizes.and_then(|sizes| i64::try_from(sizes[usize::from(dimension.min(2))]).ok())
        };
        match atom {
            Atom::Value(value) => {
                let parameters = &kernel.blocks[Kernel::ENTRY].parameters;
                let position = parameters.iter().position(|parameter| *parameter == value)?;
                self.arguments.get(&position).copied()
            }
            Atom::Query(QueryKind::GlobalSize, dimension) => size(self.global, dimension),
            Atom::Query(QueryKind::LocalSize | QueryKind::EnqueuedLocalSize, dimension) => {
                size(self.local, dimension)
            }
            Atom::Query(QueryKind::NumGroups, dimension) => {
                let (global, local) = (size(self.global, dimension)?, size(self.local, dimension)?);
                (local > 0).then(|| global.div_euclid(local) + i64::from(global % local != 0))
            }
            Atom::Query(QueryKind::GlobalOffset, _) => Some(0),
            Atom::Query(..) => None,
        }
    }

    /// The least and the greatest value of an atom over all work-items; `None` where they do not follow from the setup.
    pub(crate) fn bounds(&self, kernel: &Kernel, atom: Atom) -> [Option<i64>; 2] {
        let known = |atom| self.value(kernel, atom);
        match atom {
            Atom::Query(kind, dimension) if known(atom).is_none() => {
                let range = ranges::of_query(kernel, &known, kind, dimension);
                [Some(range.low), Some(range.high).filter(|high| *high < i64::from(i32::MAX))]
            }
            _ => [known(atom); 2],
        }
    }
}
