//! `cargo bindings`: writes the sources that the Swift package and the Kotlin library are built on.
//!
//! With `--check` it writes nothing, and fails when the sources in the repository are not those that
//! the library would give. In both cases it fails when they changed and the revision of the surface
//! did not: hosts compare the revision, since UniFFI's checksums do not see the members of records.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

type Failure = Box<dyn std::error::Error>;

/// Where each kind of source stands in the repository.
const SWIFT: &str = "bindings/swift/Sources/BowlineCore";
const HEADER: &str = "bindings/swift/Sources/BowlineCoreFFI";
const KOTLIN: &str = "bindings/kotlin/src/generated/kotlin";

/// What the revision stood for when the sources were written last.
const LOCK: &str = "bindings/revision.lock";

/// The file that holds the revision.
const REVISION: &str = "crates/ffi/src/diagnostics.rs";

fn main() -> ExitCode {
    match run(std::env::args().any(|arg| arg == "--check")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to be told when this fails.
            let _ = writeln!(std::io::stderr().lock(), "bindings: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(is_check: bool) -> Result<(), Failure> {
    let library = build()?;
    let fresh = std::env::temp_dir().join(format!("bowline-bindings-{}", std::process::id()));
    let outcome = generate(&library, &fresh).and_then(|()| {
        let files = files(&fresh)?;
        lock(&files, is_check)?;
        files.iter().try_for_each(|file| place(file, is_check))
    });
    let _ = fs::remove_dir_all(&fresh);
    outcome
}

/// Builds the generators, and the library alone: together with them it would contain them.
fn build() -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for package in ["bowline-bindgen", "bowline-ffi"] {
        call(Command::new(&cargo).args(["build", "--quiet", "-p", package]))?;
    }
    let mut path = std::env::current_exe()?;
    path.set_file_name(format!(
        "{}bowline_ffi{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    Ok(path)
}

fn generate(library: &Path, to: &Path) -> Result<(), Failure> {
    let tool = |name: &str| -> Result<Command, Failure> {
        Ok(Command::new(std::env::current_exe()?.with_file_name(name)))
    };
    let config = ["--config", "uniffi.toml"].map(OsStr::new);
    let swift = |kind: &str, folder: &str| -> Result<(), Failure> {
        let mut swift = tool("uniffi-bindgen-swift")?;
        call(
            swift
                .arg(kind)
                .args(config)
                .arg(library)
                .arg(to.join(folder)),
        )
    };
    swift("--swift-sources", SWIFT)?;
    swift("--headers", HEADER)?;
    let mut kotlin = tool("uniffi-bindgen")?;
    kotlin.args(["generate", "--language", "kotlin", "--no-format"]);
    call(
        kotlin
            .args(config)
            .arg("--out-dir")
            .arg(to.join(KOTLIN))
            .arg(library),
    )
}

fn call(command: &mut Command) -> Result<(), Failure> {
    let status = command.status()?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{} failed with {status}", command.get_program().display()).into())
}

/// A generated file: where it belongs, and what it holds.
struct Generated {
    path: PathBuf,
    text: String,
}

fn files(root: &Path) -> Result<Vec<Generated>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files.push(Generated {
                path: path.strip_prefix(root)?.to_owned(),
                text: tidy(&fs::read_to_string(&path)?),
            });
        }
    }
    files.sort_by(|one, two| one.path.cmp(&two.path));
    Ok(files)
}

/// Without spaces at the ends of lines, and with one newline at the end.
fn tidy(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    let text = lines.join("\n");
    format!("{}\n", text.trim_end())
}

/// Holds the sources to the revision that they were written under.
fn lock(files: &[Generated], is_check: bool) -> Result<(), Failure> {
    let source = fs::read_to_string(REVISION)?;
    let revision = source.split("API_REVISION: u32 = ").nth(1);
    let revision = revision.and_then(|it| it.split(';').next());
    let revision = revision.ok_or_else(|| format!("no revision in {REVISION}"))?;
    let line = format!("{revision} {:016x}\n", hash(files));
    let known = fs::read_to_string(LOCK).unwrap_or_default();
    if known == line {
        return Ok(());
    }
    if known.split(' ').next() == Some(revision) {
        return Err(format!("the surface has changed, raise API_REVISION in {REVISION}").into());
    }
    if is_check {
        return Err(format!("{LOCK} is of another revision, run `cargo bindings`").into());
    }
    Ok(fs::write(LOCK, line)?)
}

/// FNV-1a, 64 bits: it need not resist anybody.
fn hash(files: &[Generated]) -> u64 {
    let texts = files.iter().flat_map(|file| file.text.bytes());
    texts.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

fn place(file: &Generated, is_check: bool) -> Result<(), Failure> {
    let known = fs::read_to_string(&file.path).unwrap_or_default();
    if known == file.text {
        return Ok(());
    }
    if is_check {
        let path = file.path.display();
        return Err(format!("{path} is stale, run `cargo bindings` and commit it").into());
    }
    if let Some(folder) = file.path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(&file.path, &file.text)?)
}
