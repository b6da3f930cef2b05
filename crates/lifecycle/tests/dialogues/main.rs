//! Dialogues with small agents of our own: who owns what, who hears what, who is ended and why.

mod observed;
mod ownership;
mod pages;
mod permissions;
mod silence;
mod steps;
mod support;
