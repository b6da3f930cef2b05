//! For all network schedules, output is received once and in order, and input is written at most once.

use proptest::collection::vec;
use proptest::prelude::*;

use super::model::Model;
use super::*;

#[derive(Clone, Debug)]
enum ScheduleStep {
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

/// Steps of one host and the network.
fn peaceful() -> impl Strategy<Value = ScheduleStep> {
    prop_oneof![
        8 => Just(ScheduleStep::Open),
        2 => Just(ScheduleStep::Cut),
        1 => Just(ScheduleStep::Swallow),
        2 => any::<usize>().prop_map(ScheduleStep::Stale),
        4 => Just(ScheduleStep::Pass),
        1 => Just(ScheduleStep::Sleep),
        4 => Just(ScheduleStep::Consume),
        12 => any::<u8>().prop_map(ScheduleStep::ToOwner),
        12 => any::<u8>().prop_map(ScheduleStep::ToHost),
        4 => (1..300_usize).prop_map(ScheduleStep::Output),
        12 => (1..200_u64, 0..50_u64).prop_map(|(bytes, again)| ScheduleStep::Send(bytes, again)),
        4 => (1..60_usize).prop_map(ScheduleStep::Write),
        4 => (1..60_u64).prop_map(ScheduleStep::Take),
        1 => (1..100_u64).prop_map(ScheduleStep::Trim),
        1 => Just(ScheduleStep::Exit),
    ]
}

/// As [`peaceful`], with another host that sometimes takes the lease.
fn hostile() -> impl Strategy<Value = ScheduleStep> {
    prop_oneof![
        60 => peaceful(),
        1 => Just(ScheduleStep::Steal),
        2 => Just(ScheduleStep::Retry),
    ]
}

/// Runs a schedule and returns the writes.
fn run(model: &mut Model, steps: Vec<ScheduleStep>) -> Vec<Bytes> {
    let mut writes = Vec::new();
    for step in steps {
        match step {
            ScheduleStep::Open => model.open(),
            ScheduleStep::Cut => model.cut(),
            ScheduleStep::Swallow => model.swallow(),
            ScheduleStep::Stale(which) => model.stale_frame(which),
            ScheduleStep::Pass => model.pass(),
            ScheduleStep::Sleep => model.sleep(),
            ScheduleStep::Consume => model.consume(),
            ScheduleStep::ToOwner(count) => (0..count % 8).for_each(|_| model.reach_owner()),
            ScheduleStep::ToHost(count) => (0..count % 8).for_each(|_| model.reach_host()),
            ScheduleStep::Output(bytes) => model.write_output(bytes),
            ScheduleStep::Send(bytes, again) => model.send(bytes, again),
            ScheduleStep::Write(length) => {
                let ticket = writes.len() as u64;
                let bytes = Bytes::from(format!("[{ticket:04}{}]", "x".repeat(length)));
                writes.push(bytes.clone());
                model.give(Input::Write(bytes, ticket));
            }
            ScheduleStep::Take(bytes) => model.take(bytes),
            ScheduleStep::Trim(bytes) => model.trim(bytes),
            ScheduleStep::Exit => model.exit(),
            ScheduleStep::Steal => model.steal(),
            ScheduleStep::Retry => model.give(Input::Retry),
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
        let mut model = Model::new(seed);
        let writes = run(&mut model, steps);
        model.settle(false);
        prop_assert_eq!(model.received.len() as u64 + model.lost, model.at);
        prop_assert_eq!(&model.owner.typed, &writes.concat());
        let answered: Vec<_> = (0..writes.len() as u64).map(|it| (it, Ok(()))).collect();
        prop_assert_eq!(&model.written, &answered);
        let exits = model.exits;
        model.detach();
        prop_assert_eq!(model.owner.is_over, exits == 1);
    }

    #[test]
    fn fenced_host_writes_nothing_twice(
        seed in any::<u64>(),
        steps in vec(hostile(), 0..200),
    ) {
        let mut model = Model::new(seed);
        let writes = run(&mut model, steps);
        model.settle(true);
        let typed = String::from_utf8(model.owner.typed.clone()).unwrap();
        prop_assert_eq!(model.written.len(), writes.len());
        let mut last = 0;
        for (ticket, outcome) in &model.written {
            let write = std::str::from_utf8(&writes[*ticket as usize]).unwrap();
            let found: Vec<usize> = typed.match_indices(write).map(|(at, _)| at).collect();
            match outcome {
                Ok(()) => prop_assert_eq!(found.len(), 1),
                Err(WriteFailure::Unconfirmed) => prop_assert!(found.len() <= 1),
                other => prop_assert!(false, "{:?}", other),
            }
            if let [at] = found[..] {
                prop_assert!(at >= last, "{} is out of its order", write);
                last = at;
            }
        }
    }
}
