//! A review in the terms of the protocol.

use gen_lsp_types::{
    CodeAction, CodeActionKind, CompletionItem, CompletionItemKind, Contents, Diagnostic, DiagnosticSeverity,
    Hover, InlayHint, Label, MarkupContent, MarkupKind, Position, Range, Uri, WorkspaceEdit,
};
use std::collections::HashMap;
use tripipe_device::catalog;
use tripipe_ir::diagnostic::Severity;
use tripipe_report::rules;

use super::review::{Remark, Review};
use super::settings::FILE;
use super::text::{byte_at, edit, end_of, line_of, word_at};

/// The name of this server beside its diagnostics.
pub(super) const NAME: &str = "tripipe";

/// The remarks of a review.
pub(super) fn diagnostics(review: &Review, text: &str) -> Vec<Diagnostic> {
    review.remarks.iter().map(|remark| diagnostic(remark, text)).collect()
}

fn diagnostic(remark: &Remark, text: &str) -> Diagnostic {
    let severity = match remark.severity {
        Severity::Error => DiagnosticSeverity::Error,
        Severity::Warning => DiagnosticSeverity::Warning,
        Severity::Note => DiagnosticSeverity::Information,
    };
    Diagnostic {
        range: word_at(text, remark.at.0, remark.at.1),
        severity: Some(severity),
        code: remark.rule.map(|rule| rule.code.to_owned().into()),
        source: Some(NAME.to_owned()),
        message: remark.message.clone().into(),
        ..Diagnostic::default()
    }
}

/// The costs of lines and kernels, at the ends of their lines.
pub(super) fn hints(review: &Review, text: &str, range: Range) -> Vec<InlayHint> {
    let inside = |line: u32| (range.start.line..=range.end.line).contains(&line.saturating_sub(1));
    let mut hints = Vec::new();
    let mut hint = |line: u32, label: String| {
        hints.push(InlayHint {
            position: end_of(text, line.saturating_sub(1)),
            label: Label::String(label),
            kind: None,
            text_edits: None,
            tooltip: None,
            padding_left: Some(true),
            padding_right: None,
            data: None,
        });
    };
    for cost in review.kernels.iter().filter(|cost| inside(cost.line)) {
        hint(cost.line, cost.summary.clone());
    }
    let mut seen = Vec::new();
    for (line, costs) in review.kernels.iter().flat_map(|cost| &cost.lines) {
        // A function's line has a cost in each kernel that calls it; hovering shows all of them.
        if inside(*line) && !seen.contains(line) {
            seen.push(*line);
            hint(*line, costs.clone());
        }
    }
    hints
}

/// What is known of a line: its costs in each kernel, and the explanations of what was found there.
pub(super) fn hover(review: &Review, position: Position) -> Option<Hover> {
    let line = position.line + 1;
    let mut parts: Vec<String> = Vec::new();
    for cost in &review.kernels {
        if cost.line == line {
            parts.push(format!("`{}` on {}", cost.kernel, cost.summary));
        }
        if let Some(costs) = cost.lines.get(&line) {
            parts.push(format!("Cycles of this line in `{}`: {costs}", cost.kernel));
        }
    }
    for remark in review.remarks.iter().filter(|remark| remark.at.0 == line) {
        let Some(rule) = remark.rule else { continue };
        parts.push(format!("**{}**: {}", rule.code, remark.message));
        parts.push(rules::markdown(rule));
    }
    let value = parts.join("\n\n");
    let contents = Contents::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value });
    (!parts.is_empty()).then_some(Hover { contents, range: None })
}

/// The changes of the source that follow the advice in a range.
pub(super) fn actions(review: &Review, text: &str, uri: &Uri, range: Range) -> Vec<CodeAction> {
    let lines = range.start.line + 1..=range.end.line + 1;
    let fixes = review.remarks.iter().filter(|remark| lines.contains(&remark.at.0));
    let mut actions: Vec<CodeAction> = Vec::new();
    for remark in fixes {
        let Some(fix) = &remark.fix else { continue };
        // Several remarks may lead to one change.
        if actions.iter().any(|known| known.title == fix.title) {
            continue;
        }
        let changes = HashMap::from([(uri.clone(), vec![edit(text, &fix.source)])]);
        actions.push(CodeAction {
            title: fix.title.clone(),
            kind: Some(CodeActionKind::QuickFix),
            diagnostics: Some(vec![diagnostic(remark, text)]),
            edit: Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }),
            ..CodeAction::default()
        });
    }
    actions
}

/// The names of GPUs, at a value of the key `gpu` in a file of settings, or its keys.
pub(super) fn completions(text: &str, position: Position) -> Vec<CompletionItem> {
    let line = line_of(text, position.line);
    let before = &line[..byte_at(line, position.character)];
    let Some((key, value)) = before.split_once('=') else { return Vec::new() };
    // Behind the value there is nothing to complete.
    let quotes = value.matches(['"', '\'']).count();
    if key.trim() != "gpu" || quotes != 1 {
        return Vec::new();
    }
    let gpus = catalog().iter().map(|gpu| CompletionItem {
        label: gpu.id(),
        kind: Some(CompletionItemKind::Value),
        detail: Some(format!("{} ({FILE})", gpu.name())),
        ..CompletionItem::default()
    });
    gpus.collect()
}
