//! Panels of which one is shown at a time.

use super::markup::{Ids, Markup, markup};

/// Panels, each with its label, and a switch between them. Without scripts, and on paper, all of them are shown. One
/// panel alone needs no switch.
pub(super) fn panels(legend: &str, panels: &[(String, Markup)], ids: &Ids) -> Markup {
    if let [(_, only)] = panels {
        return only.clone();
    }
    let group = ids.next("switch");
    let buttons: Markup = panels
        .iter()
        .enumerate()
        .map(|(at, (label, _))| {
            let value = at.to_string();
            let first = at == 0;
            markup! {
                label { input(type = "radio", name = &group, value = &value, checked? = first); span : label; }
            }
        })
        .collect();
    let shown: Markup = panels
        .iter()
        .enumerate()
        .map(|(at, (label, panel))| {
            let value = at.to_string();
            markup! {
                div(class = "panel", data-switch = &group, data-value = &value, role = "group", aria-label = label)
                    : panel;
            }
        })
        .collect();
    markup! {
        // The script shows it: without scripts, all panels are visible.
        fieldset(class = "switch", id = &group, hidden) { legend : legend; : &buttons; }
        : &shown;
    }
}
