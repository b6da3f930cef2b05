//! What is done to a connection, and at which byte.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use crate::campaign::Random;

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// From who connected.
    Up,
    /// To who connected.
    Down,
}

/// What can happen to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Both ends are closed.
    Cut,
    /// One direction ends; a moment later, so does the other.
    HalfClose,
    /// Both ends are reset.
    Reset,
    /// Nothing goes through for a while, in either direction; then it is cut.
    Stall(Duration),
    /// One direction pauses once, and goes on.
    Delay(Duration),
    /// One bit is flipped, and everything goes on.
    Corrupt,
}

impl Fault {
    /// Whether the connection does not live on.
    #[must_use]
    pub const fn ends_it(self) -> bool {
        !matches!(self, Self::Delay(_) | Self::Corrupt)
    }
}

/// Which faults there are.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Each as likely as the others.
    pub kinds: Vec<Fault>,
    /// Bytes that go one way before it happens.
    pub after: Range<u64>,
}

impl Default for Faults {
    /// All but corruption, which only a link without TLS and with checksums of its own can stand,
    /// within the first 64 KiB.
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

/// What happens to one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In which direction bytes are counted.
    pub way: Way,
    /// So many go through unharmed.
    pub after: u64,
    /// And then this.
    pub fault: Fault,
    /// Longest piece that goes on at once, so that messages arrive in parts.
    pub piece: usize,
}

impl Plan {
    /// What happens to connection `number` of a seed.
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
            // Small numbers as often as large ones: handshakes and headers are short.
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
    fn a_seed_says_what_happens_and_another_says_something_else() {
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
