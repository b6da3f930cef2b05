//! The fault of a connection, and the byte at which it occurs.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use crate::campaign::Random;

/// Direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// From the connecting side.
    Up,
    /// To the connecting side.
    Down,
}

/// Kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Both ends are closed.
    Cut,
    /// One direction ends; a moment later, so does the other.
    HalfClose,
    /// Both ends are reset.
    Reset,
    /// Both directions stall for a while, then the connection is cut.
    Stall(Duration),
    /// One direction pauses once and continues.
    Delay(Duration),
    /// One bit is flipped, and the connection continues.
    Corrupt,
}

impl Fault {
    /// Whether the fault ends the connection.
    #[must_use]
    pub const fn ends_it(self) -> bool {
        !matches!(self, Self::Delay(_) | Self::Corrupt)
    }
}

/// The faults to choose from.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Kinds, each equally likely.
    pub kinds: Vec<Fault>,
    /// Number of bytes in one direction before the fault.
    pub after: Range<u64>,
}

impl Default for Faults {
    /// All kinds except corruption, which only a link without TLS and with its own checksums can
    /// detect, within the first 64 KiB.
    fn default() -> Self {
        Self {
            kinds: vec![
                Fault::Cut,
                Fault::HalfClose,
                Fault::Reset,
                Fault::Stall(Duration::from_millis(20)),
                Fault::Delay(Duration::from_millis(5)),
            ],
            after: 0..64 << 10,
        }
    }
}

/// Plan of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Direction in which bytes are counted.
    pub way: Way,
    /// Number of bytes that pass unharmed.
    pub after: u64,
    /// The fault that follows.
    pub fault: Fault,
    /// Maximum chunk size, so that messages arrive in parts.
    pub piece: usize,
}

impl Plan {
    /// Returns the plan of connection `number` for a seed.
    #[must_use]
    pub fn of(seed: u64, number: u64, faults: &Faults) -> Self {
        let mut random = Random::new(seed ^ number.wrapping_mul(0x9e6c_63d0_876a_8b5f));
        let span = faults.after.end.saturating_sub(faults.after.start).max(1);
        let kind = random.below(faults.kinds.len().max(1) as u64) as usize;
        Self {
            way: if random.below(2) == 0 {
                Way::Up
            } else {
                Way::Down
            },
            // Small numbers are as frequent as large ones, since handshakes and headers are short.
            after: faults.after.start + random.below(span) % (1 << random.below(20)),
            fault: faults.kinds.get(kind).copied().unwrap_or(Fault::Cut),
            piece: 1 << (random.below(17) as usize),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            way,
            after,
            fault,
            piece,
        } = self;
        write!(
            f,
            "{fault:?} after {after} bytes {way:?}, in pieces of {piece}"
        )
    }
}

impl FromStr for Fault {
    type Err = String;

    /// `cut`, `half-close`, `reset`, `stall`, `delay` or `corrupt`.
    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "cut" => Self::Cut,
            "half-close" => Self::HalfClose,
            "reset" => Self::Reset,
            "stall" => Self::Stall(Duration::from_millis(20)),
            "delay" => Self::Delay(Duration::from_millis(5)),
            "corrupt" => Self::Corrupt,
            _ => {
                return Err(format!(
                    "no fault {text:?}: cut, half-close, reset, stall, delay, corrupt"
                ));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_determines_plan() {
        let faults = Faults::default();
        let plans = |seed| {
            (0..64)
                .map(|number| Plan::of(seed, number, &faults))
                .collect::<Vec<_>>()
        };
        assert_eq!(plans(7), plans(7));
        assert_ne!(plans(7), plans(8));
        let all = plans(7);
        assert!(all.iter().all(|plan| faults.after.contains(&plan.after)));
        for kind in &faults.kinds {
            assert!(all.iter().any(|plan| plan.fault == *kind), "{kind:?}");
        }
        assert!(
            all.iter().any(|plan| plan.after < 100) && all.iter().any(|plan| plan.after > 1000)
        );
    }
}
