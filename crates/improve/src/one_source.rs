//! Whether several GPUs compile the same source.

use crate::syntax::SyntaxError;
use crate::{SearchError, Subject, Target};

/// Whether the source can be rewritten for all targets together.
pub(crate) fn check_source(original: &Subject, targets: &[Target]) -> Result<(), SearchError> {
    let Some((first, others)) = targets.split_first() else { return Ok(()) };
    let reduced = |target: &Target| original.with_compiled_branches(Some(&target.offered));
    let read = |target: &Target| match original.tree(Some(target.offered.clone())) {
        Ok(tree) => Ok(Some((original.source.clone(), tree.outline()))),
        Err(error @ SyntaxError::Conditional { .. }) => {
            let Some(source) = reduced(target) else { return Err(error) };
            let subject = Subject { source, ..original.clone() };
            let tree = subject.tree(Some(target.offered.clone()));
            Ok(tree.ok().map(|tree| (subject.source, tree.outline())))
        }
        Err(error @ SyntaxError::Called { .. }) => Err(error),
        // What does not compile is reported with the price.
        Err(_) => Ok(None),
    };
    let outline = read(first)?;
    for other in others.iter().filter(|other| other.offered != first.offered) {
        if read(other)? != outline {
            let [first, other] = [first, other].map(|target| target.gpu.name().to_owned());
            return Err(SearchError::Differs { first, other });
        }
    }
    Ok(())
}
