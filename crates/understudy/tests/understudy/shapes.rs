//! Our lines against the recorded ones: same order of shapes, no key that was never recorded.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::stand::{
    Stand, find, fixture, fixture_path, name, once, once_scripted, paths, sequence,
};

const PARTIAL: &[&str] = &["--include-partial-messages"];
const FORWARD: &[&str] = &["--forward-subagent-text"];
const ASK: &[&str] = &["--permission-prompt-tool", "stdio"];

const BASH: &str =
    "tool = { name = 'Bash', input = { command = 'ls', description = 'd' }, result = 'out' }";
const CHILD: &str = "
  { thinking = 'child thinks' }, { text = 'Child starts.' },
  { tool = { name = 'Bash', input = { command = 'c' }, result = 'r' } },
  { text = 'Child reads.' },
  { tool = { name = 'Read', input = { file_path = 'f' }, result = 'r' } },
  { text = 'REPORT' }";

/// A recorded stream, the steps of one turn that must give the same shapes, and flags.
fn table() -> Vec<(&'static str, String, &'static [&'static str])> {
    let bash = format!("{{ {BASH} }}");
    let agent = |steps: &str| {
        format!("{{ agent = {{ description = 'd', prompt = 'p', steps = [{steps}] }} }}")
    };
    let nested = agent(&format!(
        "{{ text = 'Mid.' }}, {}, {{ text = 'REPORT mid' }}",
        agent(CHILD)
    ));
    let failing = "{ agent = { description = 'd', prompt = 'p', fails = 'API Error' } }";
    let four = format!("{{ parallel = [{}] }}", [bash.as_str(); 4].join(","));
    let asks = "{ tool = { name = 'Bash', input = { command = 'c' }, ask = true, result = 'r' } }";
    vec![
        ("plain.jsonl", "{ text = 'Hello.' }".to_owned(), &[]),
        ("partial.jsonl", "{ text = 'Hello, hello, hello.' }".to_owned(), PARTIAL),
        ("tool_bash.jsonl", format!("{{ text = 'I will.' }}, {bash}, {{ text = 'Ran.' }}"), &[]),
        ("tool_bash_partial.jsonl", format!("{{ text = 'I will.' }}, {bash}, {{ text = 'Ran.' }}"), PARTIAL),
        ("thinking.jsonl", "{ thinking = 'Let me think about it.' }, { text = 'A' }".to_owned(), &[]),
        ("thinking_partial.jsonl", "{ thinking = { text = 'Let me think.', delta = 3 } }, { text = 'A' }".to_owned(), PARTIAL),
        ("redacted_thinking.jsonl", "{ redacted_thinking = 'eA==' }, { text = 'A' }".to_owned(), PARTIAL),
        ("parallel.jsonl", format!("{{ thinking = 'Let me think.' }}, {{ text = 'T' }}, {four}, {{ text = 'E' }}"), &[]),
        ("max_turns.jsonl", format!("{{ text = 'a' }}, {bash}, {{ text = 'b' }}, {bash}, {{ max_turns = 2 }}"), &[]),
        ("always529.jsonl", "{ api_retry = { attempts = 2 } }, { fail = {} }".to_owned(), &[]),
        ("fatal400.jsonl", "{ fail = { status = 400, text = 'API Error: 400' } }".to_owned(), &[]),
        ("err429_partial.jsonl", "{ api_retry = { attempts = 2, status = 429, error = 'rate_limit' } }, { text = 'At last.' }".to_owned(), PARTIAL),
        ("disconnect_partial.jsonl", "{ cut_off = 'this text is cut off by' }, { text = 'the end' }".to_owned(), PARTIAL),
        ("perm_denied.jsonl", format!("{{ text = 'a' }}, {asks}, {asks}, {{ text = 'b' }}"), &[]),
        ("sub_fg.jsonl", format!("{{ text = 'Delegating.' }}, {}, {{ text = 'e' }}", agent(CHILD)), &[]),
        ("sub_fg_fwd.jsonl", format!("{{ text = 'Delegating.' }}, {}, {{ text = 'e' }}", agent(CHILD)), FORWARD),
        ("sub_fg_partial.jsonl", format!("{{ text = 'Delegating.' }}, {}, {{ text = 'e' }}", agent(CHILD)), PARTIAL),
        ("sub_nest_fg.jsonl", format!("{nested}, {{ text = 'e' }}"), FORWARD),
        ("sub_fail.jsonl", format!("{failing}, {{ text = 'failed' }}"), &[]),
    ]
}

#[test]
fn every_turn_has_the_recorded_order() {
    for (file, steps, args) in table() {
        let run = once_scripted(&format!("[[turn]]\nsteps = [ {steps} ]"), args);
        assert_eq!(sequence(&run.frames()), sequence(&fixture(file)), "{file}");
    }
}

#[test]
fn a_background_agent_has_the_recorded_order() {
    let child = format!("{{ delay_ms = 1000 }}, {CHILD}");
    let toml = format!(
        "[[turn]]\nsteps = [ {{ wait_for = 'eof' }}, {{ text = 'Delegating.' }}, {{ agent = {{ description = 'd', \
         prompt = 'p', background = true, steps = [{child}] }} }}, {{ text = 'On its way.' }} ]"
    );
    let ours = once_scripted(&toml, &[]);
    let mut recorded = sequence(&fixture("sub_bg.jsonl"));
    // Both results are held to the end, as stdin was closed: a run of the same shape.
    recorded.dedup();
    assert_eq!(sequence(&ours.frames()), recorded);
}

#[test]
fn a_background_command_has_the_recorded_order() {
    let toml = "[[turn]]\nsteps = [ { tool = { name = 'Bash', input = { command = 'c' }, \
                background = true, duration_ms = 1000 } }, { text = 'Started.' } ]";
    let ours = once_scripted(toml, &[]);
    assert_eq!(sequence(&ours.frames()), sequence(&fixture("bgbash.jsonl")));
}

#[test]
fn two_turns_with_replay_have_the_recorded_order() {
    let toml = "
        [[turn]]\nsteps = [ { text = 'One, one.' } ]
        [[turn]]\nsteps = [ { text = 'Two, two.' }, { tool = { name = 'Bash', result = 'r', \
        input = { command = 'c' } } }, { text = 'Ran it.' } ]
        [[turn]]\nsteps = [ { text = 'Three, three.' } ]";
    let mut stand = Stand::script(
        toml,
        &["--include-partial-messages", "--replay-user-messages"],
    );
    let mut frames = Vec::new();
    for prompt in ["a", "b", "c"] {
        stand.prompt(prompt);
        frames.extend(stand.until("result/success"));
    }
    assert_eq!(
        sequence(&frames),
        sequence(&fixture("multi_turn_replay.jsonl"))
    );
}

/// Every key path that a kind of line was recorded with.
fn recorded_paths() -> BTreeMap<String, BTreeSet<String>> {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(fixture_path("")).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        if !file.ends_with(".jsonl") {
            continue;
        }
        let text = std::fs::read_to_string(fixture_path(&file)).unwrap();
        for line in text.lines() {
            if let Ok(frame) = serde_json::from_str::<Value>(line)
                && frame.is_object()
            {
                known.entry(name(&frame)).or_default().extend(paths(&frame));
            }
        }
    }
    // protocol.md A.7, A.8: these lines carry them too; no recorded stream had both.
    for kind in ["stream_event/message_start", "result/error_max_turns"] {
        let stamps = [".user_message_uuid", ".user_message_uuids"].map(str::to_owned);
        known.entry(kind.to_owned()).or_default().extend(stamps);
    }
    known
}

