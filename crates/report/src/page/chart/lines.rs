//! Lines and points over two axes of numbers.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::{
    ChartBuilder, Circle, IntoDrawingArea, LabelAreaPosition, LineSeries, SVGBackend, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, ShapeStyle};

use super::axis::Scale;
use super::{Axis, CHARACTER, Chart, Ink, Sign, drawn, trimmed};

/// A chart of lines.
#[allow(clippy::struct_field_names, reason = "what the chart is made of")]
pub(in crate::page) struct Lines {
    pub(in crate::page) title: String,
    pub(in crate::page) description: String,
    pub(in crate::page) x: Axis,
    pub(in crate::page) y: Axis,
    /// The least range of y, besides what the lines need.
    pub(in crate::page) y_at_least: Option<[f64; 2]>,
    pub(in crate::page) lines: Vec<ChartLine>,
    pub(in crate::page) height: u32,
}

/// A line or a set of points.
pub(in crate::page) struct ChartLine {
    pub(in crate::page) name: String,
    pub(in crate::page) ink: Ink,
    pub(in crate::page) form: Form,
    pub(in crate::page) points: Vec<(f64, f64)>,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::page) enum Form {
    Line,
    Points,
}

type Drawing<'a> = DrawingArea<SVGBackend<'a>, Shift>;

impl Chart for Lines {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn legend(&self) -> Vec<(Ink, Sign, String)> {
        let sign = |form: Form| match form {
            Form::Line => Sign::Line,
            Form::Points => Sign::Point,
        };
        self.lines.iter().map(|line| (line.ink, sign(line.form), line.name.clone())).collect()
    }

    fn svg(&self, width: u32) -> Option<String> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = self.x.range(points().map(|point| point.0))?;
        let at_least = self.y_at_least.into_iter().flatten();
        let y = self.y.range(points().map(|point| point.1).chain(at_least))?;
        let (x, y) = (self.x.scale(x, (width / 85) as usize), self.y.scale(y, (self.height / 40) as usize));
        let mut svg = String::new();
        let done = {
            let area = SVGBackend::with_string(&mut svg, (width, self.height)).into_drawing_area();
            self.draw(&area, x, y)
        };
        drawn(done, svg)
    }
}

impl Lines {
    fn draw(&self, area: &Drawing<'_>, x: Scale, y: Scale) -> Result<(), Box<dyn std::error::Error>> {
        let widest = y.ticks().iter().map(|tick| (self.y.format)(*tick).chars().count()).max().unwrap_or(1);
        let left = (widest as f64 * CHARACTER + 14.0) as u32;
        let mut chart = ChartBuilder::on(area)
            .set_label_area_size(LabelAreaPosition::Left, left)
            .set_label_area_size(LabelAreaPosition::Bottom, 40)
            .margin_right(16)
            .margin_top(26)
            .build_cartesian_2d(x, y)?;
        let grid = Ink::Grid.rgb().stroke_width(1);
        chart
            .configure_mesh()
            .bold_line_style(grid)
            .light_line_style(grid)
            .axis_style(grid)
            .label_style(Ink::Text.text())
            .axis_desc_style(Ink::Faint.text())
            .set_all_tick_mark_size(4)
            .x_desc(self.x.label.as_str())
            .x_label_formatter(&|value| trimmed(&(self.x.format)(*value)))
            .y_label_formatter(&|value| trimmed(&(self.y.format)(*value)))
            .draw()?;
        for line in &self.lines {
            // What cannot be shown interrupts a line.
            let shows = |(x, y): &(f64, f64)| self.x.shows(*x) && self.y.shows(*y);
            let shown = line.points.iter().map(|point| Some(*point).filter(shows));
            let color = line.ink.rgb();
            let stroke = ShapeStyle { color: color.to_rgba(), filled: false, stroke_width: 2 };
            match line.form {
                Form::Line => {
                    let points = shown.collect::<Vec<_>>();
                    for part in points.split(Option::is_none) {
                        chart.draw_series(LineSeries::new(part.iter().copied().flatten(), stroke))?;
                    }
                }
                Form::Points => {
                    chart.draw_series(shown.flatten().map(|point| Circle::new(point, 6, color.filled())))?;
                }
            }
        }
        // The name of the vertical axis stands above it: turned text is hard to read.
        let style = Ink::Faint.text().pos(Pos::new(HPos::Left, VPos::Top));
        area.draw(&Text::new(self.y.label.as_str(), (4, 4), style))?;
        area.present()?;
        Ok(())
    }
}
