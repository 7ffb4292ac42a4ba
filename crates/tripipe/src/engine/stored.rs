//! Ceilings that were measured before, in the cache folder.

use tripipe_cache::{Cache, Key};
use tripipe_device::Probe;

use crate::explanation::{Arithmetic, Ceilings};

/// The source of ceilings that are loaded.
const FROM: &str = "measured before on this device and driver";

/// The key of the ceilings of a device with its driver, as this version of the library measures them.
pub(super) fn key(probe: &Probe, arithmetic: Arithmetic) -> Key {
    let arithmetic = format!("{arithmetic:?}");
    let [platform, vendor, name, version, driver] =
        [&probe.platform, &probe.vendor, &probe.name, &probe.version, &probe.driver].map(String::as_bytes);
    let library = env!("CARGO_PKG_VERSION").as_bytes();
    Key::of("ceilings", &[platform, vendor, name, version, driver, library, arithmetic.as_bytes()])
}

/// The ceilings of an entry, if there is one and it is valid.
pub(super) fn load(cache: &Cache, key: &Key) -> Option<Ceilings> {
    let contents = String::from_utf8(cache.load(key)?).ok()?;
    let mut numbers = contents.split_whitespace().map(|word| word.parse::<f64>().ok());
    let mut next = || numbers.next().flatten().filter(|number| number.is_finite());
    let (operations, bytes, launch) = (next()?, next()?, next()?);
    (operations > 0.0 && bytes > 0.0 && launch >= 0.0).then(|| Ceilings {
        operations_per_second: operations,
        bytes_per_second: bytes,
        launch_seconds: launch,
        from: FROM.to_owned(),
    })
}

/// Stores ceilings; a folder that cannot be written is not an error.
pub(super) fn store(cache: &Cache, key: &Key, ceilings: &Ceilings) {
    let Ceilings { operations_per_second, bytes_per_second, launch_seconds, .. } = ceilings;
    cache.store(key, format!("{operations_per_second} {bytes_per_second} {launch_seconds}").as_bytes());
}