#[test]
fn no_line_has_a_key_that_was_never_recorded() {
    let known = recorded_paths();
    let mut checked = BTreeSet::new();
    for (file, steps, args) in table() {
        let toml = format!("[[turn]]\nsteps = [ {steps} ]");
        let mut stand = Stand::script(&toml, args);
        stand.prompt_as("6e85f1fa-727f-42c1-9c88-4c52a56f0f76", "go");
        for frame in stand.finish().frames() {
            let kind = name(&frame);
            let all = known
                .get(&kind)
                .unwrap_or_else(|| panic!("{kind} was never recorded"));
            let new: Vec<String> = paths(&frame).difference(all).cloned().collect();
            assert!(new.is_empty(), "{file}: {kind} has {new:?}");
            checked.insert(kind);
        }
    }
    for kind in [
        "system/init",
        "assistant",
        "user",
        "result/success",
        "stream_event/message_start",
    ] {
        assert!(checked.contains(kind), "{kind} was not looked at");
    }
}

fn keys(frame: &Value) -> Vec<&str> {
    frame
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

fn is_subsequence(part: &[&str], whole: &[&str]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|key| rest.any(|other| other == key))
}

#[test]
fn keys_come_in_the_recorded_order() {
    for (ours, file) in [
        (once("hello", PARTIAL), "partial.jsonl"),
        (once("/tool ls", PARTIAL), "tool_bash_partial.jsonl"),
        (once("/error", &[]), "fatal400.jsonl"),
    ] {
        let recorded = fixture(file);
        for frame in ours.frames() {
            let like = find(&recorded, &name(&frame));
            let (part, whole) = (keys(&frame), keys(like));
            assert!(
                is_subsequence(&part, &whole),
                "{file}: {part:?} in {whole:?}"
            );
        }
    }
}

#[test]
fn result_lines_put_their_type_late() {
    let run = once("hello", &[]);
    let line = String::from_utf8(run.lines.last().unwrap().clone()).unwrap();
    assert!(line.starts_with("{\"duration_api_ms\":"), "{line}");
}

#[test]
fn permission_questions_have_the_recorded_order_and_keys() {
    let asks = |name: &str| {
        format!(
            "{{ tool = {{ name = '{name}', input = {{ command = 'c', description = 'd' }}, ask = true, result = 'r' }} }}"
        )
    };
    let toml = format!(
        "[[turn]]\nsteps = [ {{ text = 'a' }}, {}, {}, {{ text = 'b' }} ]",
        asks("Bash"),
        asks("Write")
    );
    let recorded = fixture("permission_allow.jsonl");
    let mut stand = Stand::script(&toml, ASK);
    stand.prompt("go");
    let mut frames = Vec::new();
    for _ in 0..2 {
        frames.extend(stand.until("control_request"));
        let ask = frames.last().unwrap().clone();
        stand.answer(&ask, &serde_json::json!({"behavior": "allow"}));
    }
    frames.extend(stand.until("result/success"));
    assert_eq!(sequence(&frames), sequence(&recorded));
    let (ours, theirs) = (
        find(&frames, "control_request"),
        find(&recorded, "control_request"),
    );
    assert!(is_subsequence(
        &keys(&ours["request"]),
        &keys(&theirs["request"])
    ));
    assert!(paths(ours).is_subset(&paths(theirs)));
}
