//! Support code of the integration tests.

pub mod campaign;
pub mod chaos;
pub mod fleet;
pub mod normalize;
pub mod other_agents;
pub mod real_agent;
pub mod runner;
pub mod script;
pub mod secrets;
pub mod session;
pub mod stress;
