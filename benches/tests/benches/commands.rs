//! Output and exit codes of the programs.

use std::io::Write as _;
use std::process::{Command, Output};

use serde_json::Value;

fn peers(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bench-peers"))
        .args(arguments)
        .output()
        .expect("the program was built with this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn unknown_corpus_or_option_is_usage_error() {
    for arguments in [
        &["--corpus", "nonsense"][..],
        &["--speed"],
        &["--mib", "0"],
        &["--corpus", "huge", "file.jsonl"],
    ] {
        let output = peers(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    assert!(text(&peers(&["--corpus", "nonsense"]).stderr).contains("realloop"));
}

#[test]
fn missing_file_is_reported_with_remedy() {
    let output = peers(&["--quick", "--json", "no/such.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
    let printed = text(&output.stderr);
    assert_eq!(printed.lines().count(), 1, "{printed}");
    assert!(
        printed.contains("no/such.jsonl") && printed.contains("give a .jsonl"),
        "{printed}"
    );
}

#[test]
fn file_without_stream_json_is_refused() {
    let mut file = tempfile::NamedTempFile::with_suffix(".jsonl").unwrap();
    file.write_all(b"not json\n").unwrap();
    let output = peers(&["--quick", file.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("is stream-json"));
}

/// Plain and compressed files; a line that `serde_json` refuses is left out and reported.
#[test]
fn plain_and_compressed_files_are_measured() {
    let lines =
        "{\"type\":\"keep_alive\"}\n".repeat(200) + "{\"type\":\"user\",\"uuid\":\"\\ud83d\"}";
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("own.jsonl");
    std::fs::write(&plain, &lines).unwrap();
    let packed = folder.path().join("own.jsonl.gz");
    let mut encoder = flate2::write::GzEncoder::new(
        std::fs::File::create(&packed).unwrap(),
        flate2::Compression::fast(),
    );
    encoder.write_all(lines.as_bytes()).unwrap();
    encoder.finish().unwrap();
    for file in [plain, packed] {
        let output = peers(&["--quick", "--json", file.to_str().unwrap()]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("left out 1 lines"));
        assert_eq!(text(&output.stdout).lines().count(), 10);
    }
}

#[test]
fn json_has_one_object_per_contender() {
    let output = peers(&["--quick", "--json", "--corpus", "partial", "--mib", "1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<_> = rows
        .iter()
        .filter_map(|row| row["contender"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "bowline",
            "bowline_safe",
            "bowline_decoded",
            "serde_json",
            "serde_json_event",
            "serde_json_tagged",
            "serde_json_value",
            "sonic_rs",
            "simd_json",
            "jiter",
        ]
    );
    for row in &rows {
        assert_eq!(row["corpus"], "partial");
        for key in ["mb_s", "ns_per_event", "ratio"] {
            assert!(row[key].as_f64().is_some_and(|value| value > 0.0), "{row}");
        }
        assert_eq!(row.as_object().map(|row| row.len()), Some(5));
    }
    assert_eq!(rows[3]["ratio"], 1.0);
}

#[test]
fn table_names_build_and_best_peer() {
    let output = peers(&["--quick", "--corpus", "mixed", "--mib", "1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(
        printed.starts_with("build: ") && printed.contains("over the best typed peer"),
        "{printed}"
    );
    assert!(
        output.stderr.is_empty(),
        "progress is printed only to a terminal"
    );
}

#[test]
fn count_parses_each_line_once() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"{\"type\":\"keep_alive\"}\n{\"type\":\"keep_alive\"}\n")
        .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bench-count"))
        .arg("--parse")
        .arg(file.path())
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "2\n");
}

#[test]
fn count_without_valgrind_names_remedy() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench-count"))
        .args(["--corpus", "partial"])
        .env("PATH", "")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let printed = text(&output.stderr);
    assert!(printed.contains("install valgrind"), "{printed}");
}

#[test]
fn check_without_valgrind_fails_with_remedy() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench-count"))
        .arg("--check")
        .env("PATH", "")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let printed = text(&output.stderr);
    assert!(printed.contains("apt-get install valgrind"), "{printed}");
}

#[test]
fn reducer_count_applies_each_line_once() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"{\"type\":\"keep_alive\"}\n{\"type\":\"keep_alive\"}\n")
        .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bench-count"))
        .args(["--reduce", "--parse"])
        .arg(file.path())
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "2\n");
}

#[test]
fn reduce_reports_ratio_and_growth() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench-reduce"))
        .args(["--quick", "--json", "--mib", "1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<_> = (rows.iter())
        .filter_map(|row| row["contender"].as_str())
        .collect();
    assert_eq!(names, ["bowline", "bowline_changes", "serde_json_hash_map"]);
    let sizes: Vec<_> = (rows.iter())
        .filter_map(|row| row["entries"].as_u64())
        .collect();
    assert_eq!(sizes, [1_000, 10_000, 100_000]);
    for row in &rows {
        let figures = row.as_object().unwrap().values();
        assert!(
            figures.filter_map(Value::as_f64).all(|it| it > 0.0),
            "{row}"
        );
    }
    let wrong = Command::new(env!("CARGO_BIN_EXE_bench-reduce"))
        .args(["--corpus", "huge"])
        .output()
        .unwrap();
    assert_eq!(
        wrong.status.code(),
        Some(2),
        "the naive reducer has no such job"
    );
}

/// Memory does not depend on the length of the conversation when there is a window.
#[test]
fn windowed_conversation_has_constant_memory() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench-receive"))
        .args(["--measure", "steady", "--quick", "--json"])
        .output()
        .expect("the program was built with this test");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    let rows: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect();
    let [memory, lines, kept, given_up] = rows.as_slice() else {
        panic!("{printed}")
    };
    assert!(memory["ratio"].as_f64() <= Some(1.05), "{printed}");
    assert!(lines["ours"].as_f64() > Some(800_000.0), "{printed}");
    assert!(kept["ours"].as_f64() <= Some(1_000.0), "{printed}");
    assert!(given_up["ours"].as_f64() > Some(50_000.0), "{printed}");
}
