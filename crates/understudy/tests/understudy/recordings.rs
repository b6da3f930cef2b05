//! Compares lines with recordings: the same order of shapes, and only recorded keys.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::process::{
    Process, find, fixture, fixture_path, name, paths, run_once, run_scenario, sequence,
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

/// Returns recordings, the steps that must give the same shapes, and flags.
fn cases() -> Vec<(&'static str, String, &'static [&'static str])> {
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
fn turns_match_recordings() {
    for (file, steps, args) in cases() {
        let run = run_scenario(&format!("[[turn]]\nsteps = [ {steps} ]"), args);
        assert_eq!(sequence(&run.events()), sequence(&fixture(file)), "{file}");
    }
}

#[test]
fn background_agent_matches_recording() {
    let child = format!("{{ delay_ms = 1000 }}, {CHILD}");
    let toml = format!(
        "[[turn]]\nsteps = [ {{ wait_for = 'eof' }}, {{ text = 'Delegating.' }}, {{ agent = {{ description = 'd', \
         prompt = 'p', background = true, steps = [{child}] }} }}, {{ text = 'On its way.' }} ]"
    );
    let ours = run_scenario(&toml, &[]);
    let mut recorded = sequence(&fixture("sub_bg.jsonl"));
    // Both results are held to the end, since stdin was closed.
    recorded.dedup();
    assert_eq!(sequence(&ours.events()), recorded);
}

#[test]
fn background_command_matches_recording() {
    let toml = "[[turn]]\nsteps = [ { tool = { name = 'Bash', input = { command = 'c' }, \
                background = true, duration_ms = 1000 } }, { text = 'Started.' } ]";
    let ours = run_scenario(toml, &[]);
    assert_eq!(sequence(&ours.events()), sequence(&fixture("bgbash.jsonl")));
}

#[test]
fn replayed_turns_match_recording() {
    let toml = "
        [[turn]]\nsteps = [ { text = 'One, one.' } ]
        [[turn]]\nsteps = [ { text = 'Two, two.' }, { tool = { name = 'Bash', result = 'r', \
        input = { command = 'c' } } }, { text = 'Ran it.' } ]
        [[turn]]\nsteps = [ { text = 'Three, three.' } ]";
    let mut process = Process::script(
        toml,
        &["--include-partial-messages", "--replay-user-messages"],
    );
    let mut events = Vec::new();
    for prompt in ["a", "b", "c"] {
        process.prompt(prompt);
        events.extend(process.until("result/success"));
    }
    assert_eq!(
        sequence(&events),
        sequence(&fixture("multi_turn_replay.jsonl"))
    );
}

/// Returns every recorded key path of each kind of line.
fn recorded_paths() -> BTreeMap<String, BTreeSet<String>> {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(fixture_path("")).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        if !file.ends_with(".jsonl") {
            continue;
        }
        let text = std::fs::read_to_string(fixture_path(&file)).unwrap();
        for line in text.lines() {
            if let Ok(event) = serde_json::from_str::<Value>(line)
                && event.is_object()
            {
                known.entry(name(&event)).or_default().extend(paths(&event));
            }
        }
    }
    // These lines have both keys as well, but in no single recording.
    for kind in ["stream_event/message_start", "result/error_max_turns"] {
        let stamps = [".user_message_uuid", ".user_message_uuids"].map(str::to_owned);
        known.entry(kind.to_owned()).or_default().extend(stamps);
    }
    known
}

#[test]
fn lines_have_recorded_keys_only() {
    let known = recorded_paths();
    let mut checked = BTreeSet::new();
    for (file, steps, args) in cases() {
        let toml = format!("[[turn]]\nsteps = [ {steps} ]");
        let mut process = Process::script(&toml, args);
        process.prompt_as("6e85f1fa-727f-42c1-9c88-4c52a56f0f76", "go");
        for event in process.finish().events() {
            let kind = name(&event);
            let all = known
                .get(&kind)
                .unwrap_or_else(|| panic!("{kind} was never recorded"));
            let new: Vec<String> = paths(&event).difference(all).cloned().collect();
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

fn keys(event: &Value) -> Vec<&str> {
    event
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
fn keys_are_in_recorded_order() {
    for (ours, file) in [
        (run_once("hello", PARTIAL), "partial.jsonl"),
        (run_once("/tool ls", PARTIAL), "tool_bash_partial.jsonl"),
        (run_once("/error", &[]), "fatal400.jsonl"),
    ] {
        let recorded = fixture(file);
        for event in ours.events() {
            let like = find(&recorded, &name(&event));
            let (part, whole) = (keys(&event), keys(like));
            assert!(
                is_subsequence(&part, &whole),
                "{file}: {part:?} in {whole:?}"
            );
        }
    }
}

#[test]
fn result_type_is_not_the_first_key() {
    let run = run_once("hello", &[]);
    let line = String::from_utf8(run.lines.last().unwrap().clone()).unwrap();
    assert!(line.starts_with("{\"duration_api_ms\":"), "{line}");
}

#[test]
fn permission_requests_match_recording() {
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
    let mut process = Process::script(&toml, ASK);
    process.prompt("go");
    let mut events = Vec::new();
    for _ in 0..2 {
        events.extend(process.until("control_request"));
        let ask = events.last().unwrap().clone();
        process.answer(&ask, &serde_json::json!({"behavior": "allow"}));
    }
    events.extend(process.until("result/success"));
    assert_eq!(sequence(&events), sequence(&recorded));
    let (ours, theirs) = (
        find(&events, "control_request"),
        find(&recorded, "control_request"),
    );
    assert!(is_subsequence(
        &keys(&ours["request"]),
        &keys(&theirs["request"])
    ));
    assert!(paths(ours).is_subset(&paths(theirs)));
}
