//! Remote sessions of a simulated runner in the same process, over an unreliable network.

mod cuts;
mod ends;
mod http;
mod http_server;
mod links;
mod network;
mod owner;
mod support;
