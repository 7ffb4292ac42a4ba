//! Tables of groups side by side: one column of names, then a group of columns for each size.

use crate::style::{Canvas, Tone};

/// One cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }

    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// Right-aligned in its column, after a space.
    fn right(&self, canvas: Canvas, width: usize) -> String {
        let space = " ".repeat(1 + width.saturating_sub(self.width()));
        format!("{space}{}", canvas.paint(self.tone, &self.text))
    }

    fn left(&self, canvas: Canvas, width: usize) -> String {
        let space = " ".repeat(width.saturating_sub(self.width()));
        format!("{}{space}", canvas.paint(self.tone, &self.text))
    }

    fn centred(&self, canvas: Canvas, width: usize) -> String {
        let space = width.saturating_sub(self.width());
        let before = " ".repeat(space / 2);
        let after = " ".repeat(space - space / 2);
        format!("{before}{}{after}", canvas.paint(self.tone, &self.text))
    }
}

/// One row of a group.
#[derive(Clone, Debug)]
pub(crate) enum Row {
    /// A cell for each column.
    Cells(Vec<Cell>),
    /// One text across all columns.
    Across(Cell),
}

/// Columns under one title.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

impl Group {
    /// Width of each column: its widest cell.
    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|column| column.chars().count()).collect();
        for row in &self.rows {
            if let Row::Cells(cells) = row {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    *width = (*width).max(cell.width());
                }
            }
        }
        let across = self.rows.iter().map(|row| if let Row::Across(cell) = row { cell.width() } else { 0 });
        let need = across.max().unwrap_or(0).max(self.title.chars().count());
        let have = widths.iter().sum::<usize>() + widths.len().saturating_sub(1);
        // A title or text that is wider than its columns widens the first of them.
        if let Some(first) = widths.first_mut() {
            *first += need.saturating_sub(have);
        }
        widths
    }
}

/// Columns under one row of headings, without lines between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    /// The first row; others may be shorter.
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Left-aligned columns, for names; the others are right-aligned.
    pub(crate) left: Vec<usize>,
    /// The number of columns at the left that are repeated where the table is folded.
    pub(crate) keys: usize,
}

impl Columns {
    /// Draws the table; where it is wider than a canvas that folds, in pieces one below the other that each begin with
    /// the keys.
    pub(crate) fn draw(&self, canvas: Canvas) -> String {
        const BETWEEN: usize = 2;
        let mut widths: Vec<usize> = self.heads.iter().map(|head| head.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let keys: usize = widths.iter().take(self.keys).map(|width| width + BETWEEN).sum();
        let mut out = String::new();
        let mut start = self.keys;
        loop {
            // At least one column at a time, or a narrow canvas would never end.
            let (mut end, mut used) = (start, keys);
            while end < widths.len() && (end == start || !canvas.folds || used + widths[end] <= canvas.width)
            {
                used += widths[end] + BETWEEN;
                end += 1;
            }
            for (index, row) in [&self.heads].into_iter().chain(&self.rows).enumerate() {
                let shown = (0..self.keys).chain(start..end);
                let cells: Vec<String> = shown
                    .map(|at| {
                        let (cell, width) = (row.get(at).map_or("", String::as_str), widths[at]);
                        if self.left.contains(&at) {
                            format!("{cell:<width$}")
                        } else {
                            format!("{cell:>width$}")
                        }
                    })
                    .collect();
                let line = cells.join(&" ".repeat(BETWEEN));
                let tone = if index == 0 { Tone::Heading } else { Tone::Plain };
                out.push_str(&canvas.paint(tone, line.trim_end()));
                out.push('\n');
            }
            start = end;
            if start >= widths.len() {
                return out;
            }
            out.push('\n');
        }
    }
}

/// Draws `names` next to `groups`, as many side by side as fit the canvas, the others in blocks below. A line separates
/// the first `rule_after` rows from the rest.
pub(crate) fn draw(
    canvas: Canvas,
    head: &str,
    names: &[Cell],
    groups: &[Group],
    rule_after: usize,
) -> String {
    const INDENT: &str = "  ";
    let name_width = names.iter().map(Cell::width).chain([head.chars().count()]).max().unwrap_or(0);
    let widths: Vec<Vec<usize>> = groups.iter().map(Group::widths).collect();
    // A bar, then a space before every column.
    let total = |widths: &Vec<usize>| 1 + widths.iter().map(|width| width + 1).sum::<usize>();
    let mut out = String::new();
    let mut start = 0;
    while start < groups.len() {
        let mut end = start;
        let mut used = INDENT.len() + name_width;
        while end < groups.len() && (end == start || used + total(&widths[end]) <= canvas.width) {
            used += total(&widths[end]);
            end += 1;
        }
        let bar = canvas.paint(Tone::Faint, "│");
        let mut line = |first: String, parts: Vec<String>| {
            out.push_str(INDENT);
            out.push_str(&first);
            for part in parts {
                out.push_str(&bar);
                out.push_str(&part);
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
        };
        let block = || groups[start..end].iter().zip(&widths[start..end]);
        if groups[start..end].iter().any(|group| !group.title.is_empty()) {
            line(
                " ".repeat(name_width),
                block()
                    .map(|(group, widths)| {
                        Cell::toned(group.title.clone(), Tone::Heading).centred(canvas, total(widths) - 1)
                    })
                    .collect(),
            );
        }
        line(
            Cell::toned(head, Tone::Faint).left(canvas, name_width),
            block()
                .map(|(group, widths)| {
                    let heads = group.columns.iter().zip(widths);
                    heads
                        .map(|(column, width)| Cell::toned(column.clone(), Tone::Faint).right(canvas, *width))
                        .collect()
                })
                .collect(),
        );
        let rule = || {
            let mut rule = "─".repeat(name_width);
            for (_, widths) in block() {
                rule.push('┼');
                rule.push_str(&"─".repeat(total(widths) - 1));
            }
            canvas.paint(Tone::Faint, &rule)
        };
        line(rule(), Vec::new());
        for (index, name) in names.iter().enumerate() {
            if index == rule_after && index > 0 {
                line(rule(), Vec::new());
            }
            line(
                name.left(canvas, name_width),
                block()
                    .map(|(group, widths)| match group.rows.get(index) {
                        Some(Row::Cells(cells)) => {
                            cells.iter().zip(widths).map(|(cell, width)| cell.right(canvas, *width)).collect()
                        }
                        Some(Row::Across(cell)) => cell.centred(canvas, total(widths) - 1),
                        None => " ".repeat(total(widths) - 1),
                    })
                    .collect(),
            );
        }
        start = end;
        if start < groups.len() {
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_table_is_folded() {
        let columns = Columns {
            heads: ["GPU", "first", "second", "third"].map(str::to_owned).to_vec(),
            rows: vec![["G77", "1", "22", "333"].map(str::to_owned).to_vec()],
            left: vec![0],
            keys: 1,
        };
        let wide = columns.draw(Canvas { width: 19, ..Canvas::default() });
        assert_eq!(wide, "GPU  first  second  third\nG77      1      22    333\n");
        let narrow = columns.draw(Canvas { width: 19, folds: true, ..Canvas::default() });
        assert_eq!(narrow, "GPU  first  second\nG77      1      22\n\nGPU  third\nG77    333\n");
        assert!(columns.draw(Canvas { width: 1, folds: true, ..Canvas::default() }).lines().count() > 6);
    }
}
