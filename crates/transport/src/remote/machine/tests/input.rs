//! Input and arrivals, for hosts that fold both directions.

use bowline_journal::Arrival;
use bowline_wire::ARRIVALS;

use super::*;

const INPUT: StreamId = StreamId::INPUT;

fn both_directions() -> Joining {
    let mut joining = joining();
    joining.cursors.insert(INPUT, Some(0));
    joining
}

/// The session's reply to an attach, with a stream of input.
fn attached_with_input() -> Message {
    let Message::Attached(mut attached) = attached(1, 0, 0) else {
        unreachable!()
    };
    let extent = attached.streams[&OUT];
    attached.streams.insert(INPUT, extent);
    Message::Attached(attached)
}

fn open(host: &mut Host) -> Vec<Output> {
    let mut outputs = host.give(Input::Opened(host.connection));
    outputs.extend(host.hear(attached_with_input()));
    outputs
}

fn features_and_cursors(sent: &[Message]) -> (Vec<String>, Vec<(StreamId, u64)>) {
    let [Message::Hello(hello), Message::Attach(attach), ..] = sent else {
        panic!("{sent:?}");
    };
    let cursors = attach.cursors.iter().map(|(id, at)| (*id, *at));
    (hello.features.clone(), cursors.collect())
}

fn arrival(stream: StreamId, arrival: Arrival) -> Message {
    Message::Arrival {
        stream,
        offset: 0,
        at_ms: arrival.at_ms,
        output: arrival.output,
    }
}

fn input(offset: u64, bytes: &'static str) -> Message {
    Message::Data {
        stream: INPUT,
        offset,
        bytes: bytes.into(),
        replay: false,
    }
}

fn deliveries(outputs: &[Output]) -> Vec<(StreamId, &[u8], Arrival)> {
    let deliveries = outputs.iter().filter_map(|output| match output {
        Output::Deliver {
            stream,
            bytes,
            arrival,
            ..
        } => Some((*stream, &bytes[..], *arrival)),
        _ => None,
    });
    deliveries.collect()
}

#[test]
fn both_directions_continue_at_their_offsets_after_a_cut() {
    let mut host = Host::new(both_directions());
    host.give(Input::Start);
    open(&mut host);
    let (features, cursors) = features_and_cursors(&host.sent());
    assert_eq!(features, [ARRIVALS]);
    assert_eq!(cursors, [(OUT, 0), (ERR, 0), (INPUT, 0)]);

    let (early, late) = (Arrival::at(5), Arrival::at(7).beside(3));
    host.hear(arrival(OUT, early));
    assert_eq!(
        deliveries(&host.hear(data(0, "abc"))),
        [(OUT, &b"abc"[..], early)]
    );
    host.hear(arrival(INPUT, late));
    assert_eq!(
        deliveries(&host.hear(input(0, "xy"))),
        [(INPUT, &b"xy"[..], late)]
    );

    host.break_off(ReconnectFailure::Lost);
    host.pass();
    open(&mut host);
    let (features, cursors) = features_and_cursors(&host.sent());
    assert_eq!(features, [ARRIVALS]);
    assert_eq!(cursors, [(OUT, 3), (ERR, 0), (INPUT, 2)]);
    // The session announces what it sends on this connection.
    let unknown = Arrival::default();
    assert_eq!(
        deliveries(&host.hear(data(3, "d"))),
        [(OUT, &b"d"[..], unknown)]
    );
    // Both are credited.
    host.sent();
    for stream in [OUT, INPUT] {
        host.hear(Message::Data {
            stream,
            offset: if stream == OUT { 4 } else { 2 },
            bytes: vec![0; 600].into(),
            replay: false,
        });
        host.give(Input::Room(stream, 1000));
        let sent = host.sent();
        let credited =
            |it: &Message| matches!(it, Message::Credit { stream: of, .. } if *of == stream);
        assert!(sent.iter().any(credited), "{stream}: {sent:?}");
    }
}

#[test]
fn session_without_input_is_followed() {
    let mut host = Host::new(both_directions());
    host.give(Input::Start);
    host.open();
    host.sent();
    let unknown = Arrival::default();
    assert_eq!(
        deliveries(&host.hear(data(0, "abc"))),
        [(OUT, &b"abc"[..], unknown)]
    );
    host.give(Input::Room(INPUT, 1000));
    assert_eq!(host.sent(), []);
    let outputs = host.hear(Message::Exit(ExitNotice {
        status: ExitStatus::Code(0),
        oom: false,
        drained: Drained::Clean,
        ends: [(OUT, 3), (ERR, 0)].into(),
    }));
    assert!(
        outputs
            .iter()
            .any(|it| matches!(it, Output::Exited(Some(_)))),
        "{outputs:?}"
    );
}

#[test]
fn host_of_output_alone_asks_for_no_arrivals() {
    let mut host = Host::new(joining());
    host.give(Input::Start);
    host.open();
    let (features, cursors) = features_and_cursors(&host.sent());
    assert_eq!(features, [""; 0]);
    assert_eq!(cursors, [(OUT, 0), (ERR, 0)]);
}
