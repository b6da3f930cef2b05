//! Support code of the integration tests.

pub mod real_agent;
pub mod session;
