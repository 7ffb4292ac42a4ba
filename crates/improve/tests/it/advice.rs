//! Advice of lints and the rewrites that follow it.

use tripipe_analyze::lints;
use tripipe_improve::advice;

/// A lint that names a rewrite which does not exist would be priced by nothing.
#[test]
fn every_rewrite_that_a_lint_names_exists() {
    let with_rewrites = lints::ALL.iter().filter(|rule| !lints::rewrites(rule).is_empty());
    for rule in with_rewrites {
        let codes: Vec<&str> = advice::rewrites(rule).iter().map(|rewrite| rewrite.rule.code).collect();
        assert_eq!(codes, lints::rewrites(rule), "{}", rule.code);
    }
    assert!(lints::ALL.iter().any(|rule| lints::rewrites(rule) == ["share-loads"]));
}
