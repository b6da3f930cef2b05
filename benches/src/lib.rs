//! What the benchmarks share: corpora in the shapes of real streams, one typed job, the contenders
//! that do it, the reducer beside a naive twin, the receive path beside a bare
//! loop, terminals beside bare reads and portable-pty's own, a runner beside a bare socket, and the
//! way they are measured.
//!
//! The method and how to read its figures are in the README of this package.

pub mod chunks;
pub mod clock;
pub mod contenders;
pub mod corpus;
pub mod count;
pub mod job;
pub mod peers;
pub mod receive;
pub mod reduce;
pub mod runner;
pub mod terminal;
