//! The network.

use crate::survives::survives;

#[test]
fn cuts() {
    survives("cuts");
}

#[test]
fn hostile_runner() {
    survives("hostile-runner");
}

#[test]
fn frames() {
    survives("frames");
}

#[test]
fn slow_client() {
    survives("slow-client");
}

#[test]
fn tokens() {
    survives("tokens");
}

#[test]
fn half_open() {
    survives("half-open");
}

#[test]
fn hostile_client() {
    survives("hostile-client");
}

#[test]
fn floods() {
    survives("floods");
}
