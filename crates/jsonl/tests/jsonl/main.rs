//! The parser on recorded streams, on invalid input, and compared with `serde_json` and with the build
//! that has only the grammar.

mod accelerated;
mod cuts;
mod fixtures;
mod hostile;
mod oracle;
mod support;
