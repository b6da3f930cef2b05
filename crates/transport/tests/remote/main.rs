//! Remote sessions against an owner in the same process, over a network that breaks when it likes.

mod cuts;
mod door;
mod doors;
mod ends;
mod links;
mod network;
mod owner;
mod support;
