//! The library of Google's phones, whose functions are behind pointers. A driver is loaded once per process, so a child
//! process looks for devices.

use crate::{child, stand_in};

/// Not a test by itself: the child processes run it.
#[test]
fn child() {
    if !child::is_child() {
        return;
    }
    match tripipe_opencl::devices() {
        Ok(devices) => {
            // More than a name: memory goes through functions that are looked up too.
            let context = tripipe_opencl::Context::new(&devices[0]).unwrap();
            println!("outcome: {} {}", devices[0].probe().name, context.device().probe().name);
        }
        Err(error) => println!("outcome: {error}"),
    }
}

fn outcome(driver: Option<&std::path::Path>) -> String {
    child::outcome("pixel", |command| {
        command.env("TRIPIPE_OPENCL", stand_in::example("opencl", "pixel"));
        match driver {
            Some(driver) => command.env("TRIPIPE_PIXEL_DRIVER", driver),
            None => command.env_remove("TRIPIPE_PIXEL_DRIVER"),
        };
    })
}

#[test]
fn functions_behind_pointers_are_found_once_they_are_enabled() {
    assert_eq!(outcome(Some(stand_in::stand_in())), "Stand-In GPU Stand-In GPU");
}

#[test]
fn a_phone_that_does_not_enable_opencl_has_none() {
    let said = outcome(None);
    assert!(said.contains("it has no clGetPlatformIDs"), "{said}");
}
