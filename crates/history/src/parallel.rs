//! Work on all cores.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Returns what `work` makes of each item, in their order.
pub(crate) fn map<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    // Each call would read the limits of the control group.
    static CORES: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));
    if let [item] = items {
        return vec![work(item)];
    }
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        while let Some((number, item)) = take(items, &next) {
            done.push((number, work(item)));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let others = 1..items.len().min(*CORES);
        let others: Vec<_> = others.map(|_| scope.spawn(worker)).collect();
        let mut done = worker();
        for other in others {
            match other.join() {
                Ok(part) => done.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, value)| value).collect()
}

fn take<'i, I>(items: &'i [I], next: &AtomicUsize) -> Option<(usize, &'i I)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    Some((number, items.get(number)?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_keep_the_order_of_items() {
        let items: Vec<u32> = (0..1000).collect();
        assert_eq!(
            super::map(&items, |it| it * 2),
            (0..1000).map(|it| it * 2).collect::<Vec<_>>()
        );
        assert!(super::map(&[0_u32; 0], |it| *it).is_empty());
    }
}
