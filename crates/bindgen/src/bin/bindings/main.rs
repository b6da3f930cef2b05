//! `cargo bindings`: generates the sources of the Swift package and the Kotlin library.
//!
//! With `--check` it writes nothing and fails if the generated sources in the repository are stale; with `--library FILE`
//! it compares them with those of a library that is there. In all cases it fails if they changed without a new
//! `API_REVISION`: the bindings compare the revision at run time, since UniFFI's checksums do not cover the fields of
//! records.
//!
//! Defects of the generated sources are corrected before they are written; see `uniffi.md`.

mod correction;
mod kotlin;
mod swift;

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

type Failure = Box<dyn std::error::Error>;

/// Directories of the generated sources, relative to the repository.
const SWIFT: &str = "bindings/swift/Sources/BowlineCore";
const HEADER: &str = "bindings/swift/Sources/BowlineCoreFFI";
const KOTLIN: &str = "bindings/kotlin/src/generated/kotlin";

/// The API revision and the hash of the sources that were generated for it.
const LOCK: &str = "bindings/revision.lock";

/// The file that defines `API_REVISION`.
const REVISION_SOURCE: &str = "crates/ffi/src/diagnostics.rs";

fn main() -> ExitCode {
    let has = |option: &str| std::env::args().any(|arg| arg == option);
    let is_check = has("--check") || has("--library");
    let named = std::env::args().skip_while(|arg| arg != "--library").nth(1);
    let library = named.map_or_else(build, |path| Ok(path.into()));
    match library.and_then(|library| run(&library, is_check)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If this fails there is no way to report it.
            let _ = writeln!(std::io::stderr().lock(), "bindings: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(library: &Path, is_check: bool) -> Result<(), Failure> {
    let output = std::env::temp_dir().join(format!("bowline-bindings-{}", std::process::id()));
    let result = generate(library, &output).and_then(|()| {
        let files = files(&output)?;
        check_revision(&files, is_check)?;
        files.iter().try_for_each(|file| install(file, is_check))
    });
    let _ = fs::remove_dir_all(&output);
    result
}

/// Builds the generators and the library separately. Built together, feature unification would link
/// the generators into the library.
fn build() -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for package in ["bowline-bindgen", "bowline-ffi"] {
        let mut build = Command::new(&cargo);
        call(build.args(["build", "--quiet", "-p", package]))?;
    }
    let mut path = std::env::current_exe()?;
    path.set_file_name(format!(
        "{}bowline_ffi{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    Ok(path)
}

fn generate(library: &Path, output: &Path) -> Result<(), Failure> {
    let tool = |name: &str| -> Result<Command, Failure> {
        Ok(Command::new(std::env::current_exe()?.with_file_name(name)))
    };
    let config = ["--config", "uniffi.toml"].map(OsStr::new);
    let swift = |kind: &str, directory: &str| -> Result<(), Failure> {
        let mut swift = tool("uniffi-bindgen-swift")?;
        call(
            swift
                .arg(kind)
                .args(config)
                .arg(library)
                .arg(output.join(directory)),
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
            .arg(output.join(KOTLIN))
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

/// A generated file, with its path in the repository.
struct Generated {
    path: PathBuf,
    text: String,
}

fn files(root: &Path) -> Result<Vec<Generated>, Failure> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let mut text = normalize(&fs::read_to_string(&path)?);
            match path.extension().and_then(OsStr::to_str) {
                Some("kt") => text = kotlin::correct(&text)?,
                Some("swift") => text = swift::correct(text)?,
                _ => {}
            }
            files.push(Generated {
                path: path.strip_prefix(root)?.to_owned(),
                text,
            });
        }
    }
    files.sort_by(|one, two| one.path.cmp(&two.path));
    Ok(files)
}

/// Removes trailing spaces and ends the text with one newline.
fn normalize(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    let text = lines.join("\n");
    format!("{}\n", text.trim_end())
}

/// Fails if the sources changed and the revision did not.
fn check_revision(files: &[Generated], is_check: bool) -> Result<(), Failure> {
    let source = fs::read_to_string(REVISION_SOURCE)?;
    let revision = source.split("API_REVISION: u32 = ").nth(1);
    let revision = revision.and_then(|it| it.split(';').next());
    let revision =
        revision.ok_or_else(|| format!("{REVISION_SOURCE} does not define API_REVISION"))?;
    let line = format!("{revision} {:016x}\n", hash(files));
    let locked = fs::read_to_string(LOCK).unwrap_or_default();
    if locked == line {
        return Ok(());
    }
    if locked.split(' ').next() == Some(revision) {
        let reason = format!("the API changed; increment API_REVISION in {REVISION_SOURCE}");
        return Err(reason.into());
    }
    if is_check {
        return Err(format!("{LOCK} is stale; run cargo bindings and commit it").into());
    }
    Ok(fs::write(LOCK, line)?)
}

/// FNV-1a, 64 bits. It detects accidental changes only.
fn hash(files: &[Generated]) -> u64 {
    let texts = files.iter().flat_map(|file| file.text.bytes());
    texts.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

fn install(file: &Generated, is_check: bool) -> Result<(), Failure> {
    let current = fs::read_to_string(&file.path).unwrap_or_default();
    if current == file.text {
        return Ok(());
    }
    if is_check {
        let path = file.path.display();
        return Err(format!("{path} is stale; run cargo bindings and commit it").into());
    }
    if let Some(directory) = file.path.parent() {
        fs::create_dir_all(directory)?;
    }
    Ok(fs::write(&file.path, &file.text)?)
}
