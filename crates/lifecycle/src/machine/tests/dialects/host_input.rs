//! Agents whose runner reports what all hosts write.

use bowline_reducer::Schema;

use super::*;

/// Recordings with a permission request that their host answered.
const ASKED: [(&str, DialectName); 2] = [
    ("codex/app-server.approve", DialectName::Codex),
    ("gemini/acp.tool", DialectName::Acp),
];

fn line(value: &Value) -> String {
    format!("{value}\n")
}

fn is_answer(line: &Value) -> bool {
    line["method"].is_null() && line["id"].is_number()
}

/// The machine of a host that attached when the agent had written and read this number of bytes.
fn attached_at(dialect: DialectName, (output, input): (usize, usize)) -> Fixture {
    let opening = Opening {
        is_resumed: true,
        ..opening()
    };
    let mut machine = Machine::silent(dialect, opening, LIMITS, 0);
    machine.follow_input(input as u64);
    Fixture::of(machine.registered(output as u64, "salt"))
}

fn lengths(lines: &[(bool, Value)]) -> (usize, usize) {
    let of = |is_input| {
        let lines = lines.iter().filter(|(is_host, _)| *is_host == is_input);
        lines.map(|(_, value)| line(value).len()).sum()
    };
    (of(false), of(true))
}

impl Fixture {
    fn hear(&mut self, (is_host, value): &(bool, Value)) {
        let bytes = line(value).into();
        self.input(if *is_host {
            Input::HostLines(bytes)
        } else {
            Input::Output(bytes)
        });
    }

    pub(super) fn schema_2(&mut self) -> Value {
        let snapshot = self.machine.transcript_mut().snapshot();
        let chunks: Vec<_> = snapshot.json_chunks(Schema::Two).flatten().collect();
        serde_json::from_slice(&chunks).expect("JSON")
    }

    fn open_permissions(&self) -> usize {
        self.machine.permissions().open().count()
    }
}

#[test]
fn permission_answered_by_another_host_is_closed_at_once() {
    for (name, dialect) in ASKED {
        let Recording(lines) = Recording::read(name);
        let mut fixture = attached_at(dialect, (0, 0));
        let mut answered = 0;
        for entry in &lines {
            let open = fixture.open_permissions();
            fixture.hear(entry);
            if entry.0 && is_answer(&entry.1) {
                assert_eq!((open, fixture.open_permissions()), (1, 0), "{name}");
                let record = fixture.permissions.last().expect("it was reported");
                assert_eq!(record.state, RequestState::Answered, "{name}");
                assert_eq!(record.allowed, Some(true), "{name}");
                answered += 1;
            }
        }
        assert!(answered > 0, "{name}");
        let written: Vec<_> = fixture
            .lines
            .iter()
            .filter(|it| !it.contains("initialize"))
            .collect();
        assert!(written.is_empty(), "{name}: {written:?}");
    }
}

#[test]
fn history_ends_after_its_input() {
    for (name, dialect) in ASKED {
        let Recording(lines) = Recording::read(name);
        let answer = lines
            .iter()
            .position(|(is_host, it)| *is_host && is_answer(it));
        let history = &lines[..=answer.expect("an answer")];
        let mut fixture = attached_at(dialect, lengths(history));
        for entry in history {
            assert!(fixture.machine.is_replaying());
            fixture.hear(entry);
        }
        assert!(!fixture.machine.is_replaying());
        assert_eq!(fixture.open_permissions(), 0, "{name}");
        let is_request =
            |it: &PendingEvent| matches!(it.kind, DialogueEventKind::PermissionRequest(_));
        assert!(!fixture.events.iter().any(is_request), "{name}");
    }
}

#[test]
fn own_line_is_folded_where_the_runner_reports_it() {
    let Recording(lines) = Recording::read("gemini/acp.tool");
    let prompt = lines
        .iter()
        .position(|(_, it)| it["method"] == "session/prompt");
    let (before, rest) = lines.split_at(prompt.expect("a prompt"));
    let mut fixture = attached_at(DialectName::Acp, lengths(before));
    before.iter().for_each(|entry| fixture.hear(entry));
    fixture.lines.clear();
    fixture.send("u1");
    assert_eq!(fixture.lines.len(), 1, "it is written");
    assert_eq!(fixture.schema_2()["entries"], json!([]));

    let written = fixture.lines[0].clone();
    let at_ms = 1_700_000_000_000;
    let now = fixture.now;
    let input = Input::HostLines(written.into());
    fixture.machine.handle_arrived(input, now, Some(at_ms));
    fixture.drain();
    let entries = fixture.schema_2()["entries"].clone();
    let [entry] = &entries.as_array().expect("entries")[..] else {
        panic!("{entries}");
    };
    assert_eq!(
        (&entry["kind"], &entry["at_ms"]),
        (&json!("user"), &json!(at_ms))
    );
    // The recorded turn is another host's; only its answer ends this one.
    let (_, end) = rest
        .iter()
        .rfind(|(is_host, _)| !is_host)
        .expect("an answer");
    let mut end = end.clone();
    end["id"] = json!("u1");
    fixture.hear(&(false, end));
    assert_eq!(fixture.states("u1").last(), Some(&ReceiptState::Answered));
}

/// Otherwise its prompt would be cancelled by agents that take one at a time.
#[test]
fn prompt_waits_for_the_turn_of_another_host() {
    let Recording(lines) = Recording::read("gemini/acp.tool");
    let prompt = lines
        .iter()
        .position(|(_, it)| it["method"] == "session/prompt");
    let begun = &lines[..=prompt.expect("a prompt")];
    let mut fixture = attached_at(DialectName::Acp, lengths(begun));
    begun.iter().for_each(|entry| fixture.hear(entry));
    fixture.send("u1");
    assert_eq!(fixture.lines, [""; 0]);
    for entry in &lines[begun.len()..] {
        fixture.hear(entry);
    }
    let line = fixture.lines.last().expect("it is written");
    assert!(
        line.contains("session/prompt") && line.contains("u1"),
        "{line}"
    );
}
