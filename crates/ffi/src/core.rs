//! The Rust API that this crate exports, gathered under one name.

pub(crate) use bowline_lifecycle::*;
