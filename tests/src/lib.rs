//! Support code of the integration tests.

pub mod campaign;
pub mod chaos;
pub mod normalize;
pub mod real_agent;
pub mod real_codex;
pub mod secrets;
pub mod session;
pub mod stress;
