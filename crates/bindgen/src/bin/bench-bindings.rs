//! `cargo bench-bindings`: builds the library in its release profile, prints its size, and runs the
//! benchmarks of the Swift package and the Kotlin library. They report ratios and shares, which depend
//! less on the machine than absolute times.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If this fails there is no way to report it.
            let _ = writeln!(std::io::stderr().lock(), "bench-bindings: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut understudy = Command::new(&cargo);
    call(understudy.args(["build", "--quiet", "-p", "understudy"]))?;
    call(&mut Command::new("bindings/library.sh"))?;
    let target = std::env::current_dir()?.join("target");
    let (library_directory, programs) = (target.join("small"), target.join("debug"));
    let library = format!(
        "{}bowline_ffi{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let bytes = std::fs::metadata(library_directory.join(library))?.len();
    let size = format!("library: {:.2} MB, stripped", bytes as f64 / 1e6);
    writeln!(std::io::stdout().lock(), "{size}")?;
    kotlin(&library_directory, &programs)?;
    swift(&library_directory, &programs)
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
