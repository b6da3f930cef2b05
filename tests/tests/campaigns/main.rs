//! The fault-injection campaigns: the program that runs them, and the pages about them.

mod command;
mod named;
mod page;
mod threats;
