//! Charts as SVG, drawn by `plotters`. Its colours are markers that the style sheet replaces by those of the theme.

mod axis;
mod bars;
mod lanes;
mod lines;

use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::DrawingArea;
use plotters::prelude::{ChartBuilder, LabelAreaPosition, SVGBackend};
use plotters::style::{Color, FontFamily, IntoFont, RGBColor, TextStyle};

use super::markup::{Ids, Markup, markup};
use super::table::Table;
pub(super) use axis::Axis;
use axis::Scale;
pub(super) use bars::{Bar, Bars};
pub(super) use lanes::{Lane, Lanes};
pub(super) use lines::{ChartLine, Form, Lines};

/// The role of a colour. `page.css` has a colour of each theme for every one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Text,
    Faint,
    Grid,
    /// Figures that others published.
    Published,
    /// One of [`Ink::SERIES`] colours, again from the first after the last.
    Series(usize),
}

impl Ink {
    /// The number of colours of series.
    const SERIES: usize = 8;

    fn number(self) -> u8 {
        match self {
            Self::Text => 1,
            Self::Faint => 2,
            Self::Grid => 3,
            Self::Published => 4,
            Self::Series(index) => 10 + (index % Self::SERIES) as u8,
        }
    }

    /// The marker of the colour.
    fn rgb(self) -> RGBColor {
        // Nothing else in a chart has these colours, so the style sheet finds all that it has to replace.
        RGBColor(1, 0, self.number())
    }

    /// The class of a piece of HTML in this colour.
    fn class(self) -> String {
        format!("swatch ink-{}", self.number())
    }

    /// The text of a chart in this colour.
    fn text(self) -> TextStyle<'static> {
        const SIZE: f64 = 15.0;
        (FontFamily::SansSerif, SIZE).into_font().color(&self.rgb())
    }
}

/// The height of the axis below a chart of rows.
const AXIS: u32 = 44;

/// A chart of rows from the top down, with a name at the left of each, `left` pixels wide.
fn rows_chart<'a>(
    area: &DrawingArea<SVGBackend<'a>, Shift>,
    (axis, x): (&Axis, Scale),
    names: &[String],
    left: u32,
) -> Result<ChartContext<'a, SVGBackend<'a>, Cartesian2d<Scale, Scale>>, Box<dyn std::error::Error>> {
    let mut chart = ChartBuilder::on(area)
        .set_label_area_size(LabelAreaPosition::Left, left)
        .set_label_area_size(LabelAreaPosition::Bottom, AXIS - 4)
        .margin_right(20)
        .margin_top(4)
        .build_cartesian_2d(x, Scale::rows(names.len()))?;
    let grid = Ink::Grid.rgb().stroke_width(1);
    chart
        .configure_mesh()
        .disable_y_mesh()
        .bold_line_style(grid)
        .light_line_style(grid)
        .axis_style(grid)
        .label_style(Ink::Text.text())
        .axis_desc_style(Ink::Faint.text())
        .set_all_tick_mark_size(4)
        .x_desc(axis.label.as_str())
        .x_label_formatter(&|value| trimmed(&(axis.format)(*value)))
        .y_label_formatter(&|at| names.get(*at as usize).cloned().unwrap_or_default())
        .draw()?;
    Ok(chart)
}

/// Widths of a text in characters become widths in pixels.
const CHARACTER: f64 = 6.6;
/// The width of charts in a grid, and of all charts on narrow screens.
const NARROW: u32 = 360;
/// The width of a chart in a tile.
const TILE: u32 = 560;

/// What a chart is drawn from.
pub(super) trait Chart {
    /// Its name, in a few words.
    fn title(&self) -> &str;
    /// What it shows, in a sentence, for those who do not see it.
    fn description(&self) -> &str;
    /// Names of its colours and signs.
    fn legend(&self) -> Vec<(Ink, Sign, String)>;
    /// The SVG element at a width in pixels; `None` when there is nothing to draw.
    fn svg(&self, width: u32) -> Option<String>;
}

/// A sign in a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Bar,
    Line,
    Point,
    Range,
}

impl Sign {
    fn class(self) -> &'static str {
        match self {
            Self::Bar => "bar-sign",
            Self::Line => "line-sign",
            Self::Point => "point-sign",
            Self::Range => "range-sign",
        }
    }
}

/// A chart of a grid, with its numbers as a table. Empty when there is nothing to draw.
pub(super) fn small(chart: &dyn Chart, numbers: &Table, ids: &Ids) -> Markup {
    figure(chart, &[(NARROW, "small")], numbers, ids)
}

/// A chart in a tile, with its numbers as a table. Narrow screens have a form of their own.
pub(super) fn tile(chart: &dyn Chart, numbers: &Table, ids: &Ids) -> Markup {
    figure(chart, &[(TILE, "wide"), (NARROW, "narrow")], numbers, ids)
}

fn figure(chart: &dyn Chart, forms: &[(u32, &'static str)], numbers: &Table, ids: &Ids) -> Markup {
    // A chart that cannot be drawn at one width is not shown at any.
    let drawn: Option<Markup> =
        forms.iter().map(|(width, class)| Some(image(&chart.svg(*width)?, class, chart, ids))).collect();
    let Some(drawn) = drawn else { return Markup::default() };
    let legend: Markup = chart
        .legend()
        .into_iter()
        .map(|(ink, sign, name)| {
            let class = format!("{} {}", ink.class(), sign.class());
            markup! { li { span(class = &class, aria-hidden = "true") {} : &name; } }
        })
        .collect();
    let numbers = if numbers.is_empty() {
        Markup::default()
    } else {
        let table = numbers.draw(ids);
        markup! { details { summary : "Numbers"; : &table; } }
    };
    let title = chart.title();
    markup! {
        figure {
            figcaption : title;
            : &drawn;
            @ if !legend.is_empty() { ul(class = "legend") : &legend; }
            : &numbers;
        }
    }
}

/// The SVG with a name and a description.
fn image(svg: &str, class: &str, chart: &dyn Chart, ids: &Ids) -> Markup {
    // `plotters` writes one `svg` element, whose start has the size alone.
    let Some((start, rest)) = svg.split_once('>') else { return Markup::default() };
    let (title, description) = (ids.next("chart"), ids.next("chart"));
    let names = markup! {
        title(id = &title) : chart.title();
        desc(id = &description) : chart.description();
    };
    let names = names.0;
    Markup(format!(
        "{start} class=\"{class}\" role=\"img\" aria-labelledby=\"{title}\" aria-describedby=\"{description}\">{names}{rest}"
    ))
}

/// A text of at most `most` characters.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", start.trim_end())
}

/// A round number without the zeros behind it: `2.00 ms` is `2 ms`.
fn trimmed(text: &str) -> String {
    let (number, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit() && !".-".contains(c)).unwrap_or(text.len()));
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number}{unit}")
}

/// A failed drawing, which is not shown: text cannot fail to grow.
fn drawn<E>(result: Result<(), E>, svg: String) -> Option<String> {
    result.ok().map(|()| svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_have_no_needless_zeros() {
        let cases =
            [("2.00 ms", "2 ms"), ("0.000", "0"), ("0.500", "0.5"), ("100", "100"), ("62%", "62%"), ("", "")];
        for (text, want) in cases {
            assert_eq!(trimmed(text), want);
        }
    }

    #[test]
    fn long_names_are_shortened() {
        assert_eq!(shortened("abc def", 7), "abc def");
        assert_eq!(shortened("abc def", 5), "abc…");
    }
}
