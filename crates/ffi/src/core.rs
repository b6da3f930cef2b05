//! The Rust API that this crate exports, gathered under one name.

#[cfg(not(feature = "full"))]
pub(crate) use crate::absent::*;
#[cfg(feature = "full")]
pub(crate) use bowline_hooks::*;
pub(crate) use bowline_lifecycle::*;
pub(crate) use bowline_manager::*;
#[cfg(feature = "full")]
pub(crate) use bowline_recording::Redaction;
pub(crate) use bowline_shell::*;
