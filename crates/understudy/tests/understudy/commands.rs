//! `--play`, and the built-in commands of prompts.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::process::{Process, fixture_path, names, run_once, texts};

fn play(file: &str, more: &[&str]) -> (Vec<u8>, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_understudy"))
        .arg("--play")
        .arg(fixture_path(file))
        .args(more)
        .args(["-p", "--output-format", "stream-json", "--verbose"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.stdout, output.status.code())
}

#[test]
fn recording_is_played_byte_for_byte() {
    for file in [
        "partial.jsonl",
        "pty_all_raw_cat_5k.jsonl",
        "sigkill_in_1mb_line.jsonl",
    ] {
        let (bytes, code) = play(file, &[]);
        assert_eq!(bytes, std::fs::read(fixture_path(file)).unwrap(), "{file}");
        assert_eq!(code, Some(0));
    }
}

#[test]
fn gzip_recording_is_decompressed() {
    let (bytes, code) = play("oneline_1mb_partial.jsonl.gz", &["--exit", "3"]);
    let packed = std::fs::File::open(fixture_path("oneline_1mb_partial.jsonl.gz")).unwrap();
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(packed)
        .read_to_end(&mut plain)
        .unwrap();
    assert!(plain.len() > 3_000_000);
    assert!(bytes == plain);
    assert_eq!(code, Some(3));
}

#[test]
fn speed_keeps_the_bytes() {
    let (bytes, _) = play("plain.jsonl", &["--speed", "1000"]);
    assert_eq!(bytes, std::fs::read(fixture_path("plain.jsonl")).unwrap());
}

#[test]
fn prompt_commands_are_played() {
    let text = |prompt: &str| {
        let events = run_once(prompt, &[]).events();
        texts(&events).last().map(|text| (*text).to_owned())
    };
    assert_eq!(text("/tool ls").unwrap(), "The command is over.");
    assert_eq!(text("/fail ls").unwrap(), "The command is over.");
    assert_eq!(text("/think hard").unwrap(), "I thought.");
    assert_eq!(
        text("/lines 3").unwrap(),
        "line 000000\nline 000001\nline 000002\n"
    );
    assert_eq!(text("/big 1000").unwrap().len(), 1000);
    assert_eq!(text("/unknown x").unwrap(), "You said: /unknown x");
    assert_eq!(run_once("/exit 9", &[]).code(), Some(9));
    let mut process = Process::start(&[]);
    process.prompt("/hang");
    process.next();
    process.eof();
    assert!(process.is_running());
    let background = run_once("/background look", &[]).events();
    assert_eq!(
        names(&background)
            .iter()
            .filter(|name| *name == "result/success")
            .count(),
        2
    );
}
