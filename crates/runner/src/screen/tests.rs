//! The screen compared with another terminal, `alacritty_terminal`, that reads the same output
//! uninterrupted.

mod features;
mod handoff;
mod oracle;
mod overflowed_ring;
mod programs;
mod queries;
mod random;
mod replay_cases;
mod replay_filter;
mod resizing;
mod round_trip;
mod sessions;
mod splitting;

use bowline_transport::WindowSize;

use super::SessionScreen;
use handoff::{DIRT, compare, hand_off};

/// Rows and columns of most tests.
const SIZE: WindowSize = WindowSize::new(8, 30);
