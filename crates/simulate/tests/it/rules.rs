//! The explanations of the rules are complete, and their examples compile.

use std::collections::BTreeSet;

use tripipe_ir::diagnostic::Rule;
use tripipe_ir::front::clang::{Build, BuildError, build_text};
use tripipe_simulate::watch::rules::{ALL, find};

const HEADS: [&str; 6] =
    ["What it finds", "Why it matters", "Example", "Instead", "When it is wrong", "Source"];

/// The sections of an explanation: heading and text, outside code blocks.
fn sections(rule: &Rule) -> Vec<(&str, String)> {
    let mut sections: Vec<(&str, String)> = Vec::new();
    let mut code = false;
    for line in rule.explanation.lines() {
        code ^= line.starts_with("```");
        if let Some(head) = line.strip_prefix("## ").filter(|_| !code) {
            sections.push((head, String::new()));
        } else {
            let text = &mut sections.last_mut().unwrap().1;
            text.push_str(line);
            text.push('\n');
        }
    }
    assert!(!code, "{}: a code block without end", rule.code);
    sections
}

/// The code blocks of a text.
fn blocks(text: &str) -> Vec<&str> {
    text.split("```").skip(1).step_by(2).map(|block| block.strip_prefix("c\n").unwrap()).collect()
}

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
fn explanations_have_their_heads_in_order_and_something_below_each() {
    for rule in ALL {
        let sections = sections(rule);
        assert_eq!(sections.iter().map(|section| section.0).collect::<Vec<_>>(), HEADS, "{}", rule.code);
        for (head, text) in &sections {
            assert!(text.trim().len() > 20, "{}: {head}: {text}", rule.code);
        }
        assert_eq!(blocks(&sections[2].1).len(), 1, "{}: one example", rule.code);
        assert_eq!(blocks(&sections[3].1).len(), 1, "{}: one way out", rule.code);
        assert!(sections[5].1.trim().lines().all(|line| line.starts_with("- ") || line.starts_with("  ")));
        assert!(rule.explanation.lines().all(|line| line.chars().count() <= 124), "{}", rule.code);
    }
}

#[test]
fn examples_compile() {
    for rule in ALL {
        for (index, block) in blocks(rule.explanation).into_iter().enumerate() {
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
