//! The candidates of filters.

use tripipe_device::Probe;
use tripipe_kernels::filter::{self, Border, Chain, Parameters, PixelType, Raster, Size, candidates};
use tripipe_launch::Executor;
use tripipe_simulate::{Options, Simulator};

#[test]
fn the_default_is_tried_first() -> Result<(), filter::FilterError> {
    let chain = Chain::parse("gaussian:5", Border::Reflect101)?;
    let raster = Raster::packed(Size::square(64), 1, PixelType::U8);
    for name in ["Mali-G610", "Adreno(TM) 640", "Some other"] {
        let probe = Probe { name: name.to_owned(), ..Simulator::new(Options::default()).probe().clone() };
        let all: Vec<Parameters> = candidates(&chain, &raster, &raster, &probe);
        assert_eq!(all[0], filter::default_parameters(&chain, &raster, &probe).parameters, "{name}");
    }
    Ok(())
}
