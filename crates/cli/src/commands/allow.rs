//! Which findings are suppressed, and which set the exit code: by options, and by comments in a source, `// tripipe:
//! allow CODE`, on the line of the finding or the line above.

use std::marker::PhantomData;

use clap::Args;
use tripipe_ir::diagnostic::Rule;

use super::explain;

/// The rules of a command.
pub(super) trait RuleTable: Clone + Send + Sync + 'static {
    const ALL: &'static [&'static Rule];
}

/// What `--allow` and `--deny` name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    All,
    One(&'static Rule),
}

/// Findings to suppress and to insist on, the same for every command that has findings.
#[derive(Args, Clone, Debug)]
pub(super) struct RuleOptions<T: RuleTable> {
    /// Finding to suppress, by its code (`tripipe explain` lists them), or all; may be repeated. A comment `tripipe:
    /// allow CODE` on a line or the line above suppresses it for that line.
    #[arg(long, value_name = "CODE", value_parser = named::<T>)]
    allow: Vec<Named>,
    /// Finding that sets the exit code to 1, whatever its severity, and that --allow all does not suppress; may be
    /// repeated.
    #[arg(long, value_name = "CODE", value_parser = one::<T>)]
    deny: Vec<&'static Rule>,
    #[arg(skip)]
    table: PhantomData<T>,
}

fn one<T: RuleTable>(code: &str) -> Result<&'static Rule, String> {
    explain::find(T::ALL, code).map_err(|error| error.to_string())
}

fn named<T: RuleTable>(code: &str) -> Result<Named, String> {
    if code == "all" { Ok(Named::All) } else { one::<T>(code).map(Named::One) }
}

impl<T: RuleTable> RuleOptions<T> {
    /// Whether the options suppress the findings of a rule.
    pub(super) fn allows(&self, rule: &Rule) -> bool {
        self.allow.iter().any(|named| match named {
            Named::One(allowed) => *allowed == rule,
            Named::All => !self.denies(rule),
        })
    }

    /// Whether the findings of a rule set the exit code whatever their severity.
    pub(super) fn denies(&self, rule: &Rule) -> bool {
        self.deny.contains(&rule)
    }
}

/// The text before the codes, which are separated by commas or spaces.
const MARK: &str = "tripipe: allow ";

/// Whether a comment on that line (counted from 1) or on the line above suppresses the rule's findings.
pub(super) fn allows(source: &str, line: u32, rule: &Rule) -> bool {
    let line = line as usize;
    source.lines().skip(line.saturating_sub(2)).take(line.min(2)).any(|text| {
        let codes = text.split_once(MARK).map(|(_, codes)| codes);
        codes.is_some_and(|codes| {
            codes
                .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | ',' | ' ')))
                .next()
                .unwrap_or_default()
                .split([',', ' '])
                .any(|code| code == rule.code)
        })
    })
}

/// The line on which a kernel is declared, counted from 1; findings about the whole kernel belong to it.
pub(super) fn declaration(source: &str, kernel: &str) -> Option<u32> {
    let declares = |line: &str| {
        line.match_indices(kernel).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            line[..at].contains("void")
                && before.is_some_and(char::is_whitespace)
                && line[at + kernel.len()..].trim_start().starts_with('(')
        })
    };
    (1..).zip(source.lines()).find(|(_, line)| declares(line)).map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use tripipe_simulate::watch::rules;

    use super::*;

    #[test]
    fn comments_are_for_their_line_and_the_next() {
        let source = "a\n// tripipe: allow data-race, nan-born (by design)\nb\nc /* tripipe: allow data-race-between-groups */\n";
        let lines = |rule| (0..7).filter(|line| allows(source, *line, rule)).collect::<Vec<u32>>();
        assert_eq!(lines(&rules::DATA_RACE), [2, 3]);
        assert_eq!(lines(&rules::NAN_BORN), [2, 3]);
        assert_eq!(lines(&rules::DATA_RACE_BETWEEN_GROUPS), [4, 5]);
        assert!(lines(&rules::NULL_POINTER).is_empty());
    }

    #[test]
    fn kernels_are_found_where_they_are_declared() {
        let source = "// void k is next\nkernel void kk(int a) {}\nkernel void k (int a) { kk(a); }\n";
        assert_eq!(declaration(source, "k"), Some(3));
        assert_eq!(declaration(source, "kk"), Some(2));
        assert_eq!(declaration(source, "a"), None);
    }
}
