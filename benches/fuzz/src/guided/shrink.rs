//! Minimisation of failing inputs.

/// Maximum number of attempts.
const MAX_TRIES: usize = 20_000;

/// Removes parts of an input as long as it still fails.
pub(super) fn shrink(
    input: &[u8],
    repair: fn(&mut [u8]),
    mut fails: impl FnMut(&[u8]) -> bool,
) -> Vec<u8> {
    let mut least = input.to_vec();
    let (mut part, mut tries) = (least.len() / 2, 0);
    while part > 0 && tries < MAX_TRIES {
        let mut at = 0;
        while at < least.len() && tries < MAX_TRIES {
            tries += 1;
            let mut less = least.clone();
            drop(less.drain(at..(at + part).min(least.len())));
            let mut mended = less.clone();
            repair(&mut mended);
            if let Some(less) = [less, mended].into_iter().find(|less| fails(less)) {
                least = less;
            } else {
                at += part;
            }
        }
        part /= 2;
    }
    least
}
