//! The objects of the API, in safe Rust.
//!
//! Each object owns a [`handle::Handle`], the pointer that the application has of it. Handles are looked up, never
//! followed, so that one that is wrong is an error. Objects hold each other by `Arc`: one that is released stays while
//! others need it.

pub mod binary;
pub mod buffer;
pub mod build;
pub mod command;
pub mod context;
pub mod device;
pub mod device_info;
pub mod engine;
pub mod event;
pub mod failure;
pub mod findings;
pub mod handle;
pub mod image;
pub mod image_format;
pub mod info;
pub mod inject;
pub mod kernel;
pub mod kernel_info;
pub mod launch;
pub mod memory;
pub mod platform;
pub mod program;
pub mod progress;
pub mod queue;
pub mod rect;
pub mod sampler;
pub mod settings;
pub mod storage;
pub mod svm;
pub mod timeline;
pub mod transfer;
pub mod undefined;
pub mod worker;
