//! The screen against another terminal: `alacritty_terminal`, fed the same output without a break.

mod answers;
mod cleaning;
mod features;
mod handover;
mod itself;
mod oracle;
mod programs;
mod random;
mod resizing;
mod sessions;
mod spent;
mod splitting;
mod tui;

use bowline_transport::WindowSize;

use super::SessionScreen;
use handover::{DIRT, compare, hand_over};

/// Rows and columns of most tests.
const SIZE: WindowSize = WindowSize::new(8, 30);
