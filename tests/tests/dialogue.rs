//! Dialogue sessions against the understudy, with correct and faulty agents.

#[path = "dialogue/interrupts.rs"]
mod interrupts;
#[path = "dialogue/misbehaviour.rs"]
mod misbehaviour;
#[path = "dialogue/ownership.rs"]
mod ownership;
#[path = "dialogue/play.rs"]
mod play;
#[path = "dialogue/raw_output.rs"]
mod raw_output;
#[path = "dialogue/turns.rs"]
mod turns;
