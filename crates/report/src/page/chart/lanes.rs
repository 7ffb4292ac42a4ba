//! Shares over time, a lane for each quantity.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::{ChartBuilder, IntoDrawingArea, LabelAreaPosition, Polygon, SVGBackend};
use plotters::style::Color;

use super::axis::Scale;
use super::{Axis, CHARACTER, Chart, Ink, Sign, drawn, shortened, trimmed};

/// A chart of lanes, one below the other. A full lane is a share of 1.
#[allow(clippy::struct_field_names, reason = "what the chart is made of")]
pub(in crate::page) struct Lanes {
    pub(in crate::page) title: String,
    pub(in crate::page) description: String,
    pub(in crate::page) x: Axis,
    pub(in crate::page) lanes: Vec<Lane>,
}

/// A lane: its name, and the shares at the ends of intervals in order. What cannot be shown interrupts it.
pub(in crate::page) struct Lane {
    pub(in crate::page) name: String,
    pub(in crate::page) points: Vec<(f64, f64)>,
}

/// The height of a lane with the gap above it, and of the axis.
const ROW: u32 = 34;
const AXIS: u32 = 44;
/// The part of a row that a full lane fills.
const FULL: f64 = 0.86;

impl Chart for Lanes {
    fn title(&self) -> &str {
        &self.title
    }

    fn description(&self) -> &str {
        &self.description
    }

    /// The names stand at the lanes.
    fn legend(&self) -> Vec<(Ink, Sign, String)> {
        Vec::new()
    }

    fn svg(&self, width: u32) -> Option<String> {
        let times = self.lanes.iter().flat_map(|lane| &lane.points).map(|point| point.0);
        let x = self.x.scale(self.x.range(times)?, (width / 85) as usize);
        let height = ROW * self.lanes.len() as u32 + AXIS;
        let mut svg = String::new();
        let done = {
            let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
            self.draw(&area, x)
        };
        drawn(done, svg)
    }
}

impl Lanes {
    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        x: Scale,
    ) -> Result<(), Box<dyn std::error::Error>> {
        const NAME: usize = 12;
        let longest = self.lanes.iter().map(|lane| lane.name.chars().count()).max().unwrap_or(0).min(NAME);
        let mut chart = ChartBuilder::on(area)
            .set_label_area_size(LabelAreaPosition::Left, (longest as f64 * CHARACTER + 18.0) as u32)
            .set_label_area_size(LabelAreaPosition::Bottom, AXIS - 4)
            .margin_right(20)
            .margin_top(4)
            .build_cartesian_2d(x, Scale::rows(self.lanes.len()))?;
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
            .x_desc(self.x.label.as_str())
            .x_label_formatter(&|value| trimmed(&(self.x.format)(*value)))
            .y_label_formatter(&|at| {
                self.lanes.get(*at as usize).map_or_else(String::new, |lane| shortened(&lane.name, NAME))
            })
            .draw()?;
        for (row, lane) in self.lanes.iter().enumerate() {
            let bottom = row as f64 + 1.0;
            let shows = |(x, share): &(f64, f64)| self.x.shows(*x) && share.is_finite();
            let shown: Vec<Option<(f64, f64)>> =
                lane.points.iter().map(|point| Some(*point).filter(shows)).collect();
            for part in shown.split(Option::is_none) {
                let steps: Vec<(f64, f64)> = part.iter().copied().flatten().collect();
                let (Some(first), Some(last)) = (steps.first(), steps.last()) else { continue };
                let mut outline = vec![(first.0, bottom)];
                outline.extend(steps.iter().map(|(x, share)| (*x, bottom - FULL * share.clamp(0.0, 1.0))));
                outline.push((last.0, bottom));
                chart.plotting_area().draw(&Polygon::new(outline, Ink::Series(row).rgb().filled()))?;
            }
        }
        area.present()?;
        Ok(())
    }
}
