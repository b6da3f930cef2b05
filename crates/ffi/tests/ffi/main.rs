//! The exported API, called from Rust.

mod history;
mod journals;
mod neutral;
mod surface;
