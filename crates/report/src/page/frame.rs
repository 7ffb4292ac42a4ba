//! The frame of a page: its head, style and script.

use horrorshow::Raw;
use horrorshow::helper::doctype;

use super::markup::{Markup, markup};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Nothing is loaded from anywhere; style and script are in the page.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// A section of a page.
pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) body: Markup,
}

/// A whole page.
pub(super) fn page(title: &str, sections: &[Section]) -> String {
    let contents: Markup = sections
        .iter()
        .map(|section| {
            let link = format!("#{}", section.id);
            markup! { li { a(href = &link) : &section.title; } }
        })
        .collect();
    let body: Markup = sections
        .iter()
        .map(|section| {
            let heading = format!("{}-title", section.id);
            // The title of the page is that of its only section.
            let class = (sections.len() == 1).then_some("unseen");
            markup! {
                section(id = &section.id, class = "document", aria-labelledby = &heading) {
                    h2(id = &heading, class? = class) : &section.title;
                    : &section.body;
                }
            }
        })
        .collect();
    let page = markup! {
        : doctype::HTML;
        html(lang = "en") {
            head {
                meta(charset = "utf-8");
                meta(name = "viewport", content = "width=device-width, initial-scale=1");
                meta(http-equiv = "Content-Security-Policy", content = POLICY);
                meta(name = "generator", content = "tripipe");
                // Without it, a browser asks the server of the page for an icon.
                link(rel = "icon", href = "data:,");
                title : title;
                style : Raw(STYLE);
            }
            body {
                a(class = "skip", href = "#main") : "Skip to the results";
                header {
                    h1 : title;
                    button(type = "button", id = "theme", hidden) : "Theme: as the system";
                }
                @ if sections.len() > 1 {
                    nav(aria-label = "Results") { ul : &contents; }
                }
                main(id = "main", tabindex = "-1") : &body;
                footer {
                    p : "Made by tripipe from the JSON of its commands. The page loads nothing from anywhere.";
                }
                script : Raw(SCRIPT);
            }
        }
    };
    page.0
}
