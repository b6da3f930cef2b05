//! simdjson On-Demand: a C++ library, in a program of its own that is compiled where compiler and library are there.

use std::io::Write as _;
use std::process::Command;
use std::{fmt, io};

use serde::Deserialize;
use tempfile::{NamedTempFile, TempDir};

use super::check::run;
use super::{Failure, Plan, Row, SLICE, fit, slices};
use crate::contenders::Contender;
use crate::corpus::Source;
use crate::job::{Ends, EveryByte, Folded};

/// The program's source.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/contenders/simdjson.cpp");

/// On-Demand chooses its instruction set at compile time.
const FLAGS: [&str; 4] = ["-std=c++17", "-O3", "-DNDEBUG", "-march=native"];

/// The compiled program.
#[derive(Debug)]
pub struct Simdjson(TempDir);

/// Why the program was not compiled, and the remedy.
#[derive(Debug)]
pub struct Absent(String);

/// The program's output.
#[derive(Debug, Deserialize)]
struct Output {
    version: String,
    implementation: String,
    decoded: Mode,
    raw: Mode,
    envelope: Mode,
    every_byte: Mode,
}

#[derive(Debug, Deserialize)]
struct Mode {
    nanos: u64,
    slices: Vec<Folded>,
}

impl Simdjson {
    /// Compiles the program.
    ///
    /// # Errors
    ///
    /// The compiler or the library is missing.
    pub fn compile(compiler: &str) -> Result<Self, Absent> {
        let absent = |why: &dyn fmt::Display| {
            Absent(format!(
                "simdjson was not measured: {why}; install g++ and libsimdjson-dev"
            ))
        };
        let folder = tempfile::tempdir().map_err(|error| absent(&error))?;
        let program = Self(folder);
        let mut command = Command::new(compiler);
        command.args(FLAGS).arg(SOURCE).arg("-lsimdjson");
        let compiled = command.arg("-o").arg(program.path()).output();
        let compiled = compiled.map_err(|error| absent(&format!("{compiler}: {error}")))?;
        if compiled.status.success() {
            return Ok(program);
        }
        let errors = String::from_utf8_lossy(&compiled.stderr).into_owned();
        let first = errors.lines().find(|line| line.contains("error"));
        Err(absent(&first.unwrap_or("the compiler failed")))
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("simdjson")
    }

    /// Measures a stream as the others are, in processes of its own. `base` is the row that ratios are relative to.
    /// Returns a row for each mode, and the name of the implementation.
    ///
    /// # Errors
    ///
    /// The stream cannot be read, the program fails, or it decodes other values than the other contenders.
    pub fn measure(
        &self,
        source: &Source,
        base: &Row,
        plan: Plan,
    ) -> Result<(Vec<Row>, String), Failure> {
        let (bytes, _) = fit(&source.load().map_err(Failure::Source)?);
        let mut file = NamedTempFile::new().map_err(Failure::Process)?;
        file.write_all(&bytes).map_err(Failure::Process)?;
        let outputs = (0..plan.processes)
            .map(|_| self.output(file.path(), plan.rounds))
            .collect::<Result<Vec<_>, _>>()?;
        let length = bytes.len();
        let expected = Expected::of(source, bytes)?;
        for output in &outputs {
            expected.compare(&source.name(), output)?;
        }
        type ModeOf = fn(&Output) -> &Mode;
        let modes: [(&'static str, ModeOf); 3] = [
            ("simdjson_decoded", |it| &it.decoded),
            ("simdjson_raw", |it| &it.raw),
            ("simdjson_envelope", |it| &it.envelope),
        ];
        let events = expected.decoded.iter().map(|it| it.events).sum();
        let row = |(name, mode): (&'static str, ModeOf)| {
            let nanos = outputs.iter().map(|it| mode(it).nanos as f64).collect();
            Row::beside(base, name, nanos, [length as u64, events])
        };
        let version = outputs.last().map_or_else(String::new, |it| {
            format!("simdjson {} ({})", it.version, it.implementation)
        });
        Ok((modes.map(row).into(), version))
    }

    fn output(&self, file: &std::path::Path, rounds: usize) -> Result<Output, Failure> {
        let mut command = Command::new(self.path());
        command.arg(file);
        command.args([rounds.to_string(), SLICE.to_string()]);
        let output = command.output().map_err(Failure::Process)?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::Peer(message.trim().to_owned()));
        }
        let parsed = serde_json::from_slice(&output.stdout);
        parsed.map_err(|error| Failure::Process(io::Error::from(error)))
    }
}

/// The hashes of the other contenders, for each slice.
struct Expected {
    decoded: Vec<Folded>,
    raw: Vec<Folded>,
    every_byte: Vec<Folded>,
}

impl Expected {
    fn of(source: &Source, bytes: bytes::Bytes) -> Result<Self, Failure> {
        let mut expected = Self {
            decoded: Vec::new(),
            raw: Vec::new(),
            every_byte: Vec::new(),
        };
        let disagree = |mismatch| Failure::Mismatch(source.name(), mismatch);
        for slice in &mut slices(bytes) {
            let decoded = run::<Ends>(Contender::SerdeJson, slice).map_err(disagree)?;
            let raw = run::<Ends>(Contender::Bowline, slice).map_err(disagree)?;
            let every_byte = run::<EveryByte>(Contender::SerdeJson, slice).map_err(disagree)?;
            expected.decoded.push(decoded);
            expected.raw.push(raw);
            expected.every_byte.push(every_byte);
        }
        Ok(expected)
    }

    fn compare(&self, stream: &str, found: &Output) -> Result<(), Failure> {
        let events = |folded: &[Folded]| folded.iter().map(|it| it.events).collect::<Vec<_>>();
        let what = [
            ("decoded", found.decoded.slices == self.decoded),
            ("raw", found.raw.slices == self.raw),
            (
                "decoded, each byte",
                found.every_byte.slices == self.every_byte,
            ),
            (
                "envelope",
                events(&found.envelope.slices) == events(&self.decoded),
            ),
        ];
        match what.into_iter().find(|(_, is_equal)| !is_equal) {
            None => Ok(()),
            Some((mode, _)) => {
                let differs =
                    format!("simdjson ({mode}) decodes a slice differently from serde_json");
                Err(Failure::Outcome(stream.to_owned(), differs))
            }
        }
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Absent {}
