//! The rewrites, one a file.

mod address;
mod batch_loads;
mod block;
mod clamp_indices;
mod coarsen;
mod compiled_branches;
mod count_loops;
mod counted;
mod inline_helpers;
mod integer_dot;
mod merge_accesses;
mod multiply_add;
mod narrow_index;
mod native_functions;
mod outputs;
mod powers;
mod reciprocals;
mod resize_work_group;
mod restrict_pointers;
mod row_per_group;
mod share_loads;
mod specialise_arguments;
mod stage_tile;
mod swap_dimensions;
mod text;
mod tile_product;
mod unflatten;
mod unroll_loop;
mod unstage_tile;
mod widen;

use crate::Rewrite;

/// All rewrites.
pub const ALL: &[&dyn Rewrite] = &[
    &compiled_branches::CompiledBranches,
    &inline_helpers::InlineHelpers,
    &clamp_indices::ClampIndices,
    &count_loops::CountLoops,
    &unstage_tile::UnstageTile,
    &swap_dimensions::SwapDimensions,
    &specialise_arguments::SpecialiseArguments,
    &unflatten::Unflatten,
    &tile_product::TileProduct,
    &widen::Widen,
    &block::Block,
    &coarsen::Coarsen,
    &integer_dot::IntegerDot,
    &batch_loads::BatchLoads,
    &merge_accesses::MergeAccesses,
    &share_loads::ShareLoads,
    &narrow_index::NarrowIndex,
    &restrict_pointers::RestrictPointers,
    &stage_tile::StageTile,
    &row_per_group::RowPerGroup,
    &unroll_loop::UnrollLoop,
    &powers::Powers,
    &reciprocals::Reciprocals,
    &native_functions::NativeFunctions,
    &multiply_add::MultiplyAdd,
    &resize_work_group::ResizeWorkGroup,
];
