//! Horizontal bars, one below the other, with ranges and published points.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::{
    ChartBuilder, Circle, IntoDrawingArea, LabelAreaPosition, PathElement, Rectangle, SVGBackend, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, ShapeStyle};

use super::axis::Scale;
use super::{Axis, CHARACTER, Chart, Ink, Sign, drawn, shortened, trimmed};

/// A chart of bars.
pub(in crate::page) struct Bars {
    pub(in crate::page) title: String,
    pub(in crate::page) description: String,
    pub(in crate::page) axis: Axis,
    pub(in crate::page) bars: Vec<Bar>,
    /// The names of the series of the bars, if there are several.
    pub(in crate::page) series: Vec<String>,
    /// What the ranges are; empty if there are none.
    pub(in crate::page) ranges: String,
    /// What the points are; empty if there are none.
    pub(in crate::page) points: String,
}

/// A bar.
pub(in crate::page) struct Bar {
    pub(in crate::page) label: String,
    pub(in crate::page) value: Option<f64>,
    pub(in crate::page) range: Option<[f64; 2]>,
    /// A figure of someone else, as a point.
    pub(in crate::page) point: Option<f64>,
    pub(in crate::page) series: usize,
}

/// The height of a bar with the gap below it, and of the axis.
const ROW: u32 = 26;
const AXIS: u32 = 44;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

impl Chart for Bars {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn legend(&self) -> Vec<(Ink, Sign, String)> {
        let series = self.series.iter().enumerate();
        let mut legend: Vec<_> =
            series.map(|(index, name)| (Ink::Series(index), Sign::Bar, name.clone())).collect();
        if !self.ranges.is_empty() {
            legend.push((Ink::Text, Sign::Range, self.ranges.clone()));
        }
        if !self.points.is_empty() {
            legend.push((Ink::Published, Sign::Point, self.points.clone()));
        }
        legend
    }

    fn svg(&self, width: u32) -> Option<String> {
        let values = self.bars.iter().flat_map(|bar| {
            [bar.value, bar.range.map(|range| range[0]), bar.range.map(|range| range[1]), bar.point]
        });
        let [low, high] = self.axis.range(values.flatten())?;
        // Room for the number behind the longest bar.
        let high = if self.axis.log { high * (high / low).powf(0.22) } else { high * 1.22 };
        let height = ROW * self.bars.len() as u32 + AXIS;
        let mut svg = String::new();
        let done = {
            let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
            let zero = if self.axis.log { low } else { 0.0 };
            self.draw(&area, width, self.axis.scale([low, high], (width / 75) as usize), zero)
        };
        drawn(done, svg)
    }
}

impl Bars {
    fn draw(
        &self,
        area: &Area<'_>,
        width: u32,
        x: Scale,
        zero: f64,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let longest = self.bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
        let names = (longest as f64 * CHARACTER + 20.0).min(0.42 * f64::from(width));
        let fits = ((names - 12.0) / CHARACTER + 0.5) as usize;
        let mut chart = ChartBuilder::on(area)
            .set_label_area_size(LabelAreaPosition::Left, names as u32)
            .set_label_area_size(LabelAreaPosition::Bottom, AXIS - 4)
            .margin_right(20)
            .margin_top(4)
            .build_cartesian_2d(x, Scale::rows(self.bars.len()))?;
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
            .x_desc(self.axis.label.as_str())
            .x_label_formatter(&|value| trimmed(&(self.axis.format)(*value)))
            .y_label_formatter(&|at| {
                let bar = self.bars.get(*at as usize);
                bar.map_or_else(String::new, |bar| shortened(&bar.label, fits))
            })
            .draw()?;
        let line = |ink: Ink, width: u32| ShapeStyle {
            color: ink.rgb().to_rgba(),
            filled: false,
            stroke_width: width,
        };
        for (row, bar) in self.bars.iter().enumerate() {
            let middle = row as f64 + 0.5;
            let shows = |value: &f64| self.axis.shows(*value);
            let mut end = zero;
            if let Some(value) = bar.value.filter(shows) {
                let corners = [(zero, middle - 0.32), (value, middle + 0.32)];
                chart
                    .plotting_area()
                    .draw(&Rectangle::new(corners, Ink::Series(bar.series).rgb().filled()))?;
                end = end.max(value);
            }
            if let Some([low, high]) = bar.range.filter(|range| range.iter().all(shows)) {
                let stroke = line(Ink::Text, 1);
                let area = chart.plotting_area();
                area.draw(&PathElement::new(vec![(low, middle), (high, middle)], stroke))?;
                for x in [low, high] {
                    area.draw(&PathElement::new(vec![(x, middle - 0.2), (x, middle + 0.2)], stroke))?;
                }
                end = end.max(high);
            }
            if let Some(point) = bar.point.filter(shows) {
                let area = chart.plotting_area();
                area.draw(&Circle::new((point, middle), 5, Ink::Published.rgb().filled()))?;
                end = end.max(point);
            }
            let said = bar.value.map_or_else(|| "–".to_owned(), self.axis.format);
            let style = Ink::Text.text().pos(Pos::new(HPos::Left, VPos::Center));
            // A space in front keeps it off the bar.
            chart.plotting_area().draw(&Text::new(format!("\u{a0}\u{a0}{said}"), (end, middle), style))?;
        }
        area.present()?;
        Ok(())
    }
}
