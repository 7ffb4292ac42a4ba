//! Each transfer mode transfers the contents correctly; rates and overheads are plausible.

use std::time::Instant;

use tripipe_opencl::transfer::{TransferError, TransferMode, launch_overhead, measure};

use crate::support;

#[test]
fn every_offered_mode_is_measured() {
    let Some(device) = support::device() else { return };
    let (bytes, runs) = (1 << 20, 5);
    for mode in TransferMode::ALL {
        let start = Instant::now();
        let rates = measure(&device, mode, bytes, runs).unwrap();
        let elapsed = start.elapsed().as_secs_f64();
        let svm = device.probe().svm;
        let offered = match mode {
            TransferMode::SvmCoarse => svm.coarse_buffer,
            TransferMode::SvmFine => svm.fine_buffer,
            _ => true,
        };
        assert_eq!(rates.is_some(), offered, "{mode}");
        let Some(rates) = rates else { continue };
        println!("{mode}: {:.2} GB/s there, {:.2} GB/s back", rates.to_device * 1e-9, rates.to_host * 1e-9);
        assert_eq!((rates.mode, rates.bytes), (mode, bytes));
        // More than half of the runs took at least the median time; all of them fit in the time of the call.
        for rate in [rates.to_device, rates.to_host] {
            assert!(rate.is_finite() && rate > 0.0, "{mode}: {rate}");
            assert!(bytes as f64 / rate * (runs as f64 / 2.0) < elapsed, "{mode}: {rate} in {elapsed} s");
        }
    }
    assert_eq!(measure(&device, TransferMode::Copy, 6, 1).unwrap().unwrap().bytes, 8);
    assert!(matches!(measure(&device, TransferMode::Copy, 8, 0), Err(TransferError::NoRuns)));
    assert!(matches!(measure(&device, TransferMode::Map, 1 << 60, 1), Err(TransferError::Memory { .. })));
}

#[test]
fn a_launch_costs_something() {
    let Some(device) = support::device() else { return };
    let start = Instant::now();
    let overhead = launch_overhead(&device, 21).unwrap();
    println!("{overhead:?}");
    assert!(overhead.round_trip > 0.0 && overhead.round_trip < start.elapsed().as_secs_f64());
    assert!(overhead.submit_to_start <= overhead.queued_to_start);
    assert!(overhead.queued_to_start < 1.0);
    assert!(matches!(launch_overhead(&device, 0), Err(TransferError::NoRuns)));
}
