//! The explanations of the rules are complete, and their examples compile.

use std::collections::BTreeSet;

use tripipe_ir::diagnostic::Rule;
use tripipe_ir::front::clang::{Build, BuildError, build_text};
use tripipe_simulate::watch::rules::{ALL, find};

#[test]
fn codes_and_titles_are_of_one_kind() {
    let codes: BTreeSet<&str> = ALL.iter().map(|rule| rule.code).collect();
    assert_eq!(codes.len(), ALL.len(), "a code twice");
    let titles: BTreeSet<&str> = ALL.iter().map(|rule| rule.title).collect();
    assert_eq!(titles.len(), ALL.len(), "a title twice");
    for rule in ALL {
        assert!(
            rule.code.split('-').all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())),
            "{}",
            rule.code
        );
        assert!(rule.title.len() <= 100 && !rule.title.ends_with('.'), "{}", rule.title);
        assert_eq!(find(rule.code), Some(*rule));
    }
    assert_eq!(find("out-of-bound-read"), None);
    assert_eq!(find(""), None);
}

#[test]
fn explanations_have_all_sections() {
    for Rule { code, what, why, example, instead, exceptions, source, .. } in ALL {
        for text in [what, why, example, instead, exceptions, source] {
            assert!(text.trim().len() > 20, "{code}: {text}");
            assert!(text.lines().all(|line| line.chars().count() <= 124), "{code}");
        }
        assert!(source.trim().lines().all(|line| line.starts_with("- ") || line.starts_with("  ")), "{code}");
    }
}

#[test]
fn examples_compile() {
    for rule in ALL {
        for (index, block) in [rule.example, rule.instead].into_iter().enumerate() {
            let options = block.lines().find_map(|line| line.strip_prefix("// options:")).unwrap_or("");
            let build = Build {
                options: options.split_whitespace().map(str::to_owned).collect(),
                ..Build::default()
            };
            match build_text(&format!("{}-{index}.cl", rule.code), block, None, &build) {
                Ok(_) => {}
                Err(error @ BuildError::ToolMissing { .. }) => {
                    assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
                    println!("skipped: {error}");
                    return;
                }
                Err(error) => panic!("{}: {error}", rule.code),
            }
        }
    }
}
