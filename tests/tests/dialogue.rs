//! Dialogue sessions against the understudy, well behaved and not.

#[path = "dialogue/interrupts.rs"]
mod interrupts;
#[path = "dialogue/misbehaviour.rs"]
mod misbehaviour;
#[path = "dialogue/ownership.rs"]
mod ownership;
#[path = "dialogue/play.rs"]
mod play;
#[path = "dialogue/turns.rs"]
mod turns;
