//! Support code of the integration tests.
