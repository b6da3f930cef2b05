//! The programs, their corpora and what they compare.

mod commands;
mod contenders;
mod shapes;
mod window;
