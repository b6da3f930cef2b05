//! `cargo bench-bindings`: builds the library in its release profile, that for local sessions only and the complete one,
//! prints their sizes, and runs the benchmarks of the Swift package and the Kotlin library. They report ratios and
//! shares, which depend less on the machine than absolute times. With `--check` it only builds the libraries, and fails
//! if one is too large.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

type Failure = Box<dyn std::error::Error>;

/// The largest complete library that is accepted, in bytes.
const MAX_BYTES: u64 = 9_300_000;

/// The largest library for local sessions only that is accepted, in bytes.
const MAX_LOCAL_BYTES: u64 = 5_900_000;

fn main() -> ExitCode {
    match run(std::env::args().any(|argument| argument == "--check")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If this fails there is no way to report it.
            let _ = writeln!(std::io::stderr().lock(), "bench-bindings: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(is_check: bool) -> Result<(), Failure> {
    let target = std::env::current_dir()?.join("target");
    let (library_directory, programs) = (target.join("small"), target.join("debug"));
    call(Command::new("bindings/library.sh").arg("--local"))?;
    let local = target.join("local/small");
    check_size("library for local sessions only", &local, MAX_LOCAL_BYTES)?;
    call(&mut Command::new("bindings/library.sh"))?;
    check_size("library", &library_directory, MAX_BYTES)?;
    if is_check {
        return Ok(());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut understudy = Command::new(&cargo);
    call(understudy.args(["build", "--quiet", "-p", "understudy"]))?;
    kotlin(&library_directory, &programs)?;
    swift(&library_directory, &programs)
}

/// Prints the size of the library in a folder, which must not be above `max_bytes`.
fn check_size(name: &str, folder: &Path, max_bytes: u64) -> Result<(), Failure> {
    let library = format!(
        "{}bowline_ffi{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let bytes = std::fs::metadata(folder.join(library))?.len();
    let size = format!("{name}: {:.2} MB, stripped", bytes as f64 / 1e6);
    writeln!(std::io::stdout().lock(), "{size}")?;
    if bytes > max_bytes {
        let most = max_bytes as f64 / 1e6;
        let remedy = "find out what has grown, or raise its bound";
        return Err(format!("the {name} has more than {most:.2} MB; {remedy}").into());
    }
    Ok(())
}

fn kotlin(library_directory: &Path, programs: &Path) -> Result<(), Failure> {
    let target = format!("-Dcargo.target={}", library_directory.display());
    let programs = format!("-Dcargo.programs={}", programs.display());
    let mut kotlin = Command::new(".ci/kotlin");
    call(
        kotlin
            .args(["test", "-Dtest=BenchTest", "-Dbowline.bench=true"])
            .args([target, programs]),
    )
}

fn swift(library_directory: &Path, programs: &Path) -> Result<(), Failure> {
    let mut swift = Command::new(".ci/swift");
    swift.env("BOWLINE_LIBRARY_PATH", library_directory);
    swift.args(["run", "--disable-sandbox", "-c", "release", "Bench"]);
    call(swift.arg(programs.join("understudy")))
}

fn call(command: &mut Command) -> Result<(), Failure> {
    let status = command.status()?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{} failed with {status}", command.get_program().display()).into())
}
