//! The exported API, called from Rust.

#[cfg(feature = "full")]
mod history;
#[cfg(feature = "full")]
mod journals;
#[cfg(not(feature = "full"))]
mod local;
#[cfg(feature = "full")]
mod neutral;
#[cfg(feature = "full")]
mod surface;
