//! CPU time of every contender.

use std::time::Duration;

use super::Mismatch;
use super::check::{compare, run};
use crate::clock::thread_cpu_time;
use crate::contenders::{Contender, Slice};
use crate::job::{Ends, Folded};

/// CPU time of every contender, in the order of [`Contender::ALL`].
pub type Times = [Duration; Contender::ALL.len()];

/// The order in which contenders run, as indices into [`Contender::ALL`]. Related ones are apart,
/// because the branch predictor is trained by the code that ran before.
const ORDER: [usize; Contender::ALL.len()] = [0, 3, 1, 7, 2, 8, 4, 9, 5, 6];

/// Returns the minimum of `rounds` for every slice and contender, summed over the slices, and the
/// number of events.
///
/// # Errors
///
/// Returns the first contender whose hash differs from the others in any round.
pub fn measure(
    slices: &mut [Slice],
    rounds: usize,
    mut progress: impl FnMut(usize),
) -> Result<(Times, u64), Mismatch> {
    let mut sums = Times::default();
    let mut events = 0;
    for (number, slice) in slices.iter_mut().enumerate() {
        progress(number);
        let expected = Expected::of(slice)?;
        events += expected.decoded.events;
        let mut best: Times = [Duration::MAX; Contender::ALL.len()];
        for _ in 0..rounds {
            for place in ORDER {
                let time = time(Contender::ALL[place], slice, &expected)?;
                best[place] = best[place].min(time);
            }
        }
        for (sum, best) in sums.iter_mut().zip(best) {
            *sum += best;
        }
    }
    Ok((sums, events))
}

/// Returns the hash that the timed job must have: of decoded strings, or of raw ones for lazy
/// contenders.
struct Expected {
    decoded: Folded,
    lazy: Folded,
}

impl Expected {
    fn of(slice: &mut Slice) -> Result<Self, Mismatch> {
        Ok(Self {
            decoded: run::<Ends>(Contender::SerdeJson, slice)?,
            lazy: run::<Ends>(Contender::Bowline, slice)?,
        })
    }
}

fn time(
    contender: Contender,
    slice: &mut Slice,
    expected: &Expected,
) -> Result<Duration, Mismatch> {
    slice.warm();
    contender.prepare(slice);
    let start = thread_cpu_time();
    let folded = contender.run::<Ends>(slice);
    let elapsed = thread_cpu_time().saturating_sub(start);
    let folded = folded.map_err(|refused| Mismatch::Refused(contender, refused))?;
    let expected = if contender.is_lazy() {
        Folded {
            raws: expected.decoded.raws,
            ..expected.lazy
        }
    } else {
        expected.decoded
    };
    compare(contender, folded, expected)?;
    Ok(elapsed)
}
