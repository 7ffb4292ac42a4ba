//! Results as one HTML page, made of the results of commands and nothing else.
//!
//! A page is one file: style, script and charts are in it, and it loads nothing. [`read`] reads their JSON,
//! [`page`] draws them. The output of a command with `--format html` is the page of the same results as its JSON.

#![allow(clippy::format_push_string, reason = "sentences are made of parts, some of which are left out")]

mod activity;
mod analysis;
mod capture;
mod chart;
mod check;
mod compare;
mod document;
mod error;
mod frame;
mod improve;
mod ladder;
mod markup;
mod named;
mod other;
mod peaks;
mod schedule;
mod simulation;
mod switch;
mod table;
mod tune;
mod why;

pub use document::{Document, read};
pub use error::PageError;

use frame::Section;
use markup::Ids;
use named::{Named, by};
use tripipe_results::Document as Result;

/// A page of documents: a section for each command and its subject. Results of the same kind for several GPUs or from
/// several files stand side by side, and the differences between files are listed.
pub fn page(documents: &[Document]) -> String {
    let ids = Ids::default();
    let mut ladders = Vec::new();
    let mut simulations = Vec::new();
    let mut analyses = Vec::new();
    let mut peaks = Vec::new();
    let mut checks = Vec::new();
    let mut searches = Vec::new();
    let mut applications = Vec::new();
    let mut captures = Vec::new();
    let mut improved = Vec::new();
    let mut schedules = Vec::new();
    let mut others = Vec::new();
    for Document { file, result } in documents {
        match result {
            Result::Ladder(content) => ladders.push(Named { file, content: &**content }),
            Result::Simulate(content) => simulations.push(Named { file, content: &**content }),
            Result::Analyze(content) => analyses.push(Named { file, content: &**content }),
            Result::Peaks(content) => peaks.push(Named { file, content: &**content }),
            Result::Check(content) => checks.push(Named { file, content: &**content }),
            Result::Tune(content) => searches.push(Named { file, content: &**content }),
            Result::Why(content) => applications.push(Named { file, content: &**content }),
            Result::Improve(content) => improved.push(Named { file, content: &**content }),
            Result::Schedule(content) => schedules.push(Named { file, content: &**content }),
            Result::Compare(content) => captures.push(Named { file, content: &**content }),
            // Results without a section of their own are shown as their JSON.
            other => others.push((file, serde_json::to_value(other).unwrap_or_default())),
        }
    }
    let others: Vec<_> = others.iter().map(|(file, content)| Named { file, content }).collect();
    let mut sections = Vec::new();
    for group in by(&ladders, |ladder| &ladder.ladder) {
        sections.push(ladder::section(&group, &ids));
    }
    // The same kernel over another range is another subject.
    for group in by(&simulations, |simulated| (simulated.kernel(), simulated.global())) {
        sections.push(simulation::section(&group, &ids));
    }
    for group in by(&analyses, |analysis| &analysis.kernel) {
        sections.push(analysis::section(&group, &ids));
    }
    if !peaks.is_empty() {
        sections.push(peaks::section(&peaks, &ids));
    }
    if !checks.is_empty() {
        sections.push(check::section(&checks, &ids));
    }
    for group in by(&searches, tune::subject) {
        sections.push(tune::section(&group, &ids));
    }
    if !applications.is_empty() {
        sections.push(why::section(&applications, &ids));
    }
    for group in by(&schedules, |schedule| &schedule.file) {
        sections.push(schedule::section(&group, &ids));
    }
    if !captures.is_empty() {
        sections.push(capture::section(&captures, &ids));
    }
    for group in by(&improved, |improved| &improved.kernel) {
        sections.push(improve::section(&group, &ids));
    }
    for group in by(&others, |other| &other["command"]) {
        sections.push(other::section(&group, &ids));
    }
    let title = match &sections[..] {
        [Section { title, .. }] => title.clone(),
        _ => "Results of Tripipe".to_owned(),
    };
    frame::page(&title, &sections)
}
