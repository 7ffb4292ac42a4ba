//! `tripipe explain`: the rules of checks and lints.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Rules {
    /// The rules.
    pub rules: Vec<RuleExplanation>,
}

/// A rule of a check or a lint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct RuleExplanation {
    /// Its code.
    pub code: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// What it finds, in a few words.
    pub title: String,
    /// Its explanation in markdown.
    pub explanation: String,
}
