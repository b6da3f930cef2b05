//! Support code of the integration tests.

pub mod campaign;
pub mod chaos;
pub mod faceless;
pub mod real_agent;
pub mod secrets;
pub mod session;
pub mod stress;
