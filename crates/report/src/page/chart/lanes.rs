//! Shares over time, a lane for each quantity.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::{IntoDrawingArea, Polygon, SVGBackend};
use plotters::style::Color;

use super::axis::Scale;
use super::{AXIS, Axis, CHARACTER, Chart, Ink, Sign, drawn, rows_chart, shortened};

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

/// The height of a lane with the gap above it.
const ROW: u32 = 34;
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
        let names: Vec<_> = self.lanes.iter().map(|lane| shortened(&lane.name, NAME)).collect();
        let left = (longest as f64 * CHARACTER + 18.0) as u32;
        let chart = rows_chart(area, (&self.x, x), &names, left)?;
        for (row, lane) in self.lanes.iter().enumerate() {
            let bottom = row as f64 + 1.0;
            let shows = |(x, share): &(f64, f64)| self.x.shows(*x) && share.is_finite();
            let shown: Vec<Option<(f64, f64)>> =
                lane.points.iter().map(|point| Some(*point).filter(shows)).collect();
            // Gaps split a lane, because nothing is known about the time in them.
            for part in shown.split(Option::is_none) {
                let steps: Vec<(f64, f64)> = part.iter().copied().flatten().collect();
                let (Some(first), Some(last)) = (steps.first(), steps.last()) else { continue };
                // Down to the bottom at both ends, which closes the area.
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
