//! The parser on recorded streams, on invalid input, and compared with `serde_json` and with the build
//! that has only the grammar.

mod accelerated;
mod agents;
mod cuts;
mod fixtures;
mod host_lines;
mod hostile;
mod oracle;
mod rpc;
mod support;
