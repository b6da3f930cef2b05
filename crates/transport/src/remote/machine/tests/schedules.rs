//! Whatever the network does, a prefix is heard, once and in order, and nothing is typed twice.

use proptest::collection::vec;
use proptest::prelude::*;

use super::model::World;
use super::*;

#[derive(Clone, Debug)]
enum Step {
    Open,
    Cut,
    Swallow,
    Stale(usize),
    Pass,
    Sleep,
    Consume,
    ToOwner(u8),
    ToHost(u8),
    Output(usize),
    Send(u64, u64),
    Write(usize),
    Take(u64),
    Trim(u64),
    Exit,
    Steal,
    Retry,
}

/// What one host and the network do.
fn peaceful() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => Just(Step::Open),
        2 => Just(Step::Cut),
        1 => Just(Step::Swallow),
        2 => any::<usize>().prop_map(Step::Stale),
        4 => Just(Step::Pass),
        1 => Just(Step::Sleep),
        4 => Just(Step::Consume),
        12 => any::<u8>().prop_map(Step::ToOwner),
        12 => any::<u8>().prop_map(Step::ToHost),
        4 => (1..300_usize).prop_map(Step::Output),
        12 => (1..200_u64, 0..50_u64).prop_map(|(bytes, again)| Step::Send(bytes, again)),
        4 => (1..60_usize).prop_map(Step::Write),
        4 => (1..60_u64).prop_map(Step::Take),
        1 => (1..100_u64).prop_map(Step::Trim),
        1 => Just(Step::Exit),
    ]
}

/// The same, with another host that takes the session now and then.
fn hostile() -> impl Strategy<Value = Step> {
    prop_oneof![
        60 => peaceful(),
        1 => Just(Step::Steal),
        2 => Just(Step::Retry),
    ]
}

/// Runs a schedule and answers what was written, write by write.
fn run(world: &mut World, steps: Vec<Step>) -> Vec<Bytes> {
    let mut writes = Vec::new();
    for step in steps {
        match step {
            Step::Open => world.open(),
            Step::Cut => world.cut(),
            Step::Swallow => world.swallow(),
            Step::Stale(which) => world.stale_frame(which),
            Step::Pass => world.pass(),
            Step::Sleep => world.sleep(),
            Step::Consume => world.consume(),
            Step::ToOwner(count) => (0..count % 8).for_each(|_| world.reach_owner()),
            Step::ToHost(count) => (0..count % 8).for_each(|_| world.reach_host()),
            Step::Output(bytes) => world.write_output(bytes),
            Step::Send(bytes, again) => world.send(bytes, again),
            Step::Write(length) => {
                let ticket = writes.len() as u64;
                let bytes = Bytes::from(format!("[{ticket:04}{}]", "x".repeat(length)));
                writes.push(bytes.clone());
                world.give(Input::Write(bytes, ticket));
            }
            Step::Take(bytes) => world.take(bytes),
            Step::Trim(bytes) => world.trim(bytes),
            Step::Exit => world.exit(),
            Step::Steal => world.steal(),
            Step::Retry => world.give(Input::Retry),
        }
    }
    writes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn one_host_hears_and_types_everything_once(
        seed in any::<u64>(),
        steps in vec(peaceful(), 0..200),
    ) {
        let mut world = World::new(seed);
        let writes = run(&mut world, steps);
        world.settle(false);
        prop_assert_eq!(world.heard.len() as u64 + world.lost, world.at);
        prop_assert_eq!(&world.owner.typed, &writes.concat());
        let answered: Vec<_> = (0..writes.len() as u64).map(|it| (it, Ok(()))).collect();
        prop_assert_eq!(&world.written, &answered);
        let exits = world.exits;
        world.detach();
        prop_assert_eq!(world.owner.is_over, exits == 1);
    }

    #[test]
    fn a_host_that_is_fenced_types_nothing_twice(
        seed in any::<u64>(),
        steps in vec(hostile(), 0..200),
    ) {
        let mut world = World::new(seed);
        let writes = run(&mut world, steps);
        world.settle(true);
        let typed = String::from_utf8(world.owner.typed.clone()).unwrap();
        prop_assert_eq!(world.written.len(), writes.len());
        let mut last = 0;
        for (ticket, outcome) in &world.written {
            let write = std::str::from_utf8(&writes[*ticket as usize]).unwrap();
            let found: Vec<usize> = typed.match_indices(write).map(|(at, _)| at).collect();
            match outcome {
                Ok(()) => prop_assert_eq!(found.len(), 1),
                Err(Unwritten::Unconfirmed) => prop_assert!(found.len() <= 1),
                other => prop_assert!(false, "{:?}", other),
            }
            if let [at] = found[..] {
                prop_assert!(at >= last, "{} is out of its order", write);
                last = at;
            }
        }
    }
}
