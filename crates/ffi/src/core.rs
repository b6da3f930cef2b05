//! The Rust API that this crate exports, gathered under one name.

pub(crate) use bowline_hooks::*;
pub(crate) use bowline_lifecycle::*;
pub(crate) use bowline_manager::*;
pub(crate) use bowline_shell::*;
