//! Many sessions under one manager.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

#[path = "../../../shell/tests/sessions/support.rs"]
#[expect(dead_code, reason = "shared with the tests of shells")]
mod support;

mod managers;
mod resumes;
