//! Tables that can be sorted.

use super::markup::{Ids, Markup, markup};

/// A table with a caption and one row of headings. Its first column names the rows.
pub(super) struct Table {
    caption: String,
    heads: Vec<Head>,
    rows: Vec<Vec<TableCell>>,
}

/// A heading.
pub(super) struct Head {
    label: String,
    is_number: bool,
}

/// A cell, and its value in the order of its column.
pub(super) struct TableCell {
    shown: Markup,
    key: Option<f64>,
    class: &'static str,
}

impl Head {
    pub(super) fn text(label: impl Into<String>) -> Self {
        Self { label: label.into(), is_number: false }
    }

    pub(super) fn number(label: impl Into<String>) -> Self {
        Self { label: label.into(), is_number: true }
    }
}

impl TableCell {
    pub(super) fn text(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        Self { shown: markup! { : text }, key: None, class: "" }
    }

    pub(super) fn markup(shown: Markup) -> Self {
        Self { shown, key: None, class: "" }
    }

    /// A number as shown, and for sorting.
    pub(super) fn number(value: f64, shown: impl AsRef<str>) -> Self {
        Self { key: Some(value), ..Self::text(shown) }
    }

    /// A number, or a dash.
    pub(super) fn maybe(value: Option<f64>, shown: impl Fn(f64) -> String) -> Self {
        value.map_or_else(Self::missing, |value| Self::number(value, shown(value)))
    }

    pub(super) fn missing() -> Self {
        Self { class: "missing", ..Self::text("–") }
    }

    /// A share with a bar behind its number.
    pub(super) fn share(share: f64) -> Self {
        let width = format!("--share:{:.1}%", 100.0 * share.clamp(0.0, 1.0));
        let shown = crate::number::percent(share);
        let bar = markup! { span(class = "bar", style = width) {} : " "; span(class = "value") : shown; };
        Self { shown: bar, key: Some(share), class: "share" }
    }

    /// A number whose background shows its share of the largest one.
    pub(super) fn heat(value: f64, share: f64, shown: impl AsRef<str>) -> Self {
        let strength = format!("--heat:{:.0}%", 100.0 * share.clamp(0.0, 1.0));
        let shown = shown.as_ref();
        let shown = markup! { span(class = "heat", style = strength) : shown; };
        Self { shown, key: Some(value), class: "" }
    }

    /// The same cell with a value in the order of its column.
    pub(super) fn with_key(self, key: f64) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The same cell with a class of the style sheet.
    pub(super) fn with_class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}

/// A table of names and values.
pub(super) fn facts(caption: &str, rows: &[(&str, String)]) -> Table {
    let mut table = Table::new(caption, vec![Head::text("figure"), Head::text("value")]);
    for (name, value) in rows {
        let cell = TableCell::text(value);
        let is_long = value.chars().count() > 60;
        table.push(vec![TableCell::text(name), if is_long { cell.with_class("wide-text") } else { cell }]);
    }
    table
}

impl Table {
    pub(super) fn new(caption: impl Into<String>, heads: Vec<Head>) -> Self {
        Self { caption: caption.into(), heads, rows: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Vec<TableCell>) {
        self.rows.push(row);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in a box of its own, in which a wide table scrolls.
    pub(super) fn draw(&self, ids: &Ids) -> Markup {
        let id = ids.next("table");
        let head = |head: &Head| {
            let class = head.is_number.then_some("number");
            markup! { th(scope = "col", class? = class) : &head.label; }
        };
        let heads: Markup = self.heads.iter().map(head).collect();
        let rows: Markup = self.rows.iter().map(|row| self.row(row)).collect();
        let caption = &self.caption;
        markup! {
            div(class = "scroll", role = "region", aria-labelledby = &id, tabindex = "0") {
                table(class = "sortable") {
                    caption(id = &id) : caption;
                    thead { tr : &heads; }
                    tbody : &rows;
                }
            }
        }
    }

    fn row(&self, row: &[TableCell]) -> Markup {
        let cells: Markup = row
            .iter()
            .enumerate()
            .map(|(at, cell)| {
                let number = self.heads.get(at).is_some_and(|head| head.is_number);
                let class = match (number, cell.class) {
                    (true, "") => "number".to_owned(),
                    (true, class) => format!("number {class}"),
                    (false, class) => class.to_owned(),
                };
                let class = (!class.is_empty()).then_some(class);
                // Infinities and NaN have no place in a sorted column.
                let key = cell.key.filter(|key| key.is_finite());
                // The first column names the row for screen readers.
                if at == 0 {
                    markup! { th(scope = "row", class? = class, data-key? = key) : &cell.shown; }
                } else {
                    markup! { td(class? = class, data-key? = key) : &cell.shown; }
                }
            })
            .collect();
        markup! { tr : &cells; }
    }
}
