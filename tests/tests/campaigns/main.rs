//! The fault-injection campaigns: the program that runs them, and the page that lists them.

mod command;
mod page;
