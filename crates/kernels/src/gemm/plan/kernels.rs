//! The launches of each kernel.

use std::sync::Arc;

use tripipe_device::DeviceKind;
use tripipe_launch::NdRange;

use super::{DivisibleLaunch, Planner, Read};
use crate::gemm::description::{Accumulate, Elements, StridedLayout};
use crate::gemm::parameters::{Dot, Local, Source, Tile, Vector};
use crate::gemm::product::RowMajorProduct;
use crate::source::{GEMM_LOCAL, GEMM_TILE, GEMM_VECTOR};

impl Planner<'_> {
    pub(super) fn tile(&mut self, tile: &Tile, [a, b]: &[Read; 2]) {
        let RowMajorProduct { m, n, k, .. } = self.product;
        let zeros = self.zero_points();
        let from = |source: Source, along: bool| match source {
            Source::Packed { .. } => "PACKED",
            Source::Image => "IMAGE",
            Source::Direct if along => "ALONG",
            Source::Direct => "ACROSS",
        };
        // A chunk of halves may begin in the middle of a vector of A.
        let whole_chunks = match self.gemm.elements {
            Elements::F16(Accumulate::Chunked { block }) => block.is_multiple_of(tile.unroll),
            _ => true,
        };
        // A CPU loads vectors at any address; the host's memory that it reads may begin at any.
        let may_align = self.probe.kind != DeviceKind::Cpu && !self.gemm.has_offsets();
        let aligned = |read: &Read, width: usize| {
            u8::from(may_align && read.packed.is_none() && read.view.is_aligned(width))
        };
        let mut program = self
            .program(&GEMM_TILE)
            .define("ROWS", tile.rows)
            .define("VECTORS", tile.vectors())
            .define("VECTOR", tile.vector)
            .define("UNROLL", tile.unroll)
            .define("A_FROM", from(tile.a, a.view.column_stride == 1))
            .define("B_FROM", from(tile.b, b.view.column_stride != 1))
            .define("A_ALIGNED", if whole_chunks { aligned(a, tile.unroll) } else { 0 })
            .define("B_ALIGNED", aligned(b, tile.vector))
            .define("B_WHOLE", u8::from(n.is_multiple_of(tile.vector)))
            .define("A_VECTOR", u8::from(tile.a_vector))
            .define("FMA", u8::from(tile.fma))
            .define("SHORT_PRODUCTS", u8::from(tile.short_products))
            .define("ROWS_FIRST", u8::from(tile.rows_first))
            .define("ROLLED", u8::from(tile.rolled));
        let depth = match tile.dot {
            None => 1,
            Some(dot) => {
                program = program.define("DOT", if dot == Dot::Khr { 1 } else { 2 });
                if dot == Dot::Khr {
                    program = program.option("-cl-std=CL3.0");
                }
                4
            }
        };
        if zeros.is_some() {
            program = program.define("ZERO_POINTS", 1);
        }
        let mut tiles = [n.div_ceil(tile.columns), m.div_ceil(tile.rows)];
        if tile.rows_first {
            tiles.reverse();
        }
        if let Some([x, y]) = tile.group {
            program = program.define("GROUP_X", x).define("GROUP_Y", y).define("SLICES", tile.slices);
            tiles = [tiles[0].next_multiple_of(x), tiles[1].next_multiple_of(y)];
        }
        self.launch_parts(DivisibleLaunch {
            program,
            entry: "gemm_tile",
            arguments: a.arguments().and(b.arguments()),
            zeros,
            steps: k.div_ceil(depth),
            unit: tile.unroll,
            items: tiles,
            group: tile.group,
            slices: tile.slices,
        });
    }

    pub(super) fn local(&mut self, local: &Local, [a, b]: &[Read; 2]) {
        let RowMajorProduct { m, n, k, .. } = self.product;
        let [x, y] = local.group;
        let [rows, columns] = local.block();
        // An operand packed in one panel is a plain matrix, contiguous across the block and without edges.
        let view = |read: &Read, transposed: bool| match (&read.packed, transposed) {
            (Some(packed), _) => StridedLayout { row_stride: 1, column_stride: packed.step, ..read.view },
            (None, false) => read.view,
            (None, true) => read.view.transposed(),
        };
        let (a_view, b_view) = (view(a, false), view(b, true));
        let aligned = |read: &Read, view: StridedLayout| {
            u8::from(view.is_aligned(4) && (read.packed.is_some() || !self.gemm.has_offsets()))
        };
        let whole_steps = k > 0 && k.is_multiple_of(local.depth);
        let extent = |read: &Read, extent: usize| read.packed.map_or(extent, |packed| packed.step);
        // Blocks may reach over an edge by whole vectors: across the operand, or along K, where a vector is of one row.
        let whole = |extent: usize, block: usize, view: StridedLayout| {
            let along = view.column_stride == 1;
            match (extent.is_multiple_of(block), along || extent.is_multiple_of(4)) {
                (true, _) if whole_steps => 1,
                (false, true) if whole_steps => 2,
                (_, true) if k > 0 && (!along || k.is_multiple_of(4)) => 3,
                _ => 0,
            }
        };
        let program = self
            .program(&GEMM_LOCAL)
            .define("ROWS", local.rows)
            .define("VECTORS", local.columns / 4)
            .define("DEPTH", local.depth)
            .define("GROUP_X", x)
            .define("GROUP_Y", y)
            .define("A_FROM", if a_view.column_stride == 1 { "ALONG" } else { "ACROSS" })
            .define("B_FROM", if b_view.column_stride == 1 { "ALONG" } else { "ACROSS" })
            .define("A_ALIGNED", aligned(a, a_view))
            .define("B_ALIGNED", aligned(b, b_view))
            .define("A_WHOLE", whole(extent(a, m), rows, a_view))
            .define("B_WHOLE", whole(extent(b, n), columns, b_view))
            .define("A_LOADS", local.loads(rows))
            .define("B_LOADS", local.loads(columns))
            .define("BUFFERS", local.buffers)
            .define("FMA", u8::from(local.fma))
            .define("A_OFFSETS", u8::from(a.packed.is_none()))
            .define("B_OFFSETS", u8::from(b.packed.is_none()));
        let extents = [extent(a, m) as u32, extent(b, n) as u32];
        self.launch_parts(DivisibleLaunch {
            program,
            entry: "gemm_local",
            arguments: a.arguments_in(a_view).and(b.arguments_in(b_view)).with(extents),
            zeros: None,
            steps: k,
            unit: local.depth,
            items: [n.div_ceil(columns) * x, m.div_ceil(rows) * y],
            group: Some(local.group),
            slices: 1,
        });
    }

    pub(super) fn vector(&mut self, vector: &Vector, [a, b]: &[Read; 2]) {
        let RowMajorProduct { n, k, count, .. } = self.product;
        let mut program = self
            .program(&GEMM_VECTOR)
            .define("VECTOR", vector.outputs)
            .define("WIDTH", vector.width)
            .define("GROUP_X", vector.group)
            .define("GROUP_Y", 1)
            .define("ALIGNED", u8::from(b.view.is_aligned(vector.width) && !self.gemm.has_offsets()))
            .define("SUB_GROUPS", u8::from(vector.sub_groups));
        if vector.sub_groups {
            program = program.option("-cl-std=CL2.0");
        }
        let zeros = self.zero_points();
        if zeros.is_some() {
            program = program.define("ZERO_POINTS", 1);
        }
        let arguments = a.arguments().and(b.arguments()).with(k as u32).with_all(zeros).and(self.result());
        let program = Arc::new(self.with_epilogue(program));
        let range = NdRange::d3(vector.group, n.div_ceil(vector.outputs), count).local(vector.group, 1, 1);
        self.plan.launch(&program, "gemm_vector", arguments, range);
    }
}
