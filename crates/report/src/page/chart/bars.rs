//! Horizontal bars, one below the other, with ranges and published points. Bars start at zero; numbers that span too much for
//! that are dots on a logarithmic axis, because the length of a bar would say nothing there.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::{Circle, IntoDrawingArea, PathElement, Rectangle, SVGBackend, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, ShapeStyle};

use super::axis::Scale;
use super::{AXIS, Axis, CHARACTER, Chart, Ink, Sign, drawn, rows_chart, shortened};

/// A chart of bars.
#[allow(clippy::struct_field_names, reason = "what the chart is made of")]
pub(in crate::page) struct Bars {
    pub(in crate::page) title: String,
    pub(in crate::page) description: String,
    /// What the numbers are, with their unit.
    pub(in crate::page) label: String,
    /// How a number is written.
    pub(in crate::page) format: fn(f64) -> String,
    pub(in crate::page) bars: Vec<Bar>,
    /// The names of the series of the bars, if there are several.
    pub(in crate::page) series: Vec<String>,
    /// What the ranges are, if bars have some.
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

/// The ratio of the largest to the smallest number from which on there are dots on a logarithmic axis.
const SPAN: f64 = 50.0;

/// The height of a bar with the gap below it.
const ROW: u32 = 26;

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
        let sign = if self.axis().log { Sign::Point } else { Sign::Bar };
        let mut legend: Vec<_> =
            series.map(|(index, name)| (Ink::Series(index), sign, name.clone())).collect();
        if self.bars.iter().any(|bar| bar.range.is_some()) {
            legend.push((Ink::Text, Sign::Range, self.ranges.clone()));
        }
        if !self.points.is_empty() {
            legend.push((Ink::Published, Sign::Point, self.points.clone()));
        }
        legend
    }

    fn svg(&self, width: u32) -> Option<String> {
        let axis = self.axis();
        let [low, high] = axis.range(self.numbers())?;
        // Room for the number behind the longest bar.
        let high = if axis.log { high * (high / low).powf(0.22) } else { high * 1.22 };
        let height = ROW * self.bars.len() as u32 + AXIS;
        let mut svg = String::new();
        let done = {
            let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
            let start = if axis.log { low } else { 0.0 };
            self.draw(&area, width, &axis, axis.scale([low, high], (width / 75) as usize), start)
        };
        drawn(done, svg)
    }
}

impl Bars {
    /// All numbers: of bars, ranges and points.
    fn numbers(&self) -> impl Iterator<Item = f64> {
        let own = |bar: &Bar| {
            [bar.value, bar.range.map(|range| range[0]), bar.range.map(|range| range[1]), bar.point]
        };
        self.bars.iter().flat_map(own).flatten()
    }

    fn axis(&self) -> Axis {
        let positive = || self.numbers().filter(|number| *number > 0.0);
        let (low, high) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
        // A logarithmic axis leaves out 0, which may be missed, and numbers below, which may not.
        let log = high > SPAN * low && self.numbers().all(|number| number >= 0.0);
        let label = if log { format!("{}, logarithmic", self.label) } else { self.label.clone() };
        Axis { label, log, format: self.format }
    }

    fn draw(
        &self,
        area: &Area<'_>,
        width: u32,
        axis: &Axis,
        x: Scale,
        start: f64,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let longest = self.bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
        // Names must leave most of the width to the bars.
        let names = (longest as f64 * CHARACTER + 20.0).min(0.42 * f64::from(width));
        let fits = ((names - 12.0) / CHARACTER + 0.5) as usize;
        let labels: Vec<_> = self.bars.iter().map(|bar| shortened(&bar.label, fits)).collect();
        let chart = rows_chart(area, (axis, x), &labels, names as u32)?;
        let line = |ink: Ink, width: u32| ShapeStyle {
            color: ink.rgb().to_rgba(),
            filled: false,
            stroke_width: width,
        };
        for (row, bar) in self.bars.iter().enumerate() {
            let middle = row as f64 + 0.5;
            let shows = |value: &f64| axis.shows(*value);
            let mut end = start;
            if let Some(value) = bar.value.filter(shows) {
                let (area, style) = (chart.plotting_area(), Ink::Series(bar.series).rgb().filled());
                if axis.log {
                    area.draw(&Circle::new((value, middle), 6, style))?;
                } else {
                    area.draw(&Rectangle::new([(start, middle - 0.32), (value, middle + 0.32)], style))?;
                }
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
            let said = bar.value.map_or_else(|| "–".to_owned(), axis.format);
            let style = Ink::Text.text().pos(Pos::new(HPos::Left, VPos::Center));
            // A space in front keeps it off the bar.
            chart.plotting_area().draw(&Text::new(format!("\u{a0}\u{a0}{said}"), (end, middle), style))?;
        }
        area.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(values: &[f64]) -> String {
        let bar = |value: &f64| Bar {
            label: "x".to_owned(),
            value: Some(*value),
            range: None,
            point: None,
            series: 0,
        };
        let bars = Bars {
            title: String::new(),
            description: String::new(),
            label: "time".to_owned(),
            format: crate::number::significant,
            bars: values.iter().map(bar).collect(),
            series: vec!["own".to_owned()],
            ranges: String::new(),
            points: String::new(),
        };
        bars.svg(500).unwrap()
    }

    /// The widths of the bars; the background has another colour.
    fn widths(svg: &str) -> Vec<f64> {
        let bars = svg.split("<rect").skip(1).filter(|rest| rest.contains("fill=\"#01000A\""));
        bars.map(|rest| rest.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap())
            .collect()
    }

    #[test]
    fn the_length_of_a_bar_is_its_number() {
        let widths = widths(&svg(&[1.0, 2.0, 40.0]));
        let unit = widths[2] / 40.0;
        assert!((widths[0] - unit).abs() <= 1.0 && (widths[1] - 2.0 * unit).abs() <= 1.0, "{widths:?}");
    }

    #[test]
    fn what_spans_too_much_is_dots_on_a_logarithmic_axis() {
        let svg = svg(&[1.0, 2.0, 4000.0]);
        assert_eq!((widths(&svg).len(), svg.matches("<circle").count()), (0, 3));
        assert!(svg.contains("logarithmic"));
    }
}
