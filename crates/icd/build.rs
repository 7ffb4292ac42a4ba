//! Keeps the driver loaded: its threads may still run when the loader closes it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux" || system == "android") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
